"""Functions made of others: within 4 ulp of NumPy's long double, and what the standard says of infinities, zeros and
NaN.
"""

import itertools

import numpy as np
import pytest
import strata
from strata import Tensor

ONE = {
    "expm1": np.expm1, "log1p": np.log1p, "sinh": np.sinh, "cosh": np.cosh, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
}  # fmt: skip
TWO = {
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
    "copysign": np.copysign,
    "nextafter": np.nextafter,
}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, 1e-30, -1e-30, 20.0, 89.0, -89.0]


def values(dtype, rng):
    magnitudes = 10.0 ** rng.uniform(-8, 8, 3000) * rng.choice([-1, 1], 3000)
    return np.concatenate([magnitudes, rng.uniform(-1, 1, 3000), rng.uniform(-90, 90, 3000), SPECIAL]).astype(dtype)


def assert_near(got, want, ulps):
    near = want.astype(got.dtype)
    apart = np.abs(got.astype(np.longdouble) - want) / np.spacing(np.maximum(np.abs(near), np.finfo(got.dtype).tiny))
    same = (got == near) | (np.isnan(got) & np.isnan(near))
    assert np.all(same | (apart <= ulps)), (got[~same & ~(apart <= ulps)][:5], near[~same & ~(apart <= ulps)][:5])
    zero = (got == 0) & (near == 0)
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(near[zero]))


@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_tensor(name, dtype, arch, target, rng):
    x = values(dtype, rng)
    with strata.config(device=f"emu:{arch}", target=target):
        assert_near(getattr(Tensor(x), name)().numpy(), ONE[name](x.astype(np.longdouble)), 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_tensors(name, dtype, rng):
    x = values(dtype, rng)
    y = rng.permutation(x)
    if name == "logaddexp":  # near its zeros no float holds what the exact one would be made of
        x, y = np.abs(x), np.abs(y)
    want = (
        np.nextafter(x, y).astype(np.longdouble)
        if name == "nextafter"
        else TWO[name](x.astype(np.longdouble), y.astype(np.longdouble))
    )
    assert_near(getattr(Tensor(x), name)(Tensor(y)).numpy(), want, 4)


@pytest.mark.parametrize("name", TWO)
def test_special_values_of_two(name):
    a, b = np.array(list(itertools.product(SPECIAL, SPECIAL)), np.float32).T
    assert_near(getattr(Tensor(a), name)(Tensor(b)).numpy(), TWO[name](a, b).astype(np.longdouble), 4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_keep_their_type_and_round_once(dtype, rng):
    x = Tensor(rng.uniform(-0.9, 0.9, 500), dtype=dtype)
    wide = x.cast("float32").numpy()
    for name in ONE:
        if name != "acosh":
            got = getattr(x, name)()
            assert got.dtype.name == dtype
            np.testing.assert_array_equal(
                got.cast("float32").numpy(), getattr(Tensor(wide), name)().cast(dtype).cast("float32").numpy()
            )
    assert x.atan2(x).dtype.name == dtype


def test_neighbours_and_signs_of_half_floats():
    x = np.array([0, -0.0, 1, -1, 65504, np.inf, -np.inf, 6e-8, -6e-8], np.float16)
    for toward in (np.float16(np.inf), np.float16(-2)):
        np.testing.assert_array_equal(
            Tensor(x).nextafter(Tensor(np.full_like(x, toward))).numpy(), np.nextafter(x, toward)
        )
    np.testing.assert_array_equal(Tensor(x).signbit().numpy(), np.signbit(x))


def test_integers_are_taken_as_float32():
    assert Tensor([0, 1]).asin().dtype.name == "float32" and Tensor([3]).hypot(4).item() == 5


@pytest.mark.parametrize("name", ONE)
def test_gradients_are_finite_and_right(name, rng):
    x = rng.uniform(1.1, 1.9, 9) if name == "acosh" else rng.uniform(-0.9, 0.9, 9)
    x = np.concatenate([x, [1.5] if name == "acosh" else [1e-12]])
    got = strata.grad(lambda x: getattr(x, name)().sum())(Tensor(x)).numpy()
    wide = x.astype(np.longdouble)
    step = np.longdouble(1e-6)
    np.testing.assert_allclose(
        got, ((ONE[name](wide + step) - ONE[name](wide - step)) / (2 * step)).astype(float), rtol=1e-6, atol=1e-9
    )


def test_gradients_of_functions_of_two(rng):
    a, b = rng.uniform(0.5, 2, (2, 8))
    for name, by_a in {
        "atan2": b / (a * a + b * b),
        "hypot": a / np.hypot(a, b),
        "logaddexp": 1 / (1 + np.exp(b - a)),
        "copysign": np.ones(8),
    }.items():
        np.testing.assert_allclose(
            strata.grad(lambda a: getattr(a, name)(Tensor(b)).sum())(Tensor(a)).numpy(), by_a, rtol=1e-9
        )
