"""Matrix products against NumPy."""

import numpy as np
import pytest
import strata
from formats import FLOATS, INTEGERS, array, dtype_of, native, rounded, tensor, ulps
from hypothesis import given, settings, strategies as st
from strata import Tensor

SHAPES = [
    ((3,), (3,)),
    ((1, 1), (1, 1)),
    ((5, 7), (7, 3)),
    ((13, 17), (17, 11)),
    ((4,), (4, 3)),
    ((3, 4), (4,)),
    ((2, 5, 4), (4, 3)),
    ((5, 4), (2, 4, 3)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((0, 4), (4, 3)),
    ((3, 0), (0, 4)),
    ((3, 4), (4, 0)),
    ((2, 1, 3, 2, 5), (1, 4, 1, 5, 3)),
    ((33, 65), (65, 31)),
    ((64, 64), (64, 64)),
    ((1, 300), (300, 1)),
    ((4,), (2, 4, 3)),
    ((2, 3, 4), (4,)),
]


@pytest.mark.parametrize("a, b", SHAPES, ids=str)
def test_shapes(a, b, rng):
    x, y = (rng.integers(-8, 9, s).astype(np.float32) for s in (a, b))  # small integers: products and sums are exact
    got, expected = Tensor(x) @ Tensor(y), x @ y
    assert got.shape == np.shape(expected)
    np.testing.assert_array_equal(got.numpy(), expected)


@pytest.mark.parametrize("name", INTEGERS + FLOATS)
def test_types(name, rng):
    x, y = rounded(name, rng.integers(0, 4, (9, 13))), rounded(name, rng.integers(0, 4, (13, 6)))
    got = tensor(name, x) @ tensor(name, y)
    expected = x.astype(np.float64) @ y.astype(np.float64)
    assert got.dtype == dtype_of(name)
    if name in INTEGERS:
        np.testing.assert_array_equal(got.numpy(), expected.astype(native(name)))
    else:
        assert (ulps(name, array(got), rounded(name, expected)) == 0).all()  # the sum fits float32 exactly


@pytest.mark.parametrize("name", ["int8", "uint8"])
@pytest.mark.parametrize("rows, inner, columns", [(8, 8, 1), (8, 12, 1), (4, 16, 2), (1, 64, 1), (16, 24, 3)])
def test_products_of_bytes_wrap_as_bytes(name, rows, inner, columns, rng):
    """Four at a time in a loop: clang 19 crashes where it makes the whole sum one of bytes."""
    x, y = (rng.integers(0, 256, s).astype(np.uint8).astype(name) for s in ((rows, inner), (inner, columns)))
    np.testing.assert_array_equal((Tensor(x) @ Tensor(y)).numpy(), x @ y)


@pytest.mark.parametrize(
    "name, eps", [("float16", 2.0**-11), ("bfloat16", 2.0**-8), ("float32", 2.0**-24), ("float64", 2.0**-53)]
)
def test_random_values(name, eps, rng):
    x, y = rounded(name, rng.standard_normal((45, 70))), rounded(name, rng.standard_normal((70, 37)))
    got = array(tensor(name, x) @ tensor(name, y)).astype(np.float64)
    wide = np.longdouble if name == "float64" else np.float64
    expected, magnitude = x.astype(wide) @ y.astype(wide), np.abs(x.astype(wide)) @ np.abs(y.astype(wide))
    accumulate = 2.0**-53 if name == "float64" else 2.0**-24
    assert (np.abs(got - expected) <= 70 * accumulate * magnitude + eps * np.abs(expected)).all()


def test_narrow_floats_accumulate_as_float32():
    x = np.full((2, 3000), 0.1, np.float16)
    expected = np.float16(x.astype(np.float64) @ x.T.astype(np.float64))
    assert (ulps("float16", (Tensor(x) @ Tensor(x.T)).numpy(), expected) <= 1).all()


def test_mixed_types_and_views(rng):
    x, y = rng.integers(-9, 9, (6, 10)), rng.integers(-9, 9, (7, 10)).astype(np.float32)
    got = Tensor(x) @ Tensor(y).T
    assert got.dtype.name == "float32"
    np.testing.assert_array_equal(got.numpy(), (x @ y.T).astype(np.float32))
    np.testing.assert_array_equal(
        (Tensor(x)[::2, ::-1] @ Tensor(y)[1:4].T).numpy(), (x[::2, ::-1] @ y[1:4].T).astype(np.float32)
    )
    np.testing.assert_array_equal((Tensor(x).T @ x).numpy(), x.T @ x)
    np.testing.assert_array_equal((x.T @ Tensor(x)).numpy(), x.T @ x)
    np.testing.assert_array_equal(((Tensor(x) + 1) @ (Tensor(x.T) * 2) + 3).numpy(), (x + 1) @ (x.T * 2) + 3)


def test_a_chain_of_products(rng):
    x, y, z = (rng.integers(-3, 4, (16, 16)).astype(np.float32) for _ in range(3))
    np.testing.assert_array_equal((Tensor(x) @ Tensor(y) @ Tensor(z)).numpy(), x @ y @ z)


def test_wrong_shapes_are_named():
    with pytest.raises(strata.ShapeError) as e:
        Tensor.zeros(3, 4) @ Tensor.zeros(5, 6)
    assert "(3, 4)" in str(e.value) and "(5, 6)" in str(e.value) and "[matmul]" in str(e.value)
    with pytest.raises(strata.ShapeError):
        Tensor.zeros(2, 3, 4) @ Tensor.zeros(3, 4, 5)
    with pytest.raises(strata.ShapeError):
        Tensor(1.0).matmul(Tensor([1.0]))
    with pytest.raises(TypeError):
        Tensor.zeros(3, 3) @ 2
    assert Tensor(2.0).dot(Tensor([3.0])).tolist() == [6.0]


@settings(max_examples=20)
@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20), st.integers(0, 1000))
def test_any_sizes(n, k, m, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(-99, 99, (n, k)), rng.integers(-99, 99, (k, m))
    np.testing.assert_array_equal((Tensor(x) @ Tensor(y)).numpy(), x @ y)


@pytest.mark.parametrize("name", ["float32", "int32"])
def test_rows_are_lanes_and_columns_are_scalars(name, rng):
    x, y = rng.integers(-9, 10, (1024, 512)).astype(name), rng.integers(-9, 10, (512, 512)).astype(name)
    np.testing.assert_array_equal((Tensor(x) @ Tensor(y)).numpy(), x @ y)


@pytest.mark.usual_schedules
@pytest.mark.parametrize(
    "shape, name, tflops",
    [
        ((1024, 1024, 1024), "float32", 42),
        ((1024, 1536, 1024), "float32", 41),
        ((1536, 1024, 1024), "float32", 41),
        ((1536, 1536, 1024), "float32", 47),
        ((1024, 1024, 1024), "float16", 85),
    ],
)
def test_products_are_fast_without_a_search(shape, name, tflops):
    m, n, k = shape
    with strata.config(emu_model="7900xtx", emu_sampled=True, device="emu:gfx1100"):
        x, y = Tensor.empty(m, k, dtype=name).realize(), Tensor.empty(k, n, dtype=name).realize()
        strata.reset_stats()
        (x @ y).realize()
        stats = strata.stats()
    assert stats.kernels == 1
    assert 2 * m * n * k / stats.time_ms * 1e-9 >= tflops


@pytest.mark.emulated
@pytest.mark.usual_schedules
@pytest.mark.parametrize("dtype, times, rtol", [("float32", 9, 2e-6), ("float16", 3, 1e-3)])
def test_a_long_inner_dimension_is_shared_by_blocks(dtype, times, rtol, rng):
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((64, 65536), (65536, 64)))

    def product():
        left, right = Tensor(a).realize(), Tensor(b).realize()
        strata.reset_stats()
        return (
            (left @ right).relu().numpy(),
            strata.stats().kernels,
            sum(launch.time_ms for launch in strata.stats().launches),
        )

    with strata.config(fusion="more"):
        _, kernels, whole_ms = product()
    assert kernels == 1
    got, kernels, ms = product()
    assert kernels == 2 and ms * times <= whole_ms
    exact = np.maximum(a.astype(np.float64) @ b.astype(np.float64), 0)
    np.testing.assert_allclose(got, exact, rtol=rtol, atol=rtol * 256)


