"""Assembler and disassembler."""

import pytest
import strata
from strata import asm
from strata.asm import Assembler, rdna3, rdna3 as r
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
        r.s_load_b128(s[4:7], s[0:1], 0x10),
        r.s_mov_b32(s[3], 0x12345678),
        r.s_add_u32(s[2], s[3], s[4]),
        r.s_cmp_lg_u32(s[8], 0),
        r.s_waitcnt(r.waits(vmcnt=0, lgkmcnt=0)),
        r.s_barrier(),
        r.v_mov_b32_e32(v[1], 1.0),
        r.v_add_f32_e32(v[0], s[1], v[2]),
        r.v_add_f32_e64(v[0], -v[1], abs(v[2]), clamp=True),
        r.v_fma_f32(v[3], v[1], s[2], -v[0]),
        r.v_add_nc_u32_e32(v[1], 0x1000, v[1]),
        r.v_lshlrev_b64(v[2:3], 4, v[0:1]),
        r.v_cmp_lt_f32_e32(r.vcc_lo, v[1], v[2]),
        r.v_cndmask_b32_e32(v[0], v[1], v[2], r.vcc_lo),
        r.v_add_f32_dpp(v[8], v[8], v[8], row_shr=1, row_mask=0xF, bank_mask=0xF, bound_ctrl=1),
        r.dual(r.v_dual_add_f32(v[8], v[12], v[8]), r.v_dual_mov_b32(v[9], v[13])),
        r.v_permlanex16_b32(v[9], v[8], s[9], s[9]),
        r.v_wmma_f32_16x16x16_f16(v[0:7], v[8:15], v[16:23], v[0:7]),
        r.global_load_b128(v[12:15], v[1], s[6:7], offset=16),
        r.global_store_b32(v[0:1], v[2], None),
        r.global_atomic_add_f32(v[2], v[9], s[4:5]),
        r.ds_load_b32(v[2], v[3], offset=8),
        r.ds_store_b64(v[1], v[2:3]),
        r.flat_load_b32(v[1], v[2:3]),
        r.scratch_store_b32(None, v[1], s[0], offset=4),
        r.buffer_load_b32(v[1], v[2], s[4:7], 0, offen=True),
        r.s_endpgm(),
    )
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
    image = asm.assemble(ADD_ONE)
    for call in (asm.disassemble, lambda damaged: strata.asm_kernel(damaged, grid=1, block=1)):
        with pytest.raises(strata.Error, match="UTF-8"):
            call(image.replace(b"add_one", b"add\xffone"))
    with pytest.raises(strata.UsageError, match="no kernel"):
        strata.asm_kernel(asm.assemble("s_endpgm"), grid=1, block=1)


# Texts that end LLVM's assembler or that it never finishes.
HOSTILE = {
    "byte": ".byte 1",
    "text": 's_endpgm\n.ascii "abc"',
    "size of nothing": "f:\n.size f, nowhere",
    "difference": ".uleb128 a-b",
    "parentheses": ".long " + "(" * 100000 + "1" + ")" * 100000,
    "signs": ".long " + "-" * 200000 + "1",
    "operand of parentheses": "s_mov_b32 s0, " + "(" * 100000 + "1" + ")" * 100000,
    "operand of brackets": "s_mov_b32 s0, " + "[" * 100000,
    "modifiers": "v_add_f32 v0, " + "-|" * 100000,
    "zeros": ".zero 1<<40",
    "comment": "s_nop 0,, /*",
}


@pytest.mark.parametrize(
    "call",
    [asm.assemble, asm.assemble_instructions, lambda text: strata.asm_kernel(text, grid=1, block=32)],
    ids=["assemble", "assemble_instructions", "asm_kernel"],
)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_ends_the_process(text, call):
    with pytest.raises(strata.AssemblyError):
        call(text)
    assert asm.assemble_instructions("s_set_gpr_idx_off ; LLVM's turn", "gfx90a") == bytes.fromhex("00009cbf")


def test_instructions_need_no_llvm_to_be_those_of_llvm():
    own = asm.assemble_instructions(LINES)
    assert asm.assemble_instructions(LINES + ".set unused, 1\n") == own  # a directive, which only LLVM reads


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx90a"])
def test_any_bytes_can_be_listed(arch, rng):
    ends_llvm = bytes.fromhex("f9806a271c27c502")
    for code in [ends_llvm, *(rng.bytes(size) for size in [*range(9), *([4096] * 20)])]:
        lines = asm.disassemble_instructions(code, arch)
        assert sum(length for _, length, _ in lines) == len(code)
        assert asm.disassemble(code, arch).splitlines() == [text for _, _, text in lines]


