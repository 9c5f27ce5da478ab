"""Quantisation to 8 bits: the nearest numbers of the type, by scales of rows, tensors, groups and blocks."""

import numpy as np
import pytest
import strata
from by_numpy import ARCHS, exact, kernels, of, strict, wide
from formats import finite_magnitudes, values_of
from strata import Tensor, kernels as K

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("quick_target")]

LARGEST = {"int8": 127, "fp8e4m3": 448, "fp8e5m2": 57344, "fp8e4m3fnuz": 240, "fp8e5m2fnuz": 57344}
NORMAL = 2.0**-126


def numbers_of(dtype):
    """All finite numbers of a type, in order."""
    if dtype == "int8":
        return np.arange(-128.0, 128.0)
    return np.unique(np.concatenate([finite_magnitudes(dtype), -finite_magnitudes(dtype)]))


def is_nearest(q, x, scale, dtype):
    """Each q is as near to x / scale as any number of the type, within a rounding of float32."""
    want, numbers, got = x / scale, numbers_of(dtype), wide(q)
    assert q.dtype.name == dtype
    right = np.searchsorted(numbers, want).clip(1, len(numbers) - 1)
    best = np.minimum(abs(numbers[right] - want), abs(numbers[right - 1] - want))
    assert (abs(got - want) <= best + 2.0**-22 * abs(want)).all()


def scales(x, dtype, axes):
    return np.maximum(abs(x).max(axes, keepdims=True) / LARGEST[dtype], NORMAL)


def same_scale(scale, want):
    assert scale.dtype == "float32" and scale.shape == want.shape
    np.testing.assert_allclose(wide(scale), want, rtol=2e-7)


def in_blocks(x, rows, columns):
    """Scales (n / rows, k / columns) spread over the elements, and one for each block."""
    n, k = x.shape
    parts = [[scales(x[i : i + rows, j : j + columns], "int8", (0, 1))[0, 0] * 127 for j in range(0, k, columns)]
             for i in range(0, n, rows)]  # fmt: skip
    most = np.array(parts)
    return most, most.repeat(rows, 0).repeat(columns, 1)[:n, :k]


# Card, shape, type of x, type of q, kernels of rows, tensors, a known scale, groups, blocks.
CASES = [
    ("gfx1100", (3, 300), "bfloat16", "int8", (1, 2, 1, 2, 2)),
    ("gfx1201", (2, 769), "float16", "fp8e4m3", (1, 2, 1, 2, 2)),
    ("gfx942", (5, 130), "float32", "fp8e4m3fnuz", (1, 2, 1, 2, 2)),
    ("gfx90a", (3, 257), "float32", "fp8e5m2", (1, 2, 1, 2, 2)),
    ("gfx1100", (2, 64), "float32", "fp8e5m2fnuz", (1, 2, 1, 1, 3)),
]


@pytest.mark.parametrize("arch, shape, of_x, dtype, counts", CASES)
def test_quantised_numbers_are_the_nearest_by_their_scales(arch, shape, of_x, dtype, counts, rng):
    array = rng.standard_normal(shape) * 3
    array[0, :40] = 0
    array[-1] = 0
    with strict(arch):
        x = of(array, of_x)
        v = wide(x)
        by_row = K.quantize_per_token(x, dtype)
        by_all = K.quantize_per_tensor(x, dtype)
        known = K.quantize_per_tensor(x, dtype, of([0.25 * 448 / LARGEST[dtype]]))
        by_group = K.quantize_per_group(x, dtype, 32)
        by_block = K.quantize_per_block(x, dtype, (2, 128))
        assert tuple(kernels(*both) for both in (by_row, by_all, known, by_group, by_block)) == counts
        for number in (0.25 * 448 / LARGEST[dtype], np.float32(0.25 * 448 / LARGEST[dtype])):
            for same, one in zip(K.quantize_per_tensor(x, dtype, number), known):
                exact(same.cast("float32"), one.cast("float32").numpy())
        same_scale(by_row[1], scales(v, dtype, -1))
        same_scale(by_all[1], scales(v, dtype, None).reshape(1))
        for q, scale in (by_row, by_all, known):
            is_nearest(q, v, wide(scale), dtype)
        for (q, scale), rows, columns in ((by_group, 1, 32), (by_block, 2, 128)):
            most, spread = in_blocks(v, rows, columns)
            same_scale(scale, np.maximum(most / LARGEST[dtype], NORMAL))
            is_nearest(q, v, np.maximum(spread / LARGEST[dtype], NORMAL), dtype)
        assert not wide(by_row[0])[-1].any() and not wide(by_group[0])[0, :32].any()


