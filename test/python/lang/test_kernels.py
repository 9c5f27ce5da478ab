"""Kernels that are Python functions: calls, arguments, specialisations."""

import numpy as np
import pytest
import strata
from strata import Tensor, dtypes, lang
from tested import TARGETS, specialisations

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]


@strata.kernel(grid=lambda out, a, b, n: lang.cdiv(n, 64), block=64)
def add(out: lang.Tensor, a: lang.Tensor, b: lang.Tensor, n):
    i = lang.block_idx.x * 64 + lang.thread_idx.x
    if i < n:
        out[i] = a[i] + b[i]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_a_vector_sum_in_strict_mode(arch, target):
    n = 200
    a, b = (np.random.default_rng(s).standard_normal(n).astype("float32") for s in (1, 2))
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        (out,) = add(Tensor.zeros(n), Tensor(a), Tensor(b), n)
        assert np.array_equal(out.numpy(), a + b)


@pytest.mark.parametrize("arch", ARCHS)
def test_rows_are_added_up_by_a_tree_in_local_memory(arch):
    @strata.kernel(grid=lambda out, x: x.shape[0], block=64)
    def sums(out, x):
        row, i = lang.block_idx.x, lang.thread_idx.x
        partial = lang.shared(64, "float32")
        total = 0.0
        for column in lang.range(i, x.shape[1], 64):
            total += x[row, column]
        partial[i] = total
        lang.barrier()
        for half in (32, 16, 8, 4, 2, 1):
            if i < half:
                partial[i] = partial[i] + partial[i + half]
            lang.barrier()
        if i == 0:
            out[row] = partial[0]

    x = np.arange(3 * 150, dtype="float32").reshape(3, 150) % 11
    with strata.config(device=f"emu:{arch}", check="raise"):
        (out,) = sums(Tensor.zeros(3), Tensor(x))
        assert np.array_equal(out.numpy(), x.sum(1))


def test_another_number_or_grid_compiles_nothing():
    add(Tensor.zeros(10), Tensor.ones(10), Tensor.ones(10), 10)
    before = specialisations(add)
    out = Tensor.zeros(10)
    add(out, Tensor.ones(10), Tensor.ones(10), 4, grid=3)
    assert out.numpy().tolist() == [2] * 4 + [0] * 6
    assert specialisations(add) == before


def test_numbers_have_the_type_that_they_need():
    @strata.kernel(grid=1, block=1)
    def f(out, x, y: dtypes.int64, z):
        out[0] = x + y
        out[1] = x // 3 + y % 5
        out[2] = z

    for x, y, z in ((7, 2**40, 1), (-7, -3, np.uint8(250)), (2**41, 5, np.int16(-9))):
        (out,) = f(Tensor.zeros(3, dtype="int64"), x, y, z)
        assert out.numpy().tolist() == [x + y, x // 3 + y % 5, int(z)]


def test_constants_are_compiled_in():
    @strata.kernel(grid=1, block=8)
    def f(out, what, scale: lang.Constexpr, shift=None):
        i = lang.thread_idx.x
        value = i * scale
        if what == "twice":
            value = value * 2
        if shift is not None:
            value += shift[0]
        out[i] = value

    assert f(Tensor.zeros(8), "once", 3)[0].numpy().tolist() == [3 * i for i in range(8)]
    assert f(Tensor.zeros(8), "twice", 2, shift=(1,))[0].numpy().tolist() == [4 * i + 1 for i in range(8)]


def test_a_custom_kernel_is_lazy_and_leaves_its_arguments_alone():
    zeros, a = Tensor.zeros(10), Tensor(np.arange(10, dtype="float32"))
    out, *_ = zeros.custom_kernel(a + 1, a, 10, kernel=add)
    assert (out * 2).numpy().tolist() == [2 * (2 * i + 1) for i in range(10)]
    assert zeros.numpy().tolist() == [0] * 10


def test_jit_captures_a_kernel():
    @strata.jit
    def step(x):
        (out,) = add(Tensor.zeros(10), x, x, 10)
        return out + 1

    for scale in (1, 2, 3, 4):
        x = Tensor(np.arange(10, dtype="float32") * scale)
        assert step(x).numpy().tolist() == [2 * i * scale + 1 for i in range(10)]


def test_dimensions_of_blocks_and_grids():
    @strata.kernel(grid=(2, 3), block=(4, 2, 2))
    def f(out):
        x, y, z = lang.thread_idx.x, lang.thread_idx.y, lang.thread_idx.z
        block = lang.block_idx.y * 2 + lang.block_idx.x
        out[block, lang.thread()] = x + 10 * y + 100 * z + 1000 * block + 100000 * lang.block_dim.y

    (out,) = f(Tensor.zeros(6, 16, dtype="int32"))
    want = [
        [x + 10 * y + 100 * z + 1000 * b + 200000 for z in (0, 1) for y in (0, 1) for x in range(4)] for b in range(6)
    ]
    assert out.numpy().tolist() == want


def test_a_block_counts_where_no_index_of_its_threads_is_used():
    @strata.kernel(grid=1, block=64)
    def f(out):
        out[lang.block_idx.x] = 3.0

    assert tuple(lang_block(f.compiled(Tensor.zeros(1)))) == (64, 1, 1)


def lang_block(kernel):
    return strata.compile(kernel, arch="gfx1100").kernels[0].block


def test_wrong_launches_say_what_to_give():
    x = Tensor.zeros(4)

    @strata.kernel
    def f(out):
        out[lang.thread_idx.x] = 1.0

    with pytest.raises(strata.LaunchError, match="no grid: give grid="):
        f(x, block=4)
    with pytest.raises(strata.LaunchError, match="every dimension"):
        f(x, grid=0, block=4)
    with pytest.raises(strata.LaunchError, match="1 to 3 dimensions"):
        f(x, grid=(1, 1, 1, 1), block=4)
    with pytest.raises(strata.UsageError, match="the parameter out got a list"):
        f([1], grid=1, block=1)
    with pytest.raises(TypeError, match="missing a required argument: 'out'"):
        f(grid=1, block=1)
    assert f(x, grid=1, block=4)[0].numpy().tolist() == [1] * 4