@pytest.mark.parametrize(
    "arch, ids",
    [
        ("gfx1100", "s_add_u32 s2, s2, s3"),
        ("gfx942", "s_add_u32 s2, s2, s3"),
        ("gfx1201", "s_add_co_u32 s2, ttmp9, ttmp7"),
    ],
)
def test_the_dimensions_of_the_grid_are_the_workgroup_ids_that_code_finds(arch, ids):
    wait, store = (
        ("s_wait_kmcnt 0x0" if arch == "gfx1201" else "s_waitcnt lgkmcnt(0)"),
        ("dword" if arch == "gfx942" else "b32"),
    )
    load = "s_load_dwordx2" if arch == "gfx942" else "s_load_b64"
    row = (
        "s_mul_i32 s7, s3, 5\ns_add_u32 s7, s7, s2"
        if arch != "gfx1201"
        else "s_mul_i32 s7, ttmp7, 5\ns_add_co_u32 s7, s7, ttmp9"
    )
    text = (
        f"{load} s[4:5], s[0:1], 0x0\n{row}\n{ids}\ns_lshl_b32 s7, s7, 2\nv_mov_b32 v1, s7\nv_mov_b32 v2, s2\n"
        f"{wait}\nglobal_store_{store} v1, v2, s[4:5]\ns_endpgm\n"
    )
    with strata.config(device=f"emu:{arch}"):
        kernel = strata.asm_kernel(text, args=["out"], grid=(5, 3), block=1)
        out, *_ = strata.Tensor.empty(3, 5, dtype="int32").custom_kernel(kernel=kernel)
        assert out.tolist() == [[x + y for x in range(5)] for y in range(3)]


RDNA4_LINES = """\
s_load_b96 s[8:10], s[0:1], 0x10
s_wait_kmcnt 0x0
v_lshl_add_u32 v1, ttmp9, 6, v0
global_load_b32 v2, v1, s[6:7] offset:-8 th:TH_LOAD_NT scope:SCOPE_DEV
s_wait_loadcnt 0x0
v_dual_add_f32 v8, v12, v8 :: v_dual_mov_b32 v9, v13
v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[16:19], v[0:7]
v_cvt_f32_fp8_e64 v0, v1 byte_sel:2
global_atomic_add_u32 v5, v1, v0, s[4:5] th:TH_ATOMIC_RETURN
s_endpgm
"""

CDNA3_LINES = """\
s_load_dwordx4 s[4:7], s[0:1], 0x10
s_waitcnt vmcnt(17) lgkmcnt(0)
v_mfma_f32_32x32x8_f16 a[0:15], v[4:5], a[30:31], a[0:15]
v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], 1.0 cbsz:2 abid:3 blgp:5
v_mfma_f64_16x16x4_f64 a[0:7], v[4:5], v[6:7], 0 neg:[1,1,0]
v_accvgpr_read_b32 v8, a3
global_load_dwordx4 a[4:7], v1, s[4:5] offset:16 sc0 nt sc1
buffer_load_dword v1, s[4:7], s3 offen lds
v_add_f32_dpp v0, v1, v0 row_bcast:15 row_mask:0xa bank_mask:0xf
v_add_u32_sdwa v1, v2, sext(v3) dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD
v_cmpx_lt_f32_e32 vcc, v0, v1
s_add_u32 flat_scratch_lo, s2, s8
s_endpgm
"""


def test_rdna4_typed_and_text_instructions_are_the_same_bytes():
    g = asm.rdna4
    v, s = g.v, g.s
    typed = Assembler("gfx1201")
    typed.emit(
        g.s_load_b96(s[8:10], s[0:1], 0x10),
        g.s_wait_kmcnt(0),
        g.v_lshl_add_u32(v[1], g.ttmp[9], 6, v[0]),
        g.global_load_b32(v[2], v[1], s[6:7], offset=-8, th="TH_LOAD_NT", scope="SCOPE_DEV"),
        g.s_wait_loadcnt(0),
        g.dual(g.v_dual_add_f32(v[8], v[12], v[8]), g.v_dual_mov_b32(v[9], v[13])),
        g.v_wmma_f32_16x16x16_f16(v[0:7], v[8:11], v[16:19], v[0:7]),
        g.v_cvt_f32_fp8_e64(v[0], v[1], byte_sel=2),
        g.global_atomic_add_u32(v[5], v[1], v[0], s[4:5]),
        g.s_endpgm(),
    )
    assert typed.code() == asm.assemble_instructions(RDNA4_LINES, "gfx1201")


