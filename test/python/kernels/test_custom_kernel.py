"""Kernels of the user's: HIP source, UOp graphs, assembly."""

import re
import sys

import numpy as np
import pytest
import strata
from strata import Tensor, dtypes, uop
from strata.asm import Assembler, rdna3 as r
from tested import programs_loaded

N = 1000


@pytest.fixture
def x(rng):
    return rng.standard_normal(N).astype(np.float32)


# HIP

SCALE = """
extern "C" __global__ void scale(float* out, const float* x) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < 1000; i += gridDim.x * blockDim.x) out[i] = 2 * x[i];
}
"""


@pytest.mark.parametrize("grid, block", [(1, 1), (1, 64), (4, 256), (7, 33), (16, 1024), ((2, 1, 1), (32, 1))])
def test_hip_block_and_grid_sizes(x, grid, block):
    kernel = strata.hip_kernel(SCALE, name="scale", grid=grid, block=block)
    out, same = Tensor.empty(N).custom_kernel(Tensor(x), kernel=kernel)
    np.testing.assert_array_equal(out.numpy(), 2 * x)
    np.testing.assert_array_equal(same.numpy(), x)


def test_hip_with_the_runtime_header_shared_memory_and_options():
    source = """
    #include <hip/hip_runtime.h>
    extern "C" __global__ void reverse(int* out, const int* x) {
        __shared__ int part[COUNT];
        extern __shared__ int rest[];
        part[threadIdx.x] = x[blockIdx.x * COUNT + threadIdx.x];
        rest[threadIdx.x] = 1000 * blockIdx.x;
        __syncthreads();
        out[blockIdx.x * COUNT + threadIdx.x] = part[COUNT - 1 - threadIdx.x] + rest[COUNT - 1 - threadIdx.x];
    }
    """
    kernel = strata.hip_kernel(source, name="reverse", grid=3, block=128, lds=512, options=["-DCOUNT=128"])
    v = np.arange(384, dtype=np.int32)
    out, _ = Tensor.empty(384, dtype="int32").custom_kernel(Tensor(v), kernel=kernel)
    np.testing.assert_array_equal(out.numpy(), (v.reshape(3, 128)[:, ::-1] + 1000 * np.arange(3)[:, None]).ravel())


def test_hip_two_and_three_dimensions():
    source = """
    #include <hip/hip_runtime.h>
    extern "C" __global__ void where_am_i(int* out) {
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
        out[(z * gridDim.y * blockDim.y + y) * gridDim.x * blockDim.x + x] = x + 100 * y + 10000 * z;
    }
    """  # noqa: E501
    kernel = strata.hip_kernel(source, name="where_am_i", grid=(2, 3, 2), block=(4, 2, 3))
    (out,) = Tensor.empty(6, 6, 8, dtype="int32").custom_kernel(kernel=kernel)
    z, y, x = np.ogrid[:6, :6, :8]
    np.testing.assert_array_equal(out.numpy(), x + 100 * y + 10000 * z)


def test_an_output_may_be_read_and_inputs_changed():
    source = """
    extern "C" __global__ void both(float* out, float* x) { int i = threadIdx.x; out[i] += x[i]; x[i] = -x[i]; }
    """
    kernel = strata.hip_kernel(source, name="both", grid=1, block=8)
    start, given = Tensor(np.full(8, 10, np.float32)), Tensor(np.arange(8, dtype=np.float32))
    out, changed = start.custom_kernel(given, kernel=kernel)
    assert out.tolist() == [10 + i for i in range(8)] and changed.tolist() == [-i for i in range(8)]


def test_a_custom_kernel_is_lazy_and_takes_part_in_a_graph(x):
    kernel = strata.hip_kernel(SCALE, name="scale", grid=4, block=256)
    t = Tensor(x).realize()
    strata.reset_stats()
    out, _ = Tensor.empty(N).custom_kernel(t + 1, kernel=kernel)
    y = (out - 2).sum()
    assert strata.stats().kernels == 0
    np.testing.assert_allclose(y.item(), (2 * (x.astype(np.float64) + 1) - 2).sum(), rtol=1e-4)
    names = [launch.name for launch in strata.stats().launches]
    assert names.count("scale") == 1 and names[0] != "scale"


