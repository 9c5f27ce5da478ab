"""Kernels of the typed assemblers, run on the emulated device of their family."""

import numpy as np
import pytest
import strata
from strata import Tensor
from strata.asm import Assembler, cdna3, rdna4


def add_rdna4():
    g = rdna4
    v, s = g.v, g.s
    a = Assembler("gfx1201", name="add", block=64, grid=4)
    out, x, _ = a.argument("out"), a.argument("x"), a.argument("y")
    a.emit(
        g.s_load_b128(s[4:7], s[0:1], out),
        g.s_load_b64(s[8:9], s[0:1], x + 8),
        g.v_lshl_add_u32(v[1], g.ttmp[9], 6, v[0]),
    )
    a.emit(g.v_lshlrev_b32(v[1], 2, v[1]), g.s_wait_kmcnt(0), g.global_load_b32(v[2], v[1], s[6:7], th="TH_LOAD_NT"))
    a.emit(
        g.global_load_b32(v[3], v[1], s[8:9]),
        g.s_wait_loadcnt(0),
        g.v_add_f32(v[2], v[2], v[3]),
        g.global_store_b32(v[1], v[2], s[4:5]),
        g.s_endpgm(),
    )
    return a


def add_cdna3():
    g = cdna3
    v, s = g.v, g.s
    a = Assembler("gfx942", name="add", block=64, grid=4)
    out, x, _ = a.argument("out"), a.argument("x"), a.argument("y")
    a.emit(
        g.s_load_dwordx4(s[4:7], s[0:1], out),
        g.s_load_dwordx2(s[8:9], s[0:1], x + 8),
        g.v_lshl_add_u32(v[1], s[2], 6, v[0]),
    )
    a.emit(
        g.v_lshlrev_b32(v[1], 2, v[1]),
        g.s_waitcnt(g.waits(lgkmcnt=0)),
        g.global_load_dword(v[2], v[1], s[6:7], sc0=True),
    )
    a.emit(g.global_load_dword(g.a[1], v[1], s[8:9]), g.s_waitcnt(g.waits(vmcnt=0)), g.v_accvgpr_read_b32(v[3], g.a[1]))
    a.emit(g.v_add_f32(v[2], v[2], v[3]), g.global_store_dword(v[1], v[2], s[4:5]), g.s_endpgm())
    return a


def sum_rdna4():
    g = rdna4
    v, s = g.v, g.s
    a = Assembler("gfx1201", name="sums", block=64, grid=1)
    out, _ = a.argument("out"), a.argument("x")
    a.emit(
        g.s_load_b128(s[4:7], s[0:1], out),
        g.v_lshlrev_b32(v[1], 2, v[0]),
        g.s_wait_kmcnt(0),
        g.global_load_b32(v[2], v[1], s[6:7]),
    )
    a.emit(g.s_mov_b32(s[8], 0x76543210), g.s_mov_b32(s[9], 0xFEDCBA98), g.s_wait_loadcnt(0))
    a.emit(*(g.v_add_nc_u32_dpp(v[2], v[2], v[2], row_xmask=m, row_mask=0xF, bank_mask=0xF) for m in (1, 2, 4, 8)))
    a.emit(
        g.v_permlanex16_b32(v[3], v[2], s[8], s[9]),
        g.v_add_nc_u32(v[2], v[2], v[3]),
        g.global_store_b32(v[1], v[2], s[4:5]),
        g.s_endpgm(),
    )
    return a


