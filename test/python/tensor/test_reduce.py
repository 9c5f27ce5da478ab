"""Reductions and scans against NumPy; float64 is the reference of float sums.

Sums of n floats carry an error of at most about n ulp of the sum of magnitudes, in practice sqrt(n). Limits are eps
times the depth of the summation times the sum of magnitudes. The depth is log2 n for a tree, n for one thread's part.
"""

import numpy as np
import pytest
import strata
from formats import ALL, FLOATS, INTEGERS, UNSIGNED, array, dtype_of, native, rounded, tensor, ulps
from hypothesis import given, strategies as st
from strata import Tensor

EPS = 2.0**-24  # half an ulp of 1 in float32
SHAPES = [(1,), (7,), (5, 7), (3, 1, 5), (13, 11), (2, 3, 4, 5, 2), (257,), (3, 129)]


def axes_of(shape):
    n = len(shape)
    return [None, 0, -1] + ([(0, n - 1), tuple(range(1, n))] if n > 1 else []) + ([(0, 2)] if n > 2 else [])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_reduction_of_every_axis(shape, rng):
    x = (rng.integers(-8, 9, shape) * 0.25).astype(np.float32)  # sums of quarters are exact
    t = Tensor(x).realize()
    cases = []
    for axis in axes_of(shape):
        for name in ("sum", "max", "min", "any", "all"):
            for keep in (False, True):
                cases.append(
                    (getattr(t, name)(axis=axis, keepdims=keep), getattr(np, name)(x, axis=axis, keepdims=keep), 0)
                )
        count = x.size if axis is None else np.prod([x.shape[a] for a in np.atleast_1d(axis)])
        for name in ("mean", "var", "std"):
            cases.append((getattr(t, name)(axis=axis), getattr(np, name)(x.astype(np.float64), axis=axis), 2e-6))
        if count > 1:
            cases.append((t.var(axis=axis, correction=1), x.astype(np.float64).var(axis=axis, ddof=1), 2e-6))
    for axis in (None, 0, -1):
        cases.append((t.argmax(axis), x.argmax(axis), 0))
        cases.append((t.argmin(axis, keepdims=True), x.argmin(axis, keepdims=True), 0))
    strata.realize([c[0] for c in cases])
    for got, expected, tolerance in cases:
        assert got.shape == np.shape(expected)
        np.testing.assert_allclose(got.numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ALL)
def test_types_of_reductions(name, rng):
    x = rng.integers(0, 2, (6, 9)) if name in ("boolean",) else rng.integers(0 if name in UNSIGNED else -3, 4, (6, 9))
    v = rounded(name, x)
    t = tensor(name, x).realize()
    total = name if name in FLOATS else "uint64" if name in UNSIGNED else "int64"
    mean = name if name in FLOATS else "float32"
    cases = [
        (t.sum(0), total, v.astype(np.float64).sum(0)),
        (t.max(1), name, v.max(1)),
        (t.min(1), name, v.min(1)),
        (t.mean(0), mean, v.astype(np.float64).mean(0)),
        (t.any(1), "boolean", v.any(1)),
        (t.all(1), "boolean", v.all(1)),
        (t.argmax(1), "int64", v.argmax(1)),
        (t.argmin(0), "int64", v.argmin(0)),
        (t.prod(1), total, v.astype(np.float64).prod(1)),
        (t.cumsum(1), total, v.astype(np.float64).cumsum(1)),
    ]
    strata.realize([c[0] for c in cases])
    for got, kind, expected in cases:
        assert got.dtype == dtype_of(kind)
        values = array(got)
        if kind in FLOATS:
            assert (ulps(kind, values, rounded(kind, expected)) <= 1).all(), (values, expected)
        else:
            np.testing.assert_array_equal(values, expected.astype(native(kind)))


def test_the_type_of_a_sum_can_be_given():
    x = np.arange(200, dtype=np.uint8)
    assert Tensor(x).sum(dtype="uint8").item() == int(x.sum(dtype=np.uint8))
    assert Tensor(x).sum(dtype="float32").item() == float(x.sum())
    assert Tensor(x).sum().item() == int(x.sum())
    assert Tensor([True, True, False]).sum().item() == 2
    assert Tensor([0.1] * 10, dtype="float16").sum(dtype="float32").dtype.name == "float32"


def test_wrapping_sums_and_products(rng):
    x = rng.integers(-(2**62), 2**62, (3, 50))
    np.testing.assert_array_equal(Tensor(x).sum(1).numpy(), x.sum(1))
    np.testing.assert_array_equal(Tensor(x).prod(1).numpy(), x.prod(1))


