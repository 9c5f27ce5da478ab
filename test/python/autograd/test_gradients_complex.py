"""Gradients of complex functions on the axes, on both sides of cuts and off them, against differences of NumPy's
values.
"""

import numpy as np
import pytest
import strata
from strata import Tensor

NUMPY = {
    "sqrt": np.sqrt,
    "rsqrt": lambda z: 1 / np.sqrt(z),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "square": np.square,
    "reciprocal": lambda z: 1 / z,
}
POINTS = [
    0.5,
    -0.5,
    2,
    -2,
    0.5j,
    -0.5j,
    2j,
    -2j,
    0,
    complex(-0.0, 0.0),
    complex(-2, -0.0),
    complex(2, -0.0),
    complex(-0.0, 2),
    complex(-0.0, -2),
    1,
    -1,
    1j,
    -1j,
    0.3 + 0.4j,
    -3 - 2j,
]
SINGULAR = {
    "sqrt": [0],
    "rsqrt": [0],
    "log": [0],
    "log2": [0],
    "log10": [0],
    "reciprocal": [0],
    "log1p": [-1],
    "asinh": [1j, -1j],
    "atan": [1j, -1j],
    "acosh": [1, -1],
    "atanh": [1, -1],
    "asin": [1, -1],
    "acos": [1, -1],
}


def slope(f, z, h=1e-6):
    """Along the axis that the point is on, so that what it is beside a cut is what it is of: zeros keep their signs."""
    z = complex(z)
    step = (0, h) if z.real == 0 and z.imag != 0 else (h, 0)
    ends = [
        f(
            np.complex128(
                complex(z.real + s * step[0] if step[0] else z.real, z.imag + s * step[1] if step[1] else z.imag)
            )
        )
        for s in (1, -1)
    ]
    return (ends[0] - ends[1]) / (2 * h * (1j if step[1] else 1))


def gradient(name, part, points):
    return strata.grad(lambda z: getattr(getattr(z, name)(), part).sum())(
        Tensor(np.array(points, np.complex128))
    ).numpy()


@pytest.mark.parametrize("name", NUMPY)
def test_both_parts_have_the_gradients_of_the_functions_slope(name):
    points = [z for z in POINTS if z not in SINGULAR.get(name, [])]
    assert len(points) >= 15
    wanted = np.array([slope(NUMPY[name], z) for z in points]).conj()
    np.testing.assert_allclose(gradient(name, "real", points), wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(gradient(name, "imag", points), 1j * wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["exp", "sinh", "sqrt", "asinh", "tanh", "log"])
def test_gradients_of_gradients_are_right_on_the_axes_too(name):
    points = [0.5, 2, 0.5j, 0.3 + 0.4j, -3 - 2j]

    def first(z):
        return strata.grad(lambda w: getattr(w, name)().real.sum())(z).real.sum()

    got = strata.grad(first)(Tensor(np.array(points, np.complex128))).numpy()
    wanted = np.array([slope(lambda w: slope(NUMPY[name], w, 1e-4), z, 1e-4) for z in points]).conj()
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_at_poles_and_branch_points_they_are_no_finite_numbers():
    for name in ("sqrt", "log", "reciprocal"):
        assert not np.isfinite(gradient(name, "real", [0])).any(), name