def test_inputs_that_are_views_arrive_row_by_row(x):
    kernel = strata.hip_kernel(SCALE, name="scale", grid=4, block=256)
    out, _ = Tensor.empty(N).custom_kernel(Tensor(x).reshape(10, 100).T, kernel=kernel)
    np.testing.assert_array_equal(out.numpy(), 2 * x.reshape(10, 100).T.ravel())


def test_atomics_of_all_blocks():
    source = """
    #include <hip/hip_runtime.h>
    extern "C" __global__ void count(int* bins, const int* x) { atomicAdd(&bins[x[blockIdx.x * blockDim.x + threadIdx.x]], 1); }
    """  # noqa: E501
    v = np.random.default_rng(0).integers(0, 10, 64 * 128).astype(np.int32)
    kernel = strata.hip_kernel(source, name="count", grid=64, block=128)
    bins, _ = Tensor.zeros(10, dtype="int32").contiguous().custom_kernel(Tensor(v), kernel=kernel)
    np.testing.assert_array_equal(bins.numpy(), np.bincount(v, minlength=10))


# UOp graphs


def test_uop_elementwise(x):
    def axpy(out, a, b):
        i = uop.range(out.size, 0, "global")
        return uop.sink(out[i].store(a[i].load() * 3.0 + b[i].load()).end(i))

    out, _, _ = Tensor.empty(N).custom_kernel(Tensor(x), Tensor(x[::-1].copy()), kernel=axpy)
    np.testing.assert_allclose(out.numpy(), 3 * x + x[::-1], rtol=1e-6, atol=1e-6)


def test_uop_reduce(x):
    def rows(out, a):
        i, k = uop.range(10, 0, "global"), uop.range(100, 1, "reduce")
        return uop.sink(out[i].store(uop.reduce(a[i * 100 + k].load(), "add", k)).end(i), name="rows")

    out, _ = Tensor.empty(10).custom_kernel(Tensor(x), kernel=rows)
    np.testing.assert_allclose(out.numpy(), x.reshape(10, 100).sum(1), rtol=1e-5, atol=1e-5)


def test_uop_register_accumulator_local_memory_barrier_and_predicated_store():
    v = np.random.default_rng(3).integers(-50, 50, 64 * 32).astype(np.float32)

    def block_sums(out, a):
        blocks, threads = 8, 32
        g, t = uop.range(blocks, 0, "global"), uop.range(threads, 1, "local")
        k, s = uop.range(8, 2, "reduce"), uop.range(threads, 3, "reduce")
        acc, total = uop.placeholder(1, dtypes.float32, "reg", 0), uop.placeholder(1, dtypes.float32, "reg", 1)
        shared = uop.placeholder(threads, dtypes.float32, "local")
        running = acc.after(acc[0].store(0.0), k)
        added = running[0].store(running[0].load() + a[(g * 8 + k) * threads + t].load()).end(k)
        ready = shared.after(uop.barrier(shared[t].store(acc.after(added)[0].load())))
        summing = total.after(total[0].store(0.0), s)
        summed = summing[0].store(summing[0].load() + ready[s].load()).end(s)
        return uop.sink(out.index(g, t < 1).store(total.after(summed)[0].load()).end(g, t), name="block_sums")

    out, _ = Tensor.empty(8).custom_kernel(Tensor(v), kernel=block_sums)
    np.testing.assert_array_equal(out.numpy(), v.reshape(8, -1).sum(1))


def test_uop_predicates_protect_loads_and_stores():
    def shifted(out, a):
        i = uop.range(out.size, 0, "global")
        value = a.index(i + 3, i < out.size - 3).load(alt=-1.0)
        return uop.sink(out.index(i, i < 8).store(value).end(i))

    v = np.arange(10, dtype=np.float32)
    out, _ = Tensor.full((10,), 77.0).contiguous().custom_kernel(Tensor(v), kernel=shifted)
    assert out.tolist() == [3, 4, 5, 6, 7, 8, 9, -1, 77, 77]