def test_narrow_floats_accumulate_as_float32():
    x = np.full(4096, 0.1, np.float16)
    assert Tensor(x).sum().item() == np.float16(x.astype(np.float64).sum())
    assert abs(Tensor(np.ones(60000, np.float16)).sum().item() - 60000) <= 32
    assert Tensor([1.0] * 1000, dtype="bfloat16").sum().item() == 1000


def test_empty_reductions():
    t = Tensor(np.zeros((0, 3), np.float32))
    assert t.sum().item() == 0 and t.prod().item() == 1
    assert t.sum(0).tolist() == [0, 0, 0] and t.sum(1).shape == (0,)
    assert t.any().item() is False and t.all().item() is True
    assert np.isnan(t.mean().item())
    assert t.max(1).shape == (0,)
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(strata.ShapeError, match=r"\(0, 3\)|no elements|\(0"):
            getattr(t, name)()
    assert t.cumsum(0).shape == (0, 3)


def test_nan_wins_and_infinities(rng):
    x = rng.standard_normal((4, 37)).astype(np.float32)
    x[0, 5], x[1, 7], x[2, 3] = np.nan, np.inf, -np.inf
    t = Tensor(x)
    for name in ("max", "min", "sum", "argmax", "argmin"):
        np.testing.assert_allclose(
            getattr(t, name)(1).numpy(), getattr(np, name)(x.astype(np.float64), axis=1), rtol=3e-6
        )
    for name in ("float16", "float64", "bfloat16", "fp8e5m2"):
        got = array(tensor(name, x).max(1))
        assert np.isnan(got[0]) and got[1] == np.inf
    assert Tensor([-np.inf, -np.inf]).max().item() == -np.inf
    assert Tensor([5, 5, 5]).argmax().item() == 0 and Tensor([1.0, np.nan, np.nan]).argmin().item() == 1
    assert Tensor([float("nan")]).any().item() is True


@pytest.mark.parametrize("size", [100003, 1 << 20])
def test_large_reductions_in_two_stages(size, rng):
    x = rng.standard_normal(size).astype(np.float32)
    t = Tensor(x).realize()
    y = x.astype(np.float64)
    sums, mean, spread = t.sum(), t.mean(), t.std()
    top, low, at = t.max(), t.min(), t.argmax()
    squares = (t * t).sum()
    strata.realize([sums, mean, spread, top, low, at, squares])
    depth = 64  # additions one after the other in a thread, and the tree above
    assert abs(sums.item() - y.sum()) <= depth * EPS * np.abs(y).sum()
    assert abs(mean.item() - y.mean()) <= depth * EPS * np.abs(y).mean()
    assert abs(squares.item() - (y * y).sum()) <= depth * EPS * (y * y).sum()
    assert abs(spread.item() - y.std()) <= depth * EPS * y.std()
    assert top.item() == x.max() and low.item() == x.min() and at.item() == x.argmax()
    whole = np.arange(size, dtype=np.int32)
    assert Tensor(whole).sum().item() == size * (size - 1) // 2
    assert (Tensor(whole) == size - 1).any().item() is True and (Tensor(whole) >= 0).all().item() is True


def test_large_reductions_of_one_axis(rng):
    x = rng.standard_normal((3, 40009)).astype(np.float32)
    for axis in (0, 1):
        np.testing.assert_allclose(
            Tensor(x).sum(axis).numpy(),
            x.astype(np.float64).sum(axis),
            rtol=1e-5,
            atol=64 * EPS * np.abs(x).sum(axis).max(),
        )
    np.testing.assert_array_equal(Tensor(x).max(1).numpy(), x.max(1))
    np.testing.assert_array_equal(Tensor(x.T).argmin(0).numpy(), x.T.argmin(0))


def test_reductions_of_views(rng):
    x = rng.integers(-9, 9, (6, 10)).astype(np.int32)
    t = Tensor(x)
    assert t[::2, ::-3].sum().item() == x[::2, ::-3].sum()
    np.testing.assert_array_equal(t.T.sum(0).numpy(), x.T.sum(0))
    np.testing.assert_array_equal(
        t.pad([(1, 1), (2, 0)], value=3).sum(1).numpy(), np.pad(x, [(1, 1), (2, 0)], constant_values=3).sum(1)
    )
    np.testing.assert_array_equal(t.expand(4, 6, 10).sum((0, 2)).numpy(), np.broadcast_to(x, (4, 6, 10)).sum((0, 2)))
    np.testing.assert_array_equal((t - t.max(1, keepdims=True)).sum(0).numpy(), (x - x.max(1, keepdims=True)).sum(0))
    np.testing.assert_array_equal(t.sum(0).sum().numpy(), x.sum())
    np.testing.assert_array_equal((t.sum(1).max() + t.min(0)).numpy(), x.sum(1).max() + x.min(0))


