"""scaled_mm of numbers of 8 bits and grouped_mm of rows, against NumPy: integers exact, padding never read."""

import numpy as np
import pytest
import strata
from by_numpy import ARCHS, check_slopes, close, exact, kernels, of, strict, wide
from strata import Tensor
from strata.nn import functional as F

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("quick_target")]


def grids(rng, recipe, m, n, k):
    """The scales of a and b, and the float64 numbers that they stand for, over all elements."""
    if recipe == "e8m0":
        found = [rng.integers(120, 128, s).astype(np.uint8) for s in ((m, -(-k // 32)), (-(-k // 32), n))]
        values = [2.0 ** (s - 127.0) for s in found]
        values = [values[0].repeat(32, 1)[:, :k], values[1].repeat(32, 0)[:k]]
        return [Tensor(s).realize() for s in found], values
    shapes = {"one": ((1,), (1,)), "rows": ((m, 1), (1, n)), "mixed": ((m, 1), (1,)),
              "blocks": ((m, -(-k // 128)), (-(-k // 128), -(-n // 128)))}[recipe]  # fmt: skip
    found = [of(rng.uniform(0.01, 0.1, s)) for s in shapes]
    if recipe == "blocks":
        a, b = (wide(s) for s in found)
        return found, [a.repeat(128, 1)[:, :k], b.repeat(128, 0)[:k].repeat(128, 1)[:, :n]]
    return found, [np.broadcast_to(wide(s), t) for s, t in zip(found, ((m, k), (k, n)))]


# Card, shape (m, n, k), types, recipe, type of the result, kernels.
CASES = [
    ("gfx1100", (33, 65, 130), ("int8", "int8"), "rows", "bfloat16", 1),
    ("gfx1201", (16, 130, 300), ("fp8e4m3", "fp8e5m2"), "blocks", "bfloat16", 1),
    ("gfx942", (17, 33, 64), ("fp8e4m3fnuz", "fp8e4m3fnuz"), "one", "float32", 1),
    ("gfx90a", (7, 15, 96), ("fp8e4m3", "fp8e4m3"), "e8m0", "float16", 3),
    ("gfx1100", (5, 9, 31), ("fp8e5m2fnuz", "fp8e4m3"), "mixed", "float32", 1),
    ("gfx942", (4, 8, 256), ("int8", "int8"), "blocks", "float32", 1),
]


@pytest.mark.parametrize("arch, shape, dtypes, recipe, out, count", CASES)
def test_the_shapes_of_the_scales_say_the_recipe(arch, shape, dtypes, recipe, out, count, rng):
    m, n, k = shape
    with strict(arch):
        a, b = (of(np.rint(rng.standard_normal(s) * 30), t) for s, t in zip(((m, k), (k, n)), dtypes))
        scales, values = grids(rng, recipe, m, n, k)
        bias = of(rng.standard_normal(n))
        y = F.scaled_mm(a, b, *scales, bias=bias, out_dtype=out)
        assert kernels(y) <= count
        close(y, (wide(a) * values[0]) @ (wide(b) * values[1]) + wide(bias), out)


@pytest.mark.parametrize("arch", ARCHS)
def test_integers_are_multiplied_exactly(arch, rng):
    with strict(arch):
        a, b, one = of(np.full((2, 2049), 127), "int8"), of(np.full((2049, 3), 127), "int8"), of([1.0])
        exact(F.scaled_mm(a, b, one, one, out_dtype="float32"), np.full((2, 3), np.float32(127 * 127 * 2049)))


MATRIX = [
    ("gfx1100", "int8", "v_wmma_i32_16x16x16_iu8"),
    ("gfx1201", "fp8e4m3", "v_wmma_f32_16x16x16_fp8_fp8"),
    ("gfx942", "fp8e4m3fnuz", "v_mfma_f32_16x16x32_fp8_fp8"),
    ("gfx90a", "int8", "v_mfma_i32_16x16x16i8"),
    ("gfx1100", "fp8e4m3", "v_wmma_f32_16x16x16_bf16"),  # has no 8-bit floats: they become bfloat16
    ("gfx942", "fp8e4m3", "v_mfma_f32_"),  # has others
    ("gfx90a", "fp8e5m2", "v_mfma_f32_"),
]


@pytest.mark.amd
@pytest.mark.usual_schedules
@pytest.mark.parametrize("arch, dtype, mnemonic", MATRIX)
def test_products_by_rows_use_matrix_instructions(arch, dtype, mnemonic):
    a, b = Tensor.empty(512, 512, dtype=dtype), Tensor.empty(512, 512, dtype=dtype)
    y = F.scaled_mm(a, b, Tensor.empty(512, 1), Tensor.empty(1, 512))
    *others, kernel = strata.compile(y, arch=arch, target="asm").kernels
    assert mnemonic in kernel.assembly and len(others) <= 2


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", ["fp8e4m3", "fp8e5m2", "fp8e4m3fnuz", "fp8e5m2fnuz"])
def test_products_give_back_all_numbers_of_8_bits(arch, dtype):
    """Each row of a has one number, and each column of b is 1 in one place. RDNA3's instructions round sums down."""
    with strict(arch):
        every = Tensor(np.arange(256, dtype=np.uint8)).bitcast(dtype)
        numbers = every.isfinite().where(every.cast("float32"), 0)
        a = (Tensor.eye(256) * numbers.unsqueeze(1)).cast(dtype).realize()
        b = Tensor.eye(256).cast(dtype).realize()
        one = of([1.0])
        got = F.scaled_mm(a, b, one, one, out_dtype="float32")
        np.testing.assert_allclose(wide(got), np.diag(wide(numbers)), rtol=2.0**-22 if arch == "gfx1100" else 0)


def test_a_scale_of_255_is_nan_in_its_block_alone(rng):
    a, b = of(np.ones((2, 64)), "fp8e4m3"), of(np.ones((64, 2)), "fp8e4m3")
    scale = np.full((2, 2), 127, np.uint8)
    bad = scale.copy()
    bad[1, 0] = 255
    got = wide(F.scaled_mm(a, b, Tensor(bad), Tensor(scale)))
    assert np.isnan(got[1]).all() and (got[0] == 64).all()


def test_slopes_of_scales_and_bias_are_those_of_numpy(rng):
    a, b = of(rng.integers(-9, 9, (3, 8)), "fp8e4m3"), of(rng.integers(-9, 9, (8, 2)), "fp8e4m3")

    def f(sa, sb, bias):
        return F.scaled_mm(a, b, sa, sb, bias=bias, out_dtype="float32")

    def reference(sa, sb, bias):
        return (wide(a) * sa) @ (wide(b) * sb) + bias

    check_slopes(f, reference, [rng.uniform(0.1, 1, s) for s in ((3, 1), (1, 2), (2,))])


def by_groups(a, b, ends, bias=None):
    out = np.zeros((len(a), b.shape[-1]))
    for g, (start, end) in enumerate(zip([0, *ends], ends)):
        out[start:end] = a[start:end] @ b[g] + (0 if bias is None else bias[g])
    return out


@pytest.mark.parametrize("arch, ends, dtype, out", [
    ("gfx1100", [3, 3, 10], "bfloat16", None), ("gfx1201", [0, 1, 1, 5], "float16", "float32"),
    ("gfx942", [17], "float32", None), ("gfx90a", [4, 9], "bfloat16", "float32")])  # fmt: skip
def test_rows_are_multiplied_by_the_matrix_of_their_group(arch, ends, dtype, out, rng):
    t, k, n = ends[-1] + 2, 33, 17
    a, b = rng.standard_normal((t, k)), rng.standard_normal((len(ends), k, n))
    a[ends[-1] :] = np.nan  # of no group
    with strict(arch):
        a, b, bias = of(a, dtype), of(b, dtype), of(rng.standard_normal((len(ends), n)))
        offs = Tensor(np.array(ends, np.int32)).realize()
        y = F.grouped_mm(a, b, offs, bias=bias, out_dtype=out)
        close(y, by_groups(wide(a), wide(b), ends, wide(bias)), out or dtype)
        close(F.grouped_mm(a, b, offs=offs), by_groups(wide(a), wide(b), ends), dtype)


def test_columns_behind_the_last_group_are_0(rng):
    a, b = rng.standard_normal((2, 3, 4)), rng.standard_normal((4, 7))
    got = F.grouped_mm(of(a), of(b), Tensor([2, 5]))
    close(got, np.concatenate([a[0] @ b[:, :2], a[1] @ b[:, 2:5], np.zeros((3, 2))], 1))


def test_slopes_of_groups_are_those_of_numpy(rng):
    def f(a, b, bias):
        return F.grouped_mm(a, b, Tensor([2, 2, 4]), bias=bias)

    arrays = [rng.standard_normal(s) for s in ((5, 3), (3, 3, 2), (3, 2))]
    check_slopes(f, lambda a, b, bias: by_groups(a, b, [2, 2, 4], bias), arrays)


A8, B8, ONE = Tensor.ones(2, 64, dtype="int8"), Tensor.ones(64, 3, dtype="int8"), Tensor.ones(1)
A, B = Tensor.ones(4, 3), Tensor.ones(2, 3, 5)
ERRORS = [
    (lambda: F.scaled_mm(A8, A8, ONE, ONE), strata.ShapeError, "[scaled_mm] a (2, 64), b (2, 64): (m, k) and (k, n)"),
    (lambda: F.scaled_mm(A8, B8.cast("fp8e4m3"), ONE, ONE), strata.DTypeError,
     "[scaled_mm] a is of int8, b of fp8e4m3: both int8, or floats of 8 bits"),
    (lambda: F.scaled_mm(A8.cast("float16"), B8.cast("float16"), ONE, ONE), strata.DTypeError,
     "[scaled_mm] a is of float16, b of float16: both int8, or floats of 8 bits"),
    (lambda: F.scaled_mm(A8, B8, Tensor.ones(2), ONE), strata.ShapeError,
     "[scaled_mm] a (2, 64), b (64, 3), scale_a (2,) of float32, scale_b (1,) of float32: scales are (1,), (m, 1) and "
     "(1, n), (m, k / 128) and (k / 128, n / 128), or uint8 (m, k / 32) and (k / 32, n)"),
    (lambda: F.scaled_mm(A8, B8, ONE, ONE, bias=Tensor.ones(2)), strata.ShapeError,
     "[scaled_mm] bias (2,): it is (3,)"),
    (lambda: F.grouped_mm(A, B, Tensor([3, 2])), strata.UsageError,
     "[grouped_mm] offs has 2 after 3: they do not fall, and 4 is the most"),
    (lambda: F.grouped_mm(A, B, Tensor([3, 9])), strata.UsageError, "[grouped_mm] offs has 9 after 3"),
    (lambda: F.grouped_mm(A, B, Tensor([-1, 2])), strata.UsageError, "[grouped_mm] offs has -1 after 0"),
    (lambda: F.grouped_mm(A, B, Tensor([4])), strata.ShapeError,
     "[grouped_mm] 1 offs for shapes (4, 3) and (2, 3, 5): one a group"),
    (lambda: F.grouped_mm(A, B, ONE), strata.ShapeError,
     "[grouped_mm] offs (1,) of float32: integers (groups,), where each ends"),
    (lambda: F.grouped_mm(A, B, Tensor([1, 4]), bias=Tensor.ones(5)), strata.ShapeError,
     "[grouped_mm] bias (5,) for 2 groups of rows: (groups, 5)"),
    (lambda: F.grouped_mm(A, B), strata.ShapeError,
     "[grouped_mm] shapes (4, 3) and (2, 3, 5): matrices or stacks of them, with offs (groups,) unless both are "
     "stacks"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", ERRORS)
def test_what_does_not_fit_is_refused_by_name(call, kind, text):
    with pytest.raises(kind) as e:
        call()
    assert text in str(e.value)
