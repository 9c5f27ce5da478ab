"""Assembler and disassembler."""

import pytest

import strata
from strata import asm
from strata.asm import Assembler, rdna3
from strata.asm import rdna3 as r
from test_custom_kernel import ADD_ONE, typed_add_one

LINES = """\
s_load_b128 s[4:7], s[0:1], 0x10
s_mov_b32 s3, 0x12345678
s_add_u32 s2, s3, s4
s_cmp_lg_u32 s8, 0
s_waitcnt vmcnt(0) lgkmcnt(0)
s_barrier
v_mov_b32_e32 v1, 1.0
v_add_f32_e32 v0, s1, v2
v_add_f32_e64 v0, -v1, |v2| clamp
v_fma_f32 v3, v1, s2, -v0
v_add_nc_u32_e32 v1, 0x1000, v1
v_lshlrev_b64 v[2:3], 4, v[0:1]
v_cmp_lt_f32_e32 vcc_lo, v1, v2
v_cndmask_b32_e32 v0, v1, v2, vcc_lo
v_add_f32_dpp v8, v8, v8 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1
v_dual_add_f32 v8, v12, v8 :: v_dual_mov_b32 v9, v13
v_permlanex16_b32 v9, v8, s9, s9
v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]
global_load_b128 v[12:15], v1, s[6:7] offset:16
global_store_b32 v[0:1], v2, off
global_atomic_add_f32 v2, v9, s[4:5]
ds_load_b32 v2, v3 offset:8
ds_store_b64 v1, v[2:3]
flat_load_b32 v1, v[2:3]
scratch_store_b32 off, v1, s0 offset:4
buffer_load_b32 v1, v2, s[4:7], 0 offen
s_endpgm
"""


def test_instructions_round_trip():
    code = asm.assemble_instructions(LINES)
    text = asm.disassemble(code, "gfx1100")
    assert asm.assemble_instructions(text) == code
    listed = asm.disassemble_instructions(code)
    assert sum(size for _, size, _ in listed) == len(code) and [o for o, _, _ in listed][:2] == [0, 8]
    assert len(listed) == len(LINES.splitlines())
    assert listed[-1][2].strip() == "s_endpgm"


def test_typed_and_text_instructions_are_the_same_bytes():
    v, s = r.v, r.s
    typed = Assembler("gfx1100")
    typed.emit(
        r.s_load_b128(s[4:7], s[0:1], 0x10), r.s_mov_b32(s[3], 0x12345678), r.s_add_u32(s[2], s[3], s[4]), r.s_cmp_lg_u32(s[8], 0),
        r.s_waitcnt(r.waits(vmcnt=0, lgkmcnt=0)), r.s_barrier(), r.v_mov_b32_e32(v[1], 1.0), r.v_add_f32_e32(v[0], s[1], v[2]),
        r.v_add_f32_e64(v[0], -v[1], abs(v[2]), clamp=True), r.v_fma_f32(v[3], v[1], s[2], -v[0]), r.v_add_nc_u32_e32(v[1], 0x1000, v[1]),
        r.v_lshlrev_b64(v[2:3], 4, v[0:1]), r.v_cmp_lt_f32_e32(r.vcc_lo, v[1], v[2]), r.v_cndmask_b32_e32(v[0], v[1], v[2], r.vcc_lo),
        r.v_add_f32_dpp(v[8], v[8], v[8], row_shr=1, row_mask=0xF, bank_mask=0xF, bound_ctrl=1),
        r.dual(r.v_dual_add_f32(v[8], v[12], v[8]), r.v_dual_mov_b32(v[9], v[13])), r.v_permlanex16_b32(v[9], v[8], s[9], s[9]),
        r.v_wmma_f32_16x16x16_f16(v[0:7], v[8:15], v[16:23], v[0:7]), r.global_load_b128(v[12:15], v[1], s[6:7], offset=16),
        r.global_store_b32(v[0:1], v[2], None), r.global_atomic_add_f32(v[2], v[9], s[4:5]), r.ds_load_b32(v[2], v[3], offset=8), r.ds_store_b64(v[1], v[2:3]),
        r.flat_load_b32(v[1], v[2:3]), r.scratch_store_b32(None, v[1], s[0], offset=4), r.buffer_load_b32(v[1], v[2], s[4:7], 0, offen=True), r.s_endpgm())
    assert typed.code() == asm.assemble_instructions(LINES)


def test_lines_of_text_in_the_typed_assembler():
    a, b = Assembler("gfx1100"), Assembler("gfx1100")
    a.emit(*LINES.splitlines())
    b.emit(LINES.splitlines()[0])
    assert a.code() == asm.assemble_instructions(LINES) and len(b.code()) == 8


def test_branches_forwards_and_backwards():
    a = Assembler("gfx1100")
    end, start = a.label("end"), a.label()
    a.place(start)
    a.emit(r.s_cbranch_scc1(end), r.s_nop(0), r.s_branch(start))
    a.place(end)
    a.emit(r.s_endpgm())
    text = asm.assemble_instructions("start:\ns_cbranch_scc1 end\ns_nop 0\ns_branch start\nend:\ns_endpgm\n")
    assert a.code() == text
    with pytest.raises(strata.AssemblyError, match="end"):
        a.place(end)


def test_code_objects():
    image = asm.assemble(ADD_ONE)
    assert image[:4] == b"\x7fELF"
    listing = asm.disassemble(image)
    assert "add_one" in listing and "global_load_b32 v2, v1, s[6:7]" in listing
    typed = typed_add_one().finish()
    assert typed[:4] == b"\x7fELF"
    code = [line.split("//")[0].strip() for line in asm.disassemble(typed).splitlines()]
    assert any("v_add_f32" in line and "1.0" in line for line in code)
    artifact = strata.compile(strata.asm_kernel(typed_add_one()))
    assert artifact.kernels[0].vgprs >= 3 and artifact.kernels[0].sgprs >= 8 and artifact.kernels[0].lds == 0


def test_the_assembler_counts_what_the_code_uses():
    a = Assembler("gfx1100", name="big", block=32, grid=1)
    a.argument("out")
    assert a.lds(100) == 0 and a.lds(100, align=64) == 128
    a.emit(r.v_mov_b32(r.v[40], 0), r.s_mov_b32(r.s[50], 0), r.s_endpgm())
    (k,) = strata.compile(strata.asm_kernel(a)).kernels
    assert k.vgprs >= 41 and k.sgprs >= 51 and k.lds == 228


def test_every_mnemonic_has_a_function():
    names = [n for n in dir(rdna3) if n.startswith(("v_", "s_", "ds_", "global_"))]
    assert len(names) > 800 and "v_add_f32" in names
    assert str(rdna3.v_add_f32(rdna3.v[0], rdna3.v[1], 2)) == "v_add_f32 v0, v1, 2"
    assert str(rdna3.s[2:5]) == "s[2:5]" and str(-rdna3.v[1]) == "-v1" and str(abs(rdna3.v[1])) == "|v1|"
    with pytest.raises(strata.AssemblyError):
        rdna3.v[3:1]
    with pytest.raises(strata.AssemblyError, match="both ends"):
        rdna3.v[3:]


def test_what_is_no_code():
    with pytest.raises(strata.Error):
        asm.disassemble(b"not an object")
    with pytest.raises(strata.Error):
        strata.asm_kernel(b"\x7fELF and then nothing", grid=1, block=1)
    with pytest.raises(strata.AssemblyError):
        asm.assemble_instructions("s_nonsense 1")
