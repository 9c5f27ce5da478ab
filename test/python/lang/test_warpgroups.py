"""Products of four waves with operands in local memory: each row in the interpreter, and by NVIDIA's compiler."""

import numpy as np
import pytest
import strata
from strata import Tensor, lang, layout as lo
from test_matrix_rows import of_rows

ROW = ("float16", (64, 64, 16))


@strata.kernel(grid=1, block=128)
def multiply(c: lang.Tensor, a: lang.Tensor, b: lang.Tensor, mnk, groups, tile_k):  # c = a @ b.T
    mma = lang.make_tiled_mma(lang.MmaAtom(a.dtype, shape=mnk), groups)
    thread = mma.get_slice(lang.thread_idx.x)
    k = tile_k[0]
    sa, sb = (lang.shared(lang.warpgroup_layout((rows, k)), a.dtype) for rows in c.shape)
    ga, gb = (lo.local_tile(x, (x.shape[0], k), (0, None)) for x in (a, b))
    sums = thread.make_fragment_C(c)
    sums.fill(0)
    for step in lang.range(a.shape[1] // k):
        lang.copy_tile(ga[None, None, step], sa)
        lang.copy_tile(gb[None, None, step], sb)
        lang.barrier()
        lang.gemm(mma, sums, thread.load_A(sa), thread.load_B(sb), sums)
        lang.barrier()
    thread.store_C(sums, c)


def checked(rng, m, n, k, dtype, mnk, groups, tile_k):
    """Small integers, whose products and sums are exact."""
    a, b = (rng.integers(-3, 4, (rows, k)).astype("float32") for rows in (m, n))
    given = [Tensor(x).cast(dtype).realize() for x in (a, b)]
    block = 128 * groups[0] * groups[1]
    (got,) = multiply.interpret(Tensor.zeros(m, n), *given, mnk, groups, (tile_k,), block=block, arch="sm_90")
    np.testing.assert_array_equal(got.numpy(), a @ b.T)


@of_rows("WGMMA")
def test_the_interpreter_multiplies_by_every_row(rng, chip, name, mnk, operand, acc):
    shape = (64, *mnk[1:])
    row = lang.MmaAtom(operand, acc, shape, arch=chip)
    assert (row.name, row.shape_mnk, row.threads) == (name, shape, 128)
    checked(rng, 64, mnk[1], 128, operand, shape, (1, 1), 64)


@pytest.mark.parametrize(
    "m, n, k, groups, tile_k",
    [(128, 64, 64, (2, 1), 64), (64, 128, 128, (1, 2), 128), (256, 128, 64, (2, 1), 64), (128, 128, 64, (2, 2), 64)],
)
def test_groups_share_rows_and_columns_and_take_several_atoms(rng, m, n, k, groups, tile_k):
    checked(rng, m, n, k, *ROW, groups, tile_k)


@strata.kernel(grid=1, block=128)
def multiply_by_stages(c: lang.Tensor, a: lang.Tensor, b: lang.Tensor):
    mma = lang.make_tiled_mma(lang.MmaAtom(a.dtype, shape=(64, 64, 16)), (1, 1))
    thread = mma.get_slice(lang.thread_idx.x)
    sa, sb = (lang.shared(lang.warpgroup_layout((64, 64)), a.dtype) for _ in range(2))
    ga, gb = (lo.local_tile(x, (64, 64), (0, None)) for x in (a, b))
    sums = thread.make_fragment_C(c)
    sums.fill(0)
    for step in lang.range(a.shape[1] // 64, stages=2):
        lang.copy_tile(ga[None, None, step], sa)
        lang.copy_tile(gb[None, None, step], sb)
        lang.barrier()
        lang.gemm(mma, sums, thread.load_A(sa), thread.load_B(sb), sums)
    thread.store_C(sums, c)


def test_copies_come_ahead_of_the_products(rng):
    a, b = (rng.integers(-3, 4, (64, 512)).astype("float32") for _ in range(2))
    given = [Tensor(x).cast("bfloat16").realize() for x in (a, b)]
    (got,) = multiply_by_stages.interpret(Tensor.zeros(64, 64), *given, arch="sm_90")
    np.testing.assert_array_equal(got.numpy(), a @ b.T)


@of_rows("WGMMA")
def test_nvidia_s_compiler_takes_every_row(chip, name, mnk, operand, acc):
    n, shape = mnk[1], (64, *mnk[1:])
    specs = [lang.TensorSpec((64, n)), lang.TensorSpec((64, 128), operand), lang.TensorSpec((n, 128), operand)]
    with strata.config(target="hip"):
        try:
            made = strata.compile(multiply, *specs, shape, (1, 1), (64,), block=128, arch=chip)
        except strata.DeviceError as missing:
            pytest.skip(str(missing))
    assert f"{name}<4, 1, 64, 1, {n}>(" in made.source and "strata_products_end<0>(" in made.source


def test_the_layout_is_that_of_swizzled_rows_of_128_bytes():
    layout = lang.warpgroup_layout((16, 128))
    for row in range(16):
        for x in range(128):
            chunk = (x % 64 // 8) ^ (row % 8)
            assert layout(row, x) == x // 64 * 16 * 64 + row * 64 + chunk * 8 + x % 8
    with pytest.raises(lo.LayoutError, match="a tile of 12 rows of 64 elements: warpgroups take multiples of 8 and 64"):
        lang.warpgroup_layout((12, 64))


def traced(body):
    @strata.kernel(grid=1, block=128)
    def kernel(c: lang.Tensor, a: lang.Tensor):
        mma = lang.make_tiled_mma(lang.MmaAtom("float16", shape=(64, 64, 16)), (1, 1))
        thread = mma.get_slice(lang.thread_idx.x)
        body(mma, thread, c, a)

    kernel.graph(lang.TensorSpec((64, 64)), lang.TensorSpec((64, 64), "float16"), arch="sm_90")


def rows(layout=None):
    return lang.shared(lang.warpgroup_layout((64, 64)) if layout is None else layout, "float16")


def in_a_branch(mma, thread, c, a):
    sums = thread.make_fragment_C(c)
    if lang.thread_idx.x < 64:
        lang.gemm(mma, sums, thread.load_A(rows()), thread.load_B(rows()), sums)


@pytest.mark.parametrize(
    "body, error, words",
    [
        (lambda mma, thread, c, a: thread.load_A(a), lo.LayoutError, "reads A in local memory, .*: copy it to lang"),
        (
            lambda mma, thread, c, a: thread.load_B(rows(lo.Layout((64, 64), (64, 1)))),
            lo.LayoutError,
            r"reads B by the layout S<3,3,3> o 0 o .*, which lang.warpgroup_layout\(\(64, 64\)\) is",
        ),
        (
            lambda mma, thread, c, a: thread.load_A(rows(lang.warpgroup_layout((32, 64)))),
            lo.LayoutError,
            "A has 32 rows, no multiple of the 64 of 1 groups of waves",
        ),
        (
            lambda mma, thread, c, a: lang.gemm(
                mma,
                thread.make_fragment_C(c),
                thread.make_fragment_A(a),
                thread.load_B(rows()),
                thread.make_fragment_C(c),
            ),
            strata.ShapeError,
            "takes tiles of local memory, .*: load_A and load_B",
        ),
        (in_a_branch, strata.UsageError, "in a branch: four waves multiply together, so write it before or after"),
        (
            lambda mma, thread, c, a: thread.reduce(thread.make_fragment_C(c), "add", 0),
            strata.UsageError,
            "each wave of a warpgroup has rows of its own",
        ),
    ],
)
def test_tiles_that_a_warpgroup_does_not_read_are_refused(body, error, words):
    with pytest.raises(error, match=words):
        traced(body)


def test_columns_of_the_sums_are_reduced(rng):
    @strata.kernel(grid=1, block=128)
    def totals(out: lang.Tensor, c: lang.Tensor):
        mma = lang.make_tiled_mma(lang.MmaAtom("float16", shape=(64, 64, 16)), (1, 1))
        thread = mma.get_slice(lang.thread_idx.x)
        held = thread.make_fragment_C(c)
        lang.autovec_copy(thread.partition_C(c), held)
        thread.store_C(held * 0 + thread.reduce(held, "add", 1), out)

    c = rng.integers(0, 9, (64, 64)).astype("float32")
    (got,) = totals.interpret(Tensor.zeros(64, 64), Tensor(c), arch="sm_90")
    np.testing.assert_array_equal(got.numpy(), np.repeat(c.sum(1, keepdims=True), 64, 1))