@pytest.mark.parametrize("arch, dtype", [*zip(ARCHS, ["fp8e4m3", "fp8e4m3fnuz", "fp8e5m2", "int8"])])
def test_too_large_numbers_saturate_and_halves_go_to_the_even_neighbour(arch, dtype):
    with strict(arch):
        far, one = of([1e9, -1e9, 3e38]), of([1.0])
        low = -128 if dtype == "int8" else -LARGEST[dtype]
        exact(K.quantize_per_tensor(far, dtype, one)[0].cast("float32"), [LARGEST[dtype], low, LARGEST[dtype]])
        if dtype == "int8":
            exact(K.quantize_per_tensor(of([0.5, 1.5, 2.5, -0.5, -1.5]), dtype, one)[0], [0, 2, 2, 0, -2])
        else:
            known = finite_magnitudes(dtype)[-9:]
            even = np.arange(len(known) - 1) % 2 == (len(finite_magnitudes(dtype)) - 9) % 2
            between = (known[1:] + known[:-1]) / 2
            exact(
                K.quantize_per_tensor(of(between), dtype, one)[0].cast("float32"), np.where(even, known[:-1], known[1:])
            )


def test_nan_and_inf_stay_in_their_rows(rng):
    x = rng.standard_normal((4, 33))
    x[1, 3], x[2, 5] = np.nan, np.inf
    q, scale = K.quantize_per_token(of(x), "fp8e4m3")
    clean, right = K.quantize_per_token(of(np.nan_to_num(x, posinf=0)), "fp8e4m3")
    np.testing.assert_array_equal(wide(q)[[0, 3]], wide(clean)[[0, 3]])
    np.testing.assert_array_equal(wide(scale)[[0, 3]], wide(right)[[0, 3]])
    assert np.isnan(wide(scale)[1, 0]) and np.isinf(wide(scale)[2, 0])


def test_tiny_rows_have_a_scale_that_is_a_normal_number():
    q, scale = K.quantize_per_token(of([[1e-40, -1e-40], [0, 0]]), "int8")
    np.testing.assert_array_equal(wide(scale), [[NORMAL], [NORMAL]])
    exact(q, [[0, 0], [0, 0]])


@pytest.mark.parametrize("arch", ARCHS)
def test_every_byte_of_e4m3fn_keeps_its_value_as_fnuz(arch):
    with strict(arch):
        w = Tensor(np.arange(256, dtype=np.uint8)).bitcast("fp8e4m3").realize()
        q, scale = K.normalize_e4m3fn_to_e4m3fnuz(w, of([0.375]))
        assert (q.dtype, wide(scale)[0], kernels(q)) == ("fp8e4m3fnuz", 0.75, 1)
        values = values_of("fp8e4m3") * 0.375
        np.testing.assert_array_equal(wide(q) * 0.75, np.where(values == 0, 0, values))
        codes = q.bitcast("uint8").numpy()
        assert (codes == 0x80).sum() == 2 and codes[128] == 0  # NaN twice; -0 is 0