def sum_cdna3():
    g = cdna3
    v, s = g.v, g.s
    a = Assembler("gfx942", name="sums", block=64, grid=1)
    out, _ = a.argument("out"), a.argument("x")
    a.emit(g.s_load_dwordx4(s[4:7], s[0:1], out), g.v_lshlrev_b32(v[1], 2, v[0]), g.s_waitcnt(g.waits(lgkmcnt=0)))
    a.emit(g.global_load_dword(v[2], v[1], s[6:7]), g.s_waitcnt(g.waits(vmcnt=0)))
    a.emit(
        *(g.v_add_u32_dpp(v[2], v[2], v[2], row_shr=n, row_mask=0xF, bank_mask=0xF, bound_ctrl=0) for n in (1, 2, 4, 8))
    )
    a.emit(
        g.v_add_u32_dpp(v[2], v[2], v[2], row_bcast=15, row_mask=0xA, bank_mask=0xF),
        g.v_add_u32_dpp(v[2], v[2], v[2], row_bcast=31, row_mask=0xC, bank_mask=0xF),
    )
    a.emit(
        g.v_readlane_b32(s[8], v[2], 63),
        g.v_mov_b32(v[2], s[8]),
        g.global_store_dword(v[1], v[2], s[4:5]),
        g.s_endpgm(),
    )
    return a


@pytest.mark.parametrize("arch, make", [("gfx1201", add_rdna4), ("gfx942", add_cdna3)])
def test_vectors_are_added(arch, make, rng):
    x, y = rng.standard_normal((2, 256)).astype(np.float32)
    with strata.config(device=f"emu:{arch}"):
        out, *_ = Tensor.empty(256).custom_kernel(Tensor(x), Tensor(y), kernel=strata.asm_kernel(make()))
        assert out.device == f"emu:{arch}"
        np.testing.assert_array_equal(out.numpy(), x + y)


@pytest.mark.parametrize("arch, make, lanes", [("gfx1201", sum_rdna4, 32), ("gfx942", sum_cdna3, 64)])
def test_lanes_of_a_wave_are_summed(arch, make, lanes, rng):
    x = rng.integers(-(2**31), 2**31, 64).astype(np.int32)
    with strata.config(device=f"emu:{arch}"):
        out, _ = Tensor.empty(64, dtype="int32").custom_kernel(Tensor(x), kernel=strata.asm_kernel(make()))
        sums = x.reshape(-1, lanes).astype(np.int64).sum(axis=1)
        np.testing.assert_array_equal(out.numpy(), np.repeat(sums, lanes).astype(np.uint32).view(np.int32))


