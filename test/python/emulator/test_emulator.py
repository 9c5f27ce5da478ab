"""Single waves on the emulator."""

import numpy as np
import pytest
import strata
from strata import asm, emulator


def run(text, wave_size=None, **kwargs):
    code = asm.assemble_instructions(text + "\ns_endpgm", wave_size=wave_size or 0)
    return emulator.run_wave("gfx1100", code, wave_size=wave_size, **kwargs)


def test_registers_in_and_out():
    lanes = np.arange(32, dtype=np.uint32)
    state = run(
        "v_add_nc_u32 v2, v0, v1\nv_add_nc_u32 v3, s5, v2\ns_add_u32 s6, s5, 3",
        vgpr=[lanes, lanes * 10],
        sgpr=[0, 0, 0, 0, 0, 100],
    )
    assert state.vgpr.shape == (256, 32) and state.vgpr.dtype == np.uint32 and len(state.sgpr) == 106
    np.testing.assert_array_equal(state.vgpr[2], lanes * 11)
    np.testing.assert_array_equal(state.vgpr[3], lanes * 11 + 100)
    assert state.sgpr[6] == 103 and state.scc is False and state.instructions == 4


def test_floats():
    x = np.linspace(-3, 3, 32).astype(np.float32)
    state = run(
        "v_mul_f32 v1, v0, v0\nv_fma_f32 v2, v0, v0, 1.0\nv_max_f32 v3, 0, v0\nv_floor_f32 v4, v0",
        vgpr=[x.view(np.uint32)],
    )
    f = state.vgpr.view(np.float32)
    np.testing.assert_array_equal(f[1], x * x)
    np.testing.assert_array_equal(f[2], (x.astype(np.float64) ** 2 + 1).astype(np.float32))
    np.testing.assert_array_equal(f[3], np.maximum(x, 0))
    np.testing.assert_array_equal(f[4], np.floor(x))


def test_waves_of_64():
    lanes = np.arange(64, dtype=np.uint32)
    state = run(
        "v_cmp_lt_u32 vcc, v0, v1\nv_lshlrev_b32 v2, 1, v0", wave_size=64, vgpr=[lanes, np.full(64, 40, np.uint32)]
    )
    assert state.vcc == (1 << 40) - 1 and state.exec_mask == (1 << 64) - 1
    np.testing.assert_array_equal(state.vgpr[2], lanes * 2)


def test_masked_lanes_keep_their_values():
    state = run("v_mov_b32 v1, 7", exec_mask=0x0000FF00)
    np.testing.assert_array_equal(state.vgpr[1], [7 if 8 <= i < 16 else 0 for i in range(32)])
    state = run(
        "s_mov_b32 exec_lo, 1\nv_mov_b32 v1, 7\ns_cmp_eq_u32 s0, 0\ns_mov_b32 m0, 9\ns_mov_b32 vcc_lo, 5", vcc=1
    )
    assert state.vgpr[1].sum() == 7 and state.exec_mask == 1 and state.scc is True and state.m0 == 9 and state.vcc == 5


def test_mapped_memory_is_changed_in_place():
    data = np.arange(64, dtype=np.float32)
    table = np.array([10, 20, 30, 40], np.uint32)
    base = 0x7F0000001000
    state = run(
        "s_load_b128 s[8:11], s[2:3], 0x0\nv_lshlrev_b32 v1, 2, v0\nglobal_load_b32 v2, v1, s[0:1]\ns_waitcnt "
        "vmcnt(0) lgkmcnt(0)\n"
        "v_add_f32 v2, v2, v2\nglobal_store_b32 v1, v2, s[0:1] offset:128",
        vgpr=[np.arange(32, dtype=np.uint32)],
        sgpr=[base & 0xFFFFFFFF, base >> 32, 0x8000, 0],
        memory={base: data, 0x8000: table},
    )
    np.testing.assert_array_equal(data[32:], 2 * np.arange(32))
    assert state.sgpr[8:12].tolist() == [10, 20, 30, 40]