@pytest.mark.parametrize("shape", [(64, 1536, 48), (32, 4096, 512), (17, 32769 * 2, 19)])
def test_products_in_parts_take_what_comes_before_and_after(shape, rng):
    m, k, n = shape
    a, b, bias = (rng.integers(-3, 4, s).astype(np.float32) for s in ((m, k), (k, n), (n,)))
    for fusion in ("cost", "more", "less"):
        with strata.config(fusion=fusion):
            got = ((Tensor(a) * 2) @ Tensor(b) + Tensor(bias)).numpy()
        np.testing.assert_array_equal(got, 2 * a @ b + bias)


FEW_ROWS = {"x @ w": lambda x, w: x @ w, "x @ w.T": lambda x, w: x @ w.T, "w @ x.T": lambda x, w: w @ x.T}


@pytest.mark.parametrize("product", FEW_ROWS)
@pytest.mark.parametrize("rows", [2, 5, 8, 11, 16, 17, 24, 31])
def test_products_of_a_few_rows(rows, product, rng):
    x, w = rng.integers(-9, 10, (rows, 320)).astype("float32"), rng.integers(-9, 10, (320, 320)).astype("float32")
    np.testing.assert_array_equal(FEW_ROWS[product](Tensor(x), Tensor(w)).numpy(), FEW_ROWS[product](x, w))


@pytest.mark.usual_schedules
@pytest.mark.parametrize("name", ["float32", "float16"])
@pytest.mark.parametrize("rows", [2, 7, 8, 16])
def test_products_of_a_few_rows_take_as_long_as_reading_the_matrix(rows, name):
    n = 4096
    with strata.config(emu_model="7900xtx", emu_sampled=True, device="emu:gfx1100"):
        x, w = Tensor.empty(rows, n, dtype=name).realize(), Tensor.empty(n, n, dtype=name).realize()
        for product in FEW_ROWS.values():
            strata.reset_stats()
            product(x, w).realize()
            assert strata.stats().time_ms < 1.25 * w.nbytes / 960e6