def test_uop_functions_and_types():
    def mixed(out, a):
        i = uop.range(out.size, 0, "global")
        v = a[i].load().cast("float32")
        return uop.sink(out[i].store(uop.where(v < 0.0, (-v).sqrt(), v.exp2()).cast("float64")).end(i))

    v = np.array([-4, 0, 3, -9, 5], np.int32)
    out, _ = Tensor.empty(5, dtype="float64").custom_kernel(Tensor(v), kernel=mixed)
    assert out.tolist() == [2, 1, 8, 3, 32]


def scale_and_shift(out, x, scale, shift):
    i = uop.range(out.size, 0, "global")
    return uop.sink(uop.end(out[i].store(x[i].load() * scale.cast("float32") + shift.cast("float32")), i))


@pytest.mark.parametrize("scale", ["float16", "float32", "float64", "int8", "uint8", "int16", "int32", "uint64"])
@pytest.mark.parametrize("shift", ["float32", "float64", "int64", "uint16"])
def test_numbers_with_a_type_are_given_at_each_launch(scale, shift, x):
    before = programs_loaded()
    for a, b in ((3, 70), (5, 1), (100, 7)):
        given = np.dtype(scale).type(a), np.dtype(shift).type(b)
        got = Tensor.empty((N,)).custom_kernel(Tensor(x), *given, kernel=scale_and_shift)[0].numpy()
        exact = x.astype(np.float64) * a + b  # rounded once or twice
        np.testing.assert_allclose(got, exact, rtol=0, atol=np.spacing(np.abs(x) * np.float32(a) + np.float32(b)).max())
    assert programs_loaded() <= before + 1


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float32", "float64"])
def test_numbers_of_a_launch_arrive_whole(dtype):
    kind = np.dtype(dtype)
    ends = [
        kind.type(n)
        for n in ((np.iinfo(kind).min, np.iinfo(kind).max, 1) if kind.kind in "iu" else (np.pi, -np.inf, -0.0))
    ]

    def spread(out, a, unused, b, c):
        first = out[0].store(a), out[1].store(b), out[2].store(c)
        return uop.sink(uop.group(*first))

    out = Tensor.empty((3,), dtype=dtype).custom_kernel(ends[0], np.float64(1), *ends[1:], kernel=spread)[0]
    np.testing.assert_array_equal(out.numpy().view(f"u{kind.itemsize}"), np.array(ends, kind).view(f"u{kind.itemsize}"))


def test_numbers_and_tensors_that_change_places_are_refused(x):
    n = uop.variable(1, "float32")
    with pytest.raises(strata.UsageError, match="a launch gives numbers of 32 and 64 bits"):
        narrow = uop.variable(1, "int8").cast("float32")
        Tensor(x).custom_kernel(kernel=lambda out: uop.sink(out[0].store(narrow)))[0].numpy()
    with pytest.raises(strata.LaunchError, match=r"parameter 1: the graph has a number \(float32\) there"):
        Tensor(x).custom_kernel(Tensor(x), kernel=lambda out, _: uop.sink(out[0].store(n)))[0].numpy()
    with pytest.raises(strata.LaunchError, match="uses argument 1"):
        Tensor(x).custom_kernel(kernel=lambda out: uop.sink(out[0].store(n)))[0].numpy()


def test_uop_specials_and_atomics():
    def count(out, a):
        g, t = uop.special("gidx0", 4), uop.special("lidx0", 32)
        return uop.sink(uop.atomic_add(out[a[g * 32 + t].load()], 1), name="count")

    v = np.random.default_rng(1).integers(0, 5, 128).astype(np.int32)
    out, _ = Tensor.zeros(5, dtype="int32").contiguous().custom_kernel(Tensor(v), kernel=count)
    np.testing.assert_array_equal(out.numpy(), np.bincount(v, minlength=5))


def test_a_uop_kernel_may_ignore_a_buffer():
    def ones(out, unused):
        i = uop.range(out.size, 0, "global")
        return uop.sink(out[i].store(1.0).end(i))

    out, _ = Tensor.empty(5).custom_kernel(Tensor([1.0]), kernel=ones)
    assert out.tolist() == [1] * 5