def test_local_memory_and_scratch():
    lanes = np.arange(32, dtype=np.uint32)
    state = run(
        "v_lshlrev_b32 v1, 2, v0\nds_store_b32 v1, v0\ns_waitcnt lgkmcnt(0)\nv_sub_nc_u32 v2, 124, v1\n"
        "ds_load_b32 v3, v2\n"
        "scratch_store_b32 off, v0, off offset:4\nscratch_load_b32 v4, off, off offset:4\ns_waitcnt vmcnt(0) "
        "lgkmcnt(0)",
        vgpr=[lanes],
        scratch=16,
        lds=128,
    )
    np.testing.assert_array_equal(state.vgpr[3], lanes[::-1])
    np.testing.assert_array_equal(state.vgpr[4], lanes)
    np.testing.assert_array_equal(state.lds.view(np.uint32), lanes)
    given = np.arange(8, dtype=np.uint32)
    state = run("v_mov_b32 v1, 12\nds_load_b32 v3, v1\ns_waitcnt lgkmcnt(0)", lds=given)
    assert state.vgpr[3][0] == 3 and len(state.lds) == 32


def test_a_loop_and_the_count_of_instructions():
    state = run(
        "s_movk_i32 s0, 10\nagain:\nv_add_nc_u32 v0, 1, v0\ns_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\n"
        "s_cbranch_scc1 again"
    )
    assert (state.vgpr[0] == 10).all() and state.instructions == 1 + 4 * 10 + 1


def test_an_endless_loop_ends():
    with pytest.raises(strata.Error, match=r"(?i)10000|instructions|endless"):
        run("again:\ns_branch again", max_instructions=10000)
    state = run("v_mov_b32 v0, 1")
    assert (state.vgpr[0] == 1).all()


def test_faults_have_a_place():
    with pytest.raises(strata.MemoryFault) as e:
        run("v_mov_b32 v0, 0x100\nglobal_load_b32 v2, v0, s[0:1]\ns_waitcnt vmcnt(0)")
    text = str(e.value)
    assert "0x100" in text and "global_load_b32" in text and "lane 0" in text and "0x8" in text


def test_what_is_no_instruction():
    with pytest.raises(strata.Error, match="(?i)0x0|offset|instruction"):
        emulator.run_wave("gfx1100", b"\xff\xff\xff\xff" * 2)
    with pytest.raises(strata.Error, match="end of the code"):
        run("s_branch 100")
    assert emulator.run_wave("gfx1100", b"").instructions == 1  # an s_endpgm follows every code


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"vgpr": np.zeros((1, 16), np.uint32)}, "32 lanes"),
        ({"sgpr": np.zeros(107, np.uint32)}, "106"),
        ({"wave_size": 16}, "32 or 64"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(strata.UsageError, match=words):
        emulator.run_wave("gfx1100", asm.assemble_instructions("s_endpgm"), **arguments)


def test_read_only_memory_is_refused():
    data = np.zeros(4)
    data.flags.writeable = False
    with pytest.raises(strata.UsageError, match="writable"):
        run("s_nop 0", memory={0x1000: data})


LANES = np.arange(32)


@pytest.mark.parametrize(
    "row, registers",
    [
        (LANES.astype(np.float32) / 3, (LANES.astype(np.float32) / 3).view(np.uint32)),
        (-LANES, (-LANES).astype(np.int32).view(np.uint32)),
        (LANES.astype(np.uint64) << 27, LANES.astype(np.uint32) << 27),
        ((LANES % 2).astype(bool), LANES % 2),
        ((LANES - 128).astype(np.int8), (LANES - 128).astype(np.int32).view(np.uint32)),
        (np.repeat(LANES, 3).astype(np.float32)[::3], LANES.astype(np.float32).view(np.uint32)),
        (np.repeat(LANES, 2)[::-2], LANES[::-1]),
        (np.broadcast_to(np.uint32(9), 32), np.full(32, 9)),
        ([1] * 32, np.ones(32)),
    ],
    ids=["float32", "negative", "uint64", "bool", "int8", "strided float32", "reversed", "broadcast", "list"],
)
def test_registers_take_any_integers_and_the_bits_of_floats(row, registers):
    state = run("s_nop 0", vgpr=[row], sgpr=row)
    np.testing.assert_array_equal(state.vgpr[0], registers)
    np.testing.assert_array_equal(state.sgpr[:32], registers)


@pytest.mark.parametrize(
    "row",
    [
        LANES / 3,
        LANES.astype(np.float16),
        LANES + (1 << 32),
        LANES - (1 << 33),
        LANES.astype(np.uint64) << 60,
        [1.5] * 32,
        ["a"] * 32,
        [2**70] * 32,
        [None] * 32,
    ],
    ids=["float64", "float16", "too large", "too small", "uint64", "python floats", "text", "huge", "None"],
)
@pytest.mark.parametrize("name", ["vgpr", "sgpr"])
def test_what_no_register_holds_is_refused_by_name(name, row):
    with pytest.raises(strata.UsageError, match=name):
        run("s_nop 0", **{name: [row] if name == "vgpr" else row})


BYTES = np.arange(256, dtype=np.uint8)


@pytest.mark.parametrize(
    "lds",
    [
        BYTES[::-1],
        BYTES[::2],
        np.broadcast_to(np.zeros(1, np.uint8), (1 << 30,)),
        BYTES.reshape(16, 16).T,
        BYTES.view(np.uint32)[::-1],
    ],
    ids=["reversed", "strided", "broadcast", "transposed", "words"],
)
@pytest.mark.parametrize("as_memory", [False, True])
def test_arrays_with_gaps_are_refused(lds, as_memory):
    with pytest.raises(strata.UsageError, match="contiguous|writable"):
        run("s_nop 0", **({"memory": {0x1000: lds}} if as_memory else {"lds": lds}))


@pytest.mark.parametrize("lds", [BYTES, bytes(BYTES), bytearray(BYTES), BYTES.view(np.uint32), BYTES[::2].copy()])
def test_local_memory_is_the_bytes_given(lds):
    np.testing.assert_array_equal(
        run("s_nop 0", lds=lds).lds, np.frombuffer(bytes(memoryview(lds).cast("B")), np.uint8)
    )


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"lds": -1}, "lds"),
        ({"lds": 65537}, "65536"),
        ({"lds": 2**33}, "65536"),
        ({"lds": 2**80}, "lds"),
        ({"lds": 1.5}, "lds"),
        ({"lds": None}, "lds"),
        ({"lds": np.zeros(65537, np.uint8)}, "65536"),
        ({"scratch": 2**32 - 1}, "scratch"),
        ({"memory": {-1: bytearray(4)}}, "address"),
        ({"memory": {2**64: bytearray(4)}}, "address"),
        ({"memory": {2**64 - 2: bytearray(4)}}, "address"),
        ({"memory": {0x1000: 5}}, "memory"),
        ({"memory": {0x1000: "text"}}, "memory"),
        ({"memory": [bytearray(4)]}, "dict"),
    ],
)
def test_sizes_that_a_workgroup_does_not_have_are_refused(arguments, words):
    with pytest.raises(strata.UsageError, match=words):
        run("s_nop 0", **arguments)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7])