def test_sizes_of_0_launch_nothing():
    strata.reset_stats()
    for shape in ((0, 8), (3, 0)):
        x = Tensor.zeros(*shape)
        for q, scale in (K.quantize_per_token(x), K.quantize_per_tensor(x, "int8"), K.quantize_per_group(x, "int8"),
                         K.quantize_per_block(x, "int8")):  # fmt: skip
            assert q.numpy().shape == shape and scale.dtype == "float32"
    assert strata.stats().kernels == 0


X = Tensor.ones(2, 4)
ERRORS = [
    (lambda: K.quantize_per_token(X, "int4"), strata.DTypeError, "unknown dtype 'int4'"),
    (lambda: K.quantize_per_token(X, "float16"), strata.DTypeError,
     "[quantize_per_token] dtype float16: it is one of int8, fp8e4m3, fp8e5m2, fp8e4m3fnuz, fp8e5m2fnuz"),
    (lambda: K.quantize_per_token(Tensor([1]), "int8"), strata.DTypeError,
     "[quantize_per_token] x is of int64: it takes floats, cast it first"),
    (lambda: K.quantize_per_token(Tensor(1.0), "int8"), strata.ShapeError,
     "[quantize_per_token] x (): it takes (..., k)"),
    (lambda: K.quantize_per_tensor(X, "int8", Tensor.ones(2)), strata.ShapeError,
     "[quantize_per_tensor] x (2, 4), scale (2,): scale is (1,)"),
    (lambda: K.quantize_per_tensor(X, "int8", 0.0), strata.UsageError,
     "[quantize_per_tensor] scale is 0.0: a finite number, above 0"),
    (lambda: K.quantize_per_tensor(X, "int8", "1"), strata.UsageError,
     "[quantize_per_tensor] scale is '1': a finite number, above 0"),
    (lambda: K.quantize_per_tensor(2.0, "int8"), strata.UsageError,
     "[quantize_per_tensor] x is 2.0: give a tensor, such as Tensor(values)"),
    (lambda: K.quantize_per_group(X, "int8", 0), strata.UsageError,
     "[quantize_per_group] group is 0: an integer, 1 or more"),
    (lambda: K.quantize_per_block(X, "int8", 128), strata.UsageError,
     "[quantize_per_block] block is 128: the rows and columns of one, such as (128, 128)"),
    (lambda: K.quantize_per_block(Tensor.ones(4), "int8"), strata.ShapeError,
     "[quantize_per_block] x (4,): it takes (..., n, k)"),
    (lambda: K.normalize_e4m3fn_to_e4m3fnuz(X, Tensor.ones(1)), strata.DTypeError,
     "[normalize_e4m3fn_to_e4m3fnuz] w is of float32: it takes fp8e4m3"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", ERRORS)
def test_what_does_not_fit_is_refused_by_name(call, kind, text):
    with pytest.raises(kind) as e:
        call()
    assert text in str(e.value)


QUANTISERS = {
    "quantize_per_token": lambda x: K.quantize_per_token(x, "fp8e4m3"),
    "quantize_per_tensor": lambda x: K.quantize_per_tensor(x, "fp8e4m3"),
    "quantize_per_group": lambda x: K.quantize_per_group(x, "fp8e4m3", 2),
    "quantize_per_block": lambda x: K.quantize_per_block(x, "fp8e4m3", (2, 2)),
    "normalize_e4m3fn_to_e4m3fnuz": lambda x: K.normalize_e4m3fn_to_e4m3fnuz(x.cast("fp8e4m3"), x[0, :1]),
}


@pytest.mark.parametrize("name", QUANTISERS)
def test_a_gradient_that_arrives_is_refused(name):
    for at in (0, 1):
        with pytest.raises(strata.Unsupported, match=rf"\[{name}\] has no gradient: detach"):
            strata.grad(lambda x: QUANTISERS[name](x)[at].cast("float32").sum())(X)
    kept = strata.grad(lambda x: (QUANTISERS[name](x.detach())[1].sum() * x).sum())(X)
    assert np.isfinite(wide(kept)).all()
