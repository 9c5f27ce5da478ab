"""Derivatives at special points: zeros, ties, ends of ranges, infinities; of first and second order."""

import itertools
import math

import numpy as np
import pytest
import rows_of_gradients as every
import strata
from strata import Tensor, linalg, nn
from strata.nn import activations, losses
from strata.nn.functional import _activations
from tested import QUICK_TARGET

STEP = 1e-6
BY_LAPACK = {
    "det",
    "inv",
    "slogdet",
    "solve",
    "cholesky",
    "eigh",
    "eigvalsh",
    "svd",
    "svdvals",
    "pinv",
}  # of equal values there is no slope
ROWS = {
    label: (function, arrays)
    for label, (name, function, arrays, _) in every.ROWS.items()
    if name not in BY_LAPACK and "matrix_norm " not in label
}
ROWS |= {f"nn.{name}": (getattr(nn, name)(), [every.X]) for name in activations.__all__}
STEPS = {"sign", "atan2", "angle", "floor_divide"}  # not continuous at 0
AT_0 = {"div", "divide", "floor_divide"}  # second derivatives of 0 / 0


@pytest.fixture(autouse=True)
def compiled_fast():
    with strata.config(target=QUICK_TARGET):
        yield


def weighed(function):
    def total(*tensors):
        y = function(*tensors)
        return (y * Tensor(np.linspace(0.5, 1.5, y.size)).reshape(y.shape)).sum()

    return total


def second(function, count):
    """The derivatives of the slopes, weighed."""
    places = tuple(range(count))

    def of_slopes(*tensors):
        return sum(
            (g * Tensor(np.linspace(0.7, 1.3, g.size)).reshape(g.shape)).sum()
            for g in strata.grad(weighed(function), places)(*tensors)
        )

    return strata.grad(of_slopes, places)


@pytest.mark.parametrize("label", ROWS)
def test_slopes_at_zeros_and_ties_lie_between_those_of_both_sides(label):
    """Where all elements are 0, or 1: each function has ties there, and most have their kinks and ends."""
    function, arrays = ROWS[label]
    name = every.ROWS[label][0] if label in every.ROWS else label
    for number in (0.0, 1.0):
        given = [np.full(np.shape(a), number) for a in arrays]
        tensors = [Tensor(a) for a in given]
        moved = []
        for place, change in itertools.product(range(len(given)), (-STEP, STEP)):
            other = [a.copy() for a in given]
            other[place].flat[0] += change
            moved.append(weighed(function)(*[Tensor(a) for a in other]))
        value, slopes, bends = (
            function(*tensors),
            strata.grad(weighed(function), tuple(range(len(given))))(*tensors),
            second(function, len(given))(*tensors),
        )
        middle = weighed(function)(*tensors)
        strata.realize([middle, value, *moved, *slopes, *bends])
        for place, slope in enumerate(slopes):
            below, above = (
                (middle.item() - moved[2 * place].item()) / STEP,
                (moved[2 * place + 1].item() - middle.item()) / STEP,
            )
            got = slope.numpy().flat[0]
            if math.isfinite(below) and math.isfinite(above) and name not in STEPS:
                room = 1e-4 * max(1, abs(below), abs(above))
                assert min(below, above) - room <= got <= max(below, above) + room, (number, place, got, below, above)
            elif np.isfinite(value.numpy()).all():
                assert not math.isnan(got), (number, place)
        if all(np.isfinite(slope.numpy()).all() for slope in slopes) and not (number == 0 and name in AT_0):
            assert all(np.isfinite(bend.numpy()).all() for bend in bends), number


ONE = [
    name
    for name, (_, function, arrays, _) in every.ROWS.items()
    if len(arrays) == 1 and np.ndim(arrays[0]) == 1 and name not in ("histogram", "bincount") and " " not in name
]
ACTIVATIONS = {
    f"nn.{name}": getattr(nn, name)() for name in activations.__all__ if "GLU" not in name and "oftmax" not in name
}
ACTIVATIONS |= {
    name: getattr(Tensor, name) for name in ("silu", "gelu", "gelu_tanh", "softplus", "sigmoid", "relu", "tanh")
}
OTHER_SHAPES = {"glu", "gumbel_softmax", "log_softmax", "softmax", "softmin"}
WITH_MORE = {
    "prelu": lambda x: nn.functional.prelu(x, Tensor([0.25], dtype=x.dtype)),
    "threshold": lambda x: nn.functional.threshold(x, 0.5, 2.0),
}
ACTIVATIONS |= {
    f"F.{name}": WITH_MORE.get(name) or getattr(nn.functional, name)
    for name in _activations.__all__
    if name not in OTHER_SHAPES and not name.endswith("_")
}