@pytest.mark.parametrize(
    "shape, axis", [((1,), 0), ((7,), 0), ((3, 5), 0), ((3, 5), 1), ((2, 3, 4), 1), ((1000,), 0), ((2, 2500), -1)]
)
def test_scans(shape, axis, rng):
    x = rng.integers(-5, 6, shape)
    np.testing.assert_array_equal(Tensor(x).cumsum(axis).numpy(), x.cumsum(axis))
    np.testing.assert_array_equal(Tensor(x).cumprod(axis).numpy(), x.cumprod(axis))
    f = (x * 0.5).astype(np.float32)
    np.testing.assert_array_equal(Tensor(f).cumsum(axis).numpy(), f.cumsum(axis, dtype=np.float64))  # halves: exact
    if len(shape) == 1:
        np.testing.assert_array_equal(Tensor(x).cumsum().numpy(), x.cumsum())


def test_bad_axes():
    t = Tensor.zeros(3, 4)
    for axis in (2, -3, (0, 0), (0, -2)):
        with pytest.raises(strata.Error, match="sum"):
            t.sum(axis)
    with pytest.raises(strata.Error, match="argmax"):
        t.argmax(5)
    with pytest.raises(strata.Error, match="cumsum"):
        t.cumsum()
    for name in INTEGERS + FLOATS:
        assert Tensor.ones((), dtype=name).sum().shape == ()


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(0, 2**31))
def test_any_shape_and_axes(shape, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-100, 100, shape)
    axes = tuple(int(a) for a in np.flatnonzero(rng.integers(0, 2, len(shape)))) or None
    np.testing.assert_array_equal(Tensor(x).sum(axes).numpy(), x.sum(axis=axes))
    np.testing.assert_array_equal(Tensor(x).max(axes, keepdims=True).numpy(), x.max(axis=axes, keepdims=True))


ODD = {
    "mean of an odd count": ((1237, 233), lambda x: x.mean(), lambda x: x.mean()),
    "argmax of narrow rows": ((10007, 3), lambda x: x.argmax(1), lambda x: x.argmax(1)),
    "var of narrow rows": ((5003, 9), lambda x: x.var(1), lambda x: x.var(1)),
    "cumsum of narrow rows": ((9001, 4), lambda x: x.cumsum(1), lambda x: x.cumsum(1)),
    "rows of 196": ((500, 196), lambda x: x.sum(1), lambda x: x.sum(1)),
    "columns of 266 rows": ((266, 1565), lambda x: x.sum(0), lambda x: x.sum(0)),
    "few long columns": ((20000, 52), lambda x: x.sum(0), lambda x: x.sum(0)),
    "argmax of few long columns": ((16384, 40), lambda x: x.argmax(0), lambda x: x.argmax(0)),
}


@pytest.mark.parametrize("name", ODD)
def test_reductions_of_sizes_that_no_block_divides(name, rng):
    shape, ours, wanted = ODD[name]
    x = rng.integers(-9, 10, shape).astype("float32")
    np.testing.assert_allclose(ours(Tensor(x)).numpy(), wanted(x.astype("float64")), rtol=1e-5, atol=1e-5)


@pytest.mark.usual_schedules
@pytest.mark.parametrize(
    "shape, reduction, kernels",
    [
        ((22724, 233), lambda x: x.mean(), 1),
        ((436715, 3), lambda x: x.argmax(1), 1),
        ((722309, 9), lambda x: x.var(1), 1),
        ((436409, 25), lambda x: x.softmax(1), 1),
        ((8192, 196), lambda x: x.sum(1), 1),
        ((15652, 266), lambda x: x.sum(0), 1),
        ((16384, 256), lambda x: x.argmax(0), 2),
        ((16384, 4096), lambda x: x.argmax(0), 2),
        ((10000, 2000), lambda x: x.logsumexp(0), 2),
        ((20000, 100), lambda x: x.var(0), 2),
    ],
)
def test_reductions_of_any_size_take_little_more_than_reading(shape, reduction, kernels):
    with strata.config(emu_model="7900xtx", emu_sampled=True, device="emu:gfx1100", target="asm"):
        x = Tensor.empty(*shape).realize()
        y = reduction(x)
        strata.reset_stats()
        y.realize()
        assert strata.stats().kernels == kernels
        launch_ms = 0.0025
        assert strata.stats().time_ms < 1.3 * ((x.nbytes + y.nbytes) / 960e6 + kernels * launch_ms)
