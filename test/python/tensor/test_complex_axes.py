"""Complex powers, inverses, squares and angles on the axes of the plane, where cuts and signs of zeros are. Values are
compared with NumPy's, zeros with their signs, and gradients with differences of them.
"""

import numpy as np
import pytest
import strata
from strata import Tensor
from test_gradients_complex import POINTS, slope

LINE = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5]
PLANE = np.array([complex(re, im) for re in LINE for im in LINE])
FAR = np.array([complex(re, im) for re in (*LINE, np.inf, -np.inf, np.nan) for im in (*LINE, np.inf, -np.inf, np.nan)])
EXPONENTS = [0, 1, 2, 3, -1, -2, 0.5, -0.5, 2.5, -1.5, 1j, -1j, 0.5 + 0.5j]


def same(got, want, places=None):
    """Each part, zeros by their sign."""
    got, want = got.astype(complex), want.astype(complex)
    places = np.ones(want.shape, bool) if places is None else places
    for part in ("real", "imag"):
        g, w = getattr(got, part)[places], getattr(want, part)[places]
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)
        nothing = (w == 0) & (g == 0)
        np.testing.assert_array_equal(np.signbit(g[nothing]), np.signbit(w[nothing]))


@pytest.mark.parametrize("points", [FAR, np.array([*LINE, np.inf, -np.inf, np.nan])], ids=["complex", "real"])
def test_angles_are_numpys(points):
    same(strata.angle(Tensor(points)).numpy(), np.angle(points))


def test_squares_and_inverses_are_numpys():
    """But for the inverse of 0, which is NumPy's 1 / z there, infinite, for its reciprocal(z), NaN."""
    same(Tensor(FAR).square().numpy(), np.square(FAR))
    same(Tensor(FAR).reciprocal().numpy(), np.reciprocal(FAR), FAR != 0)
    same((1 / Tensor(PLANE)).numpy(), 1 / PLANE)
    assert np.isinf(Tensor(PLANE[PLANE == 0]).reciprocal().numpy().real).all()


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_powers_of_tensors_are_numpys(exponent):
    """Whole exponents below 0 of values on the axis from above are left out. NumPy's division leaves no minus there,
    but its reciprocal does, so that the conjugate has the conjugate's.
    """
    exponents = np.full(PLANE.shape, exponent, complex)
    with np.errstate(all="ignore"):
        want = PLANE**exponents
    got = (Tensor(PLANE) ** Tensor(exponents)).numpy()
    whole = exponent in (-1, -2)
    on_axis = (PLANE.imag == 0) & (PLANE.real > 0)
    same(got, want, ~on_axis if whole else None)
    if whole:
        np.testing.assert_array_equal(np.signbit(got.imag[on_axis]), ~np.signbit(PLANE.imag[on_axis]))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, 1j])
def test_powers_by_a_number_are_numpys(exponent):
    """At 0 odd powers have the signs of what they are of, where NumPy's have no minus."""
    with np.errstate(all="ignore"):
        want = PLANE**exponent
    same((Tensor(PLANE) ** exponent).numpy(), want, PLANE != 0 if exponent in (1, 3, -1) else None)


AWAY = np.array([z for z in POINTS if z != 0], complex)


def both_parts(f, points):
    return [strata.grad(lambda z: getattr(f(z), part).sum())(Tensor(points)).numpy() for part in ("real", "imag")]


@pytest.mark.parametrize("of", ["number", "tensor"])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_gradients_by_the_base(exponent, of):
    given = exponent if of == "number" else Tensor(np.full(AWAY.shape, exponent, complex))
    want = np.array([slope(lambda z: z ** np.complex128(exponent), z) for z in AWAY]).conj()
    real, imag = both_parts(lambda z: z**given, AWAY)
    np.testing.assert_allclose(real, want, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(imag, 1j * want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_gradients_by_the_exponent(exponent):
    want = (AWAY ** np.full(AWAY.shape, exponent, complex) * np.log(AWAY)).conj()
    real, imag = both_parts(lambda w: Tensor(AWAY) ** w, np.full(AWAY.shape, exponent, complex))
    np.testing.assert_allclose(real, want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(imag, 1j * want, rtol=1e-9, atol=1e-12)


def test_gradients_where_one_of_both_is_real():
    z, x = Tensor(np.array([2j, -0.5 + 1j])), Tensor(np.array([2.0, -1.5]))
    for f, a, b in ((lambda z, x: (z**x).imag.sum(), z, x), (lambda x, z: (x**z).imag.sum(), x, z)):
        for place, g in enumerate(strata.grad(f, (0, 1))(a, b)):
            for unit in (1, 1j) if (a, b)[place].dtype.is_complex else (1,):
                moved = lambda h: f(*(t + h * unit if i == place else t for i, t in enumerate((a, b)))).item()  # noqa: E731
                got = g.numpy().sum() * np.conj(unit)
                np.testing.assert_allclose(got.real, (moved(1e-6) - moved(-1e-6)) / 2e-6, rtol=1e-6)


def test_gradients_at_0():
    """1 for z itself, 0 for higher powers, none for lower ones."""
    nothing = np.array([0, complex(-0.0, 0.0), complex(0.0, -0.0)])
    for exponent, want in ((1, 1), (2, 0), (2.5, 0), (1 + 0j, 1), (0, 0)):
        for given in (exponent, Tensor(np.full(3, exponent, complex))):
            np.testing.assert_array_equal(both_parts(lambda z, e=given: z**e, nothing)[0], want)
    assert not np.isfinite(both_parts(lambda z: z ** Tensor(np.full(3, 0.5 + 0j)), nothing)[0]).any()


@pytest.mark.parametrize("exponent", [2, 3, 0.5, 1j])
def test_second_derivatives(exponent):
    points = np.array([0.5, 2, 0.5j, -2j, 0.3 + 0.4j, -3 - 2j])
    got = strata.grad(lambda z: strata.grad(lambda w: (w**exponent).real.sum())(z).real.sum())(Tensor(points)).numpy()
    np.testing.assert_allclose(
        got, (exponent * (exponent - 1) * points ** (np.complex128(exponent) - 2)).conj(), rtol=1e-9, atol=1e-12
    )


def test_gradients_of_angles():
    """For a step of z the angle turns by the part across it over the distance. At 0 nothing is said to turn, as no
    distance grows.
    """
    got = strata.grad(lambda z: strata.angle(z).sum())(Tensor(np.array(POINTS, complex))).numpy()
    np.testing.assert_allclose(
        got, [1j * z / abs(z) ** 2 if z else 0 for z in map(complex, POINTS)], rtol=1e-12, atol=1e-12
    )
    np.testing.assert_array_equal(
        strata.grad(lambda x: strata.angle(x).sum())(Tensor([1.0, -1.0, 0.0, -0.0])).numpy(), 0
    )