@pytest.mark.parametrize("label", [*ONE, *ACTIVATIONS])
def test_a_slope_at_infinity_is_the_limit(label):
    function = ACTIVATIONS.get(label) or ROWS[label][0]
    x = np.array([[sign * far for far in (np.inf, 1e9, 1e12)] for sign in (1, -1)])
    values = function(Tensor(x)).numpy()
    slopes = strata.grad(lambda t: function(t).sum())(Tensor(x)).numpy()
    for (_, _, value), (at, near, beyond) in zip(values, slopes):
        if np.isfinite(beyond) and abs(near - beyond) < 1e-6 and np.isfinite(value):
            assert abs(at - beyond) < 1e-6


@pytest.mark.parametrize("label", ACTIVATIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_an_activation_at_infinity_is_its_limit(label, dtype):
    """Far on either side it is a number, or grows as x does; NaN stays NaN, but for what compares alone."""
    function, far = ACTIVATIONS[label], 3e4
    x = Tensor(np.array([np.inf, far, -np.inf, -far, np.nan]), dtype=dtype)
    at, near, under, below, unknown = function(x).cast("float64").numpy()
    for value, limit in ((at, near), (under, below)):
        assert value == (np.copysign(np.inf, limit) if abs(limit) > far / 1000 else pytest.approx(limit, abs=1e-4)), (
            value,
            limit,
        )
    assert np.isnan(unknown) or label == "F.threshold"


def derivatives_of_prod(x, weights):
    """Derivatives of sum(weights * (the products of all others)), by the definition."""
    n = len(x)
    return [
        sum(weights[j] * math.prod(x[k] for k in range(n) if k not in (i, j)) for j in range(n) if j != i)
        for i in range(n)
    ]


def derivatives_of_cumprod(x, weights):
    return np.sum(
        [np.pad(derivatives_of_prod(x[: k + 1], weights[: k + 1]), (0, len(x) - k - 1)) for k in range(len(x))], axis=0
    )


@pytest.mark.parametrize("zeros", [[], [1], [0, 3], [2, 3, 4], [0, 1, 2, 3, 4]])
def test_products_have_second_derivatives_beside_zeros(zeros):
    x, weights = np.array([2.0, -3, 0.5, 4, 1.5]), np.arange(1.0, 6)
    x[zeros] = 0
    for name, want in (("prod", derivatives_of_prod(x, weights)), ("cumprod", derivatives_of_cumprod(x, weights))):
        f = {"prod": lambda t: t.prod(), "cumprod": lambda t: t.cumprod(0).sum()}[name]
        got = strata.grad(lambda t: (strata.grad(f)(t) * Tensor(weights)).sum())(Tensor(x))
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-12)
    grid = np.array([[[2.0, 0], [3, 1]], [[0, 0], [5, 4]]])
    by = lambda t: (strata.grad(lambda u: u.prod((0, 2)).sum())(t) * Tensor(np.arange(8.0).reshape(2, 2, 2))).sum()  # noqa: E731
    want = np.stack(
        [
            np.reshape(derivatives_of_prod(grid[:, i].ravel(), np.arange(8.0).reshape(2, 2, 2)[:, i].ravel()), (2, 2))
            for i in range(2)
        ],
        1,
    )
    np.testing.assert_allclose(strata.grad(by)(Tensor(grid)).numpy(), want)
    thrice = lambda t: strata.grad(lambda u: strata.grad(lambda v: v.prod())(u)[0])(t)[1]  # noqa: E731
    np.testing.assert_allclose(strata.grad(thrice)(Tensor(np.array([0.0, 0, 0, 5]))).numpy(), [0, 0, 5, 0])