def test_code_is_whole_words(size):
    with pytest.raises(strata.UsageError, match="4 bytes"):
        emulator.run_wave("gfx1100", bytes(size))


def test_code_that_does_not_end_is_told_so():
    kernel = strata.asm_kernel("s_nop 0", args=["out"], grid=1, block=32)
    with pytest.raises(strata.Unsupported, match="s_endpgm"):
        strata.Tensor.empty(4).custom_kernel(kernel=kernel)[0].numpy()


BRANCHES = """
extern "C" __global__ void k(float* o, const float* x, const int* n) {
    float v = x[threadIdx.x];
    for (int i = 0; i < n[0]; ++i) v = __builtin_amdgcn_exp2f(v) * 0.5f;
    for (int i = 0; i < n[1]; ++i) v = __builtin_amdgcn_logf(v) * 2;
    o[threadIdx.x] = v;
}
"""


def test_a_launch_says_what_it_ran():
    out, x = (strata.Tensor(np.zeros(64, np.float32)).realize() for _ in range(2))
    steps = strata.Tensor(np.array([11, 0], np.int32)).realize()
    kernel = strata.hip_kernel(BRANCHES, name="k", grid=(1, 1, 1), block=(64, 1, 1))
    with strata.config(emu_fidelity=True):
        strata.realize(list(out.custom_kernel(x, steps, kernel=kernel)))
    uses = {u.mnemonic: u for u in strata.stats().launches[-1].instructions}
    assert uses["v_exp_f32"].executed == 2 * 11 * uses["v_exp_f32"].count and uses["v_exp_f32"].level == "silicon"
    assert uses["v_log_f32"].executed == 0 and uses["v_log_f32"].count > 0 and uses["s_endpgm"].executed == 2
    image = strata.compile(kernel).code_object
    assert {u.mnemonic: (u.count, u.executed) for u in emulator.fidelity(image)} == {
        m: (u.count, None) for m, u in uses.items()
    }
    strata.realize(list(out.custom_kernel(x, steps, kernel=kernel)))
    assert strata.stats().launches[-1].instructions == []