def test_cdna3_typed_and_text_instructions_are_the_same_bytes():
    g = asm.cdna3
    v, a, s = g.v, g.a, g.s
    typed = Assembler("gfx942")
    typed.emit(
        g.s_load_dwordx4(s[4:7], s[0:1], 0x10),
        g.s_waitcnt(g.waits(vmcnt=17, lgkmcnt=0)),
        g.v_mfma_f32_32x32x8_f16(a[0:15], v[4:5], a[30:31], a[0:15]),
        g.v_mfma_f32_4x4x4_16b_f16(v[0:3], v[4:5], v[6:7], 1.0, cbsz=2, abid=3, blgp=5),
        g.v_mfma_f64_16x16x4_f64(a[0:7], v[4:5], v[6:7], 0, neg=[1, 1, 0]),
        g.v_accvgpr_read_b32(v[8], a[3]),
        g.global_load_dwordx4(a[4:7], v[1], s[4:5], offset=16, sc0=True, nt=True, sc1=True),
        g.buffer_load_dword(v[1], s[4:7], s[3], offen=True, lds=True),
        g.v_add_f32_dpp(v[0], v[1], v[0], row_bcast=15, row_mask=0xA, bank_mask=0xF),
        g.v_add_u32_sdwa(
            v[1], v[2], g.sext(v[3]), dst_sel="WORD_1", dst_unused="UNUSED_PAD", src0_sel="BYTE_0", src1_sel="DWORD"
        ),
        g.v_cmpx_lt_f32_e32(g.vcc, v[0], v[1]),
        g.s_add_u32(g.flat_scratch_lo, s[2], s[8]),
        g.s_endpgm(),
    )
    assert typed.code() == asm.assemble_instructions(CDNA3_LINES, "gfx942")


@pytest.mark.parametrize(
    "arch, family, count, name",
    [("gfx1201", asm.rdna4, 900, "s_wait_loadcnt"), ("gfx942", asm.cdna3, 900, "v_mfma_f32_32x32x8_f16")],
)
def test_every_mnemonic_of_a_family_has_a_function(arch, family, count, name):
    names = [n for n in dir(family) if n.startswith(("v_", "s_", "ds_", "global_", "buffer_"))]
    assert len(names) > count and name in names and getattr(family, name).__name__ == name
    with pytest.raises(AttributeError, match=arch):
        family.v_ad_f32


def test_errors_of_operands_name_them_with_file_and_line():
    def failure(arch, instruction):
        with pytest.raises(strata.AssemblyError) as raised:
            Assembler(arch).emit(instruction)
        assert raised.value.file.endswith("test_asm.py") and raised.value.line > 0
        return str(raised.value)

    g, h = asm.cdna3, asm.rdna4
    assert "v_add_f32: src1 must be a register or an inline constant" in failure(
        "gfx942", g.v_add_f32(g.v[0], g.v[1], g.a[2])
    )
    assert "dst must start at an even register" in failure(
        "gfx942", g.v_mfma_f32_32x32x8_f16(g.a[1:16], g.v[4:5], g.v[6:7], 0)
    )
    assert "source 2 takes 16 registers, but a[0:3] is 4" in failure(
        "gfx942", g.v_mfma_f32_32x32x8_f16(g.a[0:15], g.v[4:5], g.v[6:7], g.a[0:3])
    )
    assert "gfx1201 has no a2" in failure("gfx1201", h.v_add_f32(h.v[0], h.v[1], g.a[2]))
    assert "source 0 takes 2 registers" in failure("gfx1201", h.global_load_b32(h.v[0], h.v[1], None))
    with pytest.raises(strata.AssemblyError, match="s0 to s101"):
        g.s[102]


def test_the_assembler_counts_accumulation_registers():
    g = asm.cdna3
    a = Assembler("gfx942", name="big", block=64, grid=1)
    a.emit(g.v_mfma_f32_32x32x8_f16(g.a[0:15], g.v[4:5], g.v[6:7], 0), g.s_endpgm())
    (k,) = strata.compile(strata.asm_kernel(a), "gfx942").kernels
    assert k.vgprs == 8 + 16