def test_long_running_products_have_second_derivatives(rng):
    x, weights = rng.uniform(0.8, 1.2, 40), rng.uniform(0, 1, 40)
    x[[7, 25]] = 0
    got = strata.grad(lambda t: (strata.grad(lambda u: u.cumprod(0).sum())(t) * Tensor(weights)).sum())(Tensor(x))
    np.testing.assert_allclose(got.numpy(), derivatives_of_cumprod(x, weights), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "power,first,then",
    [(0.0, 0, 0), (1.0, 1, 0), (2.0, 0, 2), (3.0, 0, 0), (20.0, 0, 0), (0.5, math.inf, None), (-1.0, -math.inf, None)],
)
def test_powers_at_0(power, first, then):
    x = Tensor([0.0], dtype="float64")
    for f in (lambda t: t**power, lambda t: t ** Tensor([power], dtype="float64")):
        assert strata.grad(lambda t: f(t).sum())(x).item() == first
        if then is not None:
            assert second(f, 1)(x)[0].item() == pytest.approx(0.35 * then)
    by_exponent = lambda e: (x**e).sum()  # noqa: E731
    e = Tensor([power], dtype="float64")
    assert strata.grad(by_exponent)(e).item() == 0 and math.isfinite(
        strata.grad(lambda t: strata.grad(by_exponent)(t).sum())(e).item()
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_equal_extremes_share_whatever_their_number(dtype):
    for name in ("max", "min"):
        got = strata.grad(lambda t: getattr(t, name)())(Tensor(np.ones(70000), dtype=dtype)).cast("float32").numpy()
        np.testing.assert_allclose(got.sum(), 1, rtol=1e-2)
        assert (got == got[0]).all()


def test_binary_cross_entropy_at_0_and_1():
    p, target = Tensor([0.0, 1, 0.5, 0, 1]), Tensor([0.0, 1, 1, 1, 0])
    got = strata.grad(lambda t: losses.binary_cross_entropy(t, target, "sum"))(p).numpy()
    np.testing.assert_allclose(got, [0, 0, -2, -1e12, 1e12], rtol=1e-6)
    assert np.isfinite(
        second(lambda t: losses.binary_cross_entropy(t, target, "sum"), 1)(Tensor(p.numpy().astype(float)))[0].numpy()
    ).all()
    np.testing.assert_allclose(
        strata.grad(lambda t: losses.binary_cross_entropy(p[2:3], t, "sum"))(target[2:3]).numpy(), [0]
    )


def test_a_sum_of_exponentials_of_nothing_has_no_slope():
    x = Tensor(np.array([[-np.inf, -np.inf], [0, -np.inf], [1, 1]]))
    assert x.logsumexp(-1).tolist() == [-math.inf, 0, 1 + math.log(2)]
    np.testing.assert_array_equal(
        strata.grad(lambda t: t.logsumexp(-1)[1:].sum() + t.logsumexp(-1)[0])(x).numpy(), [[0, 0], [1, 0], [0.5, 0.5]]
    )


def test_alignments_that_cannot_be_cost_infinity_and_have_no_gradient(rng):
    logits = Tensor(rng.uniform(-1, 1, (3, 2, 4)))
    ctc = lambda x: losses.ctc(x.log_softmax(-1), Tensor([[1, 1, 1], [2, 3, 0]]), [3, 3], [3, 2], reduction="none")  # noqa: E731
    got = ctc(logits).numpy()
    assert got[0] == math.inf and math.isfinite(got[1])
    slopes = strata.grad(lambda x: ctc(x).sum())(logits).numpy()
    assert (slopes[:, 0] == 0).all() and np.isfinite(slopes).all() and (slopes[:, 1] != 0).all()


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, np.inf, np.inf],
        [-np.inf, -np.inf, 1, 2],
        [-np.inf, 3],
        [3, np.inf],
        [-np.inf, np.inf],
        [np.inf] * 3,
        [-3e38, 3e38],
        [1, np.nan, np.inf],
    ],
)
@pytest.mark.parametrize("q", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_quantiles_beside_infinities_are_those_of_parts(values, q):
    """Each is (1 - t) below + t above."""
    x = np.sort(np.array(values, float))
    place = q * (len(x) - 1)
    low, t = math.floor(place), place - math.floor(place)
    want = x[low] if t == 0 else x[low] * (1 - t) + x[low + 1] * t
    want = math.nan if np.isnan(x).any() else want
    np.testing.assert_allclose(strata.quantile(Tensor(values), q).item(), want, rtol=1e-6, atol=1e32)
    if q == 0.5:
        np.testing.assert_allclose(strata.median(Tensor(values)).item(), want, rtol=1e-6, atol=1e32)
        kept = x[~np.isnan(x)]
        np.testing.assert_allclose(
            strata.nanmedian(Tensor(values)).item(),
            kept[(len(kept) - 1) // 2] * 0.5 + kept[len(kept) // 2] * 0.5,
            rtol=1e-6,
            atol=1e32,
        )


def test_norms_at_0_have_no_slope_of_any_order():
    still = np.zeros((2, 3))
    for f in (
        lambda x: linalg.vector_norm(x, axis=1),
        lambda x: strata.norm(x, 3, 1),
        linalg.matrix_norm,
        lambda x: x.std(1),
        lambda x: strata.cdist(x, x),
        lambda x: losses.cosine_similarity(x, x),
        lambda x: strata.hypot(x, x),
    ):
        assert (strata.grad(lambda x: f(x).sum())(Tensor(still)).numpy() == 0).all()
        assert np.isfinite(second(f, 1)(Tensor(still))[0].numpy()).all()