def test_uop_mistakes_are_named():
    b = uop.placeholder(4, "float32", "global")
    i = uop.range(4, 0)
    with pytest.raises(strata.DTypeError, match="float32 and int32"):
        b[i].load() + uop.const(1, "int32")
    with pytest.raises(strata.DTypeError, match="float"):
        uop.const(1, "int32") + 0.5
    with pytest.raises(strata.UsageError, match="known: global, local"):
        uop.range(4, 0, "sideways")
    with pytest.raises(strata.UsageError, match="known: global, local, reg"):
        uop.placeholder(4, "float32", "moon")
    with pytest.raises(strata.UsageError, match="sink"):
        Tensor.empty(4).custom_kernel(kernel=lambda out: out[i])
    with pytest.raises(strata.UsageError, match="indexed"):
        b.load()
    with pytest.raises(strata.UsageError, match="nothing closes it"):
        Tensor.empty(4).custom_kernel(kernel=lambda out: uop.sink(out[uop.range(4, 0, "global")].store(1.0)))[
            0
        ].realize()
    with pytest.raises(strata.UsageError, match="another range has this id"):
        Tensor.empty(4).custom_kernel(
            kernel=lambda out: uop.sink(
                out[i].store(uop.range(2, 0, "local").cast("float32")).end(i, uop.range(2, 0, "local"))
            )
        )[0].realize()
    with pytest.raises(strata.UsageError, match="1024"):
        many = uop.range(4096, 0, "local")
        Tensor.empty(4096).custom_kernel(kernel=lambda out: uop.sink(out[many].store(1.0).end(many)))[0].realize()
    with pytest.raises(ZeroDivisionError):
        Tensor.empty(4).custom_kernel(kernel=lambda out: 1 // 0)
    with pytest.raises(strata.UsageError, match="gidx0"):
        uop.special("idx", 4)


# Assembly

ADD_ONE = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
.text
.globl add_one
.p2align 8
.type add_one,@function
add_one:
    s_load_b128 s[4:7], s[0:1], 0x0
    s_lshl_b32 s3, s2, 8
    v_lshl_add_u32 v1, v0, 2, s3
    s_waitcnt lgkmcnt(0)
    global_load_b32 v2, v1, s[6:7]
    s_waitcnt vmcnt(0)
    v_add_f32 v2, 1.0, v2
    global_store_b32 v1, v2, s[4:5]
    s_endpgm
.rodata
.p2align 6
.amdhsa_kernel add_one
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_user_sgpr_count 2
    .amdhsa_kernarg_size 16
    .amdhsa_wavefront_size32 1
    .amdhsa_next_free_vgpr .amdgcn.next_free_vgpr
    .amdhsa_next_free_sgpr .amdgcn.next_free_sgpr
.end_amdhsa_kernel
"""


def typed_add_one():
    a = Assembler("gfx1100", name="add_one", block=64, grid=4)
    out, x = a.argument("out"), a.argument("x")
    a.emit(r.s_load_b64(r.s[4:5], r.s[0:1], out), r.s_load_b64(r.s[6:7], r.s[0:1], x))
    a.emit(
        r.s_lshl_b32(r.s[3], r.s[2], 8), r.v_lshl_add_u32(r.v[1], r.v[0], 2, r.s[3]), r.s_waitcnt(r.waits(lgkmcnt=0))
    )
    a.emit(r.global_load_b32(r.v[2], r.v[1], r.s[6:7]), r.s_waitcnt(r.waits(vmcnt=0)))
    a.emit(r.v_add_f32(r.v[2], 1.0, r.v[2]), r.global_store_b32(r.v[1], r.v[2], r.s[4:5]), r.s_endpgm())
    return a


@pytest.mark.amd
def test_assembly_text_typed_and_bytes():
    v = np.arange(256, dtype=np.float32)
    text = strata.asm_kernel(ADD_ONE, grid=4, block=64)
    typed = strata.asm_kernel(typed_add_one())
    image = strata.asm_kernel(typed_add_one().finish(), grid=4, block=64)
    assert (
        text.name == typed.name == image.name == "add_one"
        and list(typed.grid) == [4, 1, 1]
        and list(typed.block) == [64, 1, 1]
    )
    for kernel in (text, typed, image):
        out, _ = Tensor.empty(256).custom_kernel(Tensor(v), kernel=kernel)
        np.testing.assert_array_equal(out.numpy(), v + 1)


@pytest.mark.amd
def test_typed_assembly_with_a_loop_and_local_memory():
    a = Assembler("gfx1100", name="rotate", block=32, grid=1)
    out, x = a.argument("out"), a.argument("x")
    base = a.lds(128)
    v, s = r.v, r.s
    a.emit(
        r.s_load_b64(s[4:5], s[0:1], out),
        r.s_load_b64(s[6:7], s[0:1], x),
        r.v_lshlrev_b32(v[1], 2, v[0]),
        r.s_waitcnt(r.waits(lgkmcnt=0)),
    )
    a.emit(r.global_load_b32(v[2], v[1], s[6:7]), r.s_movk_i32(s[8], 5), r.s_waitcnt(r.waits(vmcnt=0)))
    a.emit(r.v_add_nc_u32(v[3], 4, v[1]), r.v_and_b32(v[3], 127, v[3]))
    again = a.label()
    a.place(again)  # five times: one place to the left, through LDS
    a.emit(
        r.ds_store_b32(v[1], v[2], offset=base),
        r.s_waitcnt(r.waits(lgkmcnt=0)),
        r.ds_load_b32(v[2], v[3], offset=base),
        r.s_waitcnt(r.waits(lgkmcnt=0)),
    )
    a.emit(r.s_sub_u32(s[8], s[8], 1), r.s_cmp_lg_u32(s[8], 0), r.s_cbranch_scc1(again))
    a.emit(r.global_store_b32(v[1], v[2], s[4:5]), r.s_endpgm())
    given = np.arange(32, dtype=np.int32)
    got, _ = Tensor.empty(32, dtype="int32").custom_kernel(Tensor(given), kernel=strata.asm_kernel(a))
    np.testing.assert_array_equal(got.numpy(), np.roll(given, -5))


@pytest.mark.emulated
def test_a_fault_of_typed_assembly_names_the_line_that_wrote_the_instruction():
    a = Assembler("gfx1100", name="poke", block=32, grid=1)
    out = a.argument("out")
    a.emit(r.s_load_b64(r.s[4:5], r.s[0:1], out), r.v_lshlrev_b32(r.v[1], 2, r.v[0]), r.s_waitcnt(r.waits(lgkmcnt=0)))
    line = sys._getframe().f_lineno + 1
    a.emit(r.global_store_b32(r.v[1], r.v[0], r.s[4:5]))
    a.emit(r.s_endpgm())
    with pytest.raises(strata.MemoryFault, match=rf"kernel 'poke' at {re.escape(__file__)}:{line}, code offset"):
        Tensor.empty(16, dtype="int32").custom_kernel(kernel=strata.asm_kernel(a))[0].realize()
    b = Assembler("gfx1100", name="poke", block=32, grid=1)
    b.argument("out")
    b.emit_text(
        (
            "v_lshlrev_b32 v1, 2, v0\ns_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n\nglobal_store_b32 "
            "v1, v0, s[4:5]\ns_endpgm"
        ),
        file="poke.s",
    )
    with pytest.raises(strata.MemoryFault, match="kernel 'poke' at poke.s:5, code offset"):
        Tensor.empty(16, dtype="int32").custom_kernel(kernel=strata.asm_kernel(b))[0].realize()
    text = strata.asm.assemble(ADD_ONE, file="add_one.s")
    line = ADD_ONE.splitlines().index("    global_load_b32 v2, v1, s[6:7]") + 1
    with pytest.raises(strata.MemoryFault, match=f"kernel 'add_one' at add_one.s:{line}, code offset"):
        Tensor.empty(256).custom_kernel(Tensor([1.0]), kernel=strata.asm_kernel(text, grid=4, block=64))[0].realize()


@pytest.mark.amd
def test_asm_kernel_needs_launch_dimensions():
    with pytest.raises(strata.LaunchError, match="'add_one' has no grid: give grid= .* and block="):
        strata.asm_kernel(ADD_ONE)(Tensor.empty(256), Tensor.empty(256))
    with pytest.raises(strata.Error, match="add_one"):
        Tensor.empty(4).custom_kernel(Tensor([1.0]), kernel=strata.asm_kernel(ADD_ONE, name="other", grid=1, block=64))[
            0
        ].realize()