def test_matrices_are_multiplied_in_accumulation_registers(rng):
    """32 x 16 by 16 x 32 (given by columns), in two steps of eight. Lane l holds four values of row l % 32, from l //
    32 * 4 on.
    """
    g = cdna3
    v, s, acc = g.v, g.s, g.a
    a = Assembler("gfx942", name="multiply", block=64, grid=1)
    out, x, _ = a.argument("out"), a.argument("x"), a.argument("y")
    a.emit(
        g.s_load_dwordx4(s[4:7], s[0:1], out),
        g.s_load_dwordx2(s[8:9], s[0:1], x + 8),
        g.v_and_b32(v[1], 31, v[0]),
        g.v_lshrrev_b32(v[2], 5, v[0]),
    )
    a.emit(g.v_lshlrev_b32(v[3], 5, v[1]), g.v_lshl_add_u32(v[3], v[2], 3, v[3]), g.s_waitcnt(g.waits(lgkmcnt=0)))
    for step in (0, 1):
        a.emit(g.global_load_dwordx2(v[4 + 4 * step : 5 + 4 * step], v[3], s[6:7], offset=16 * step))
        a.emit(g.global_load_dwordx2(v[6 + 4 * step : 7 + 4 * step], v[3], s[8:9], offset=16 * step))
    a.emit(g.s_waitcnt(g.waits(vmcnt=0)), g.v_mfma_f32_32x32x8_f16(acc[0:15], v[4:5], v[6:7], 0))
    a.emit(
        g.v_mfma_f32_32x32x8_f16(acc[0:15], v[8:9], v[10:11], acc[0:15]),
        g.v_lshlrev_b32(v[12], 2, v[1]),
        g.v_lshl_add_u32(v[12], v[2], 9, v[12]),
    )
    a.emit(g.s_nop(15), g.s_nop(2))
    a.emit(
        *(g.global_store_dword(v[12], acc[r], s[4:5], offset=(8 * (r // 4) + r % 4) * 128) for r in range(16)),
        g.s_endpgm(),
    )
    p, q = (rng.integers(-8, 9, (32, 16)).astype(np.float16) for _ in range(2))
    with strata.config(device="emu:gfx942"):
        product, *_ = Tensor.empty(32, 32).custom_kernel(Tensor(p), Tensor(q), kernel=strata.asm_kernel(a))
        np.testing.assert_array_equal(product.numpy(), p.astype(np.float32) @ q.astype(np.float32).T)


def lookup(family, arch):
    g = family
    rdna4 = arch == "gfx1201"
    v, s = g.v, g.s
    a = Assembler(arch, name="lookup", block=64, grid=1)
    a.argument("out")
    table, more = a.constants(np.array([11, 22, 33, 44], np.int32)), a.constants(bytes([1, 2, 3, 4]), align=256)
    assert (table.offset, more.offset, more.size) == (0, 256, 4)
    load_pair, load, store = (
        (g.s_load_b64, g.global_load_b32, g.global_store_b32)
        if rdna4
        else (g.s_load_dwordx2, g.global_load_dword, g.global_store_dword)
    )
    load_byte, add = (g.global_load_u8, g.v_add_nc_u32) if rdna4 else (g.global_load_ubyte, g.v_add_u32)
    a.emit(load_pair(s[4:5], s[0:1], 0))
    a.address_of(table, s[6:7])
    a.address_of(more, s[8:9])
    a.emit(
        g.v_and_b32(v[1], 3, v[0]),
        load_byte(v[2], v[1], s[8:9]),
        g.v_lshlrev_b32(v[1], 2, v[1]),
        load(v[3], v[1], s[6:7]),
        g.v_lshlrev_b32(v[0], 2, v[0]),
    )
    a.emit(*((g.s_wait_loadcnt(0), g.s_wait_kmcnt(0)) if rdna4 else (g.s_waitcnt(0),)))
    a.emit(add(v[2], v[2], v[3]), store(v[0], v[2], s[4:5]), g.s_endpgm())
    return a


@pytest.mark.parametrize("family, arch", [(rdna4, "gfx1201"), (cdna3, "gfx942")])
def test_constants_lie_beside_the_code(family, arch):
    with strata.config(device=f"emu:{arch}"):
        (out,) = Tensor.empty(64, dtype="int32").custom_kernel(kernel=strata.asm_kernel(lookup(family, arch)))
        np.testing.assert_array_equal(out.numpy(), np.tile([12, 24, 36, 48], 16))


def test_errors_of_constants_have_their_place():
    a = Assembler("gfx942")
    with pytest.raises(strata.UsageError, match=r"test_asm_kernels.py:\d+: constants: the alignment 3"):
        a.constants(b"abc", align=3)
    b = Assembler("gfx942")
    with pytest.raises(strata.AssemblyError, match="v1 is no pair of scalar registers"):
        b.address_of(b.constants(b"abc"), cdna3.v[1])
    c = Assembler("gfx942")
    c.address_of(c.constants(b"abc"), cdna3.s[2:3])
    with pytest.raises(strata.UsageError, match="constants"):
        c.code()


@pytest.mark.parametrize("name", ["", "k\n.text", "k\0", "\x7f", "\t"])
def test_names_that_no_kernel_has_are_refused_at_once(name):
    with pytest.raises(strata.UsageError, match="control character"):
        Assembler("gfx1100", name=name).finish(1)
    if name:
        with pytest.raises(strata.Error, match="control character"):
            strata.asm_kernel("s_endpgm", name=name, arch="gfx1100", grid=1, block=32)


def test_a_kernel_that_the_code_object_has_not_is_named_at_once():
    image = Assembler("gfx1100", name="here")
    image.emit_text("s_endpgm")
    image = image.finish(1)
    assert strata.asm_kernel(image, name="here", grid=1, block=32).name == "here"
    with pytest.raises(strata.UsageError, match="no kernel 'there'; it has: here"):
        strata.asm_kernel(image, name="there", grid=1, block=32)
