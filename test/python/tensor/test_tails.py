"""Tails and cancellation: each row of rows_of_tails.py keeps its bound over its whole range, forward and backward."""

import numpy as np
import pytest
import strata
from rows_of_tails import ROWS, softplus
from strata import Tensor
from tested import QUICK_TARGET


def points(row, dtype):
    """From the smallest numbers on, on both sides of 0, and evenly over where something happens."""
    sizes = np.concatenate(
        [10.0 ** np.linspace(-30, np.log10(max(abs(row.low), abs(row.high))), 400), np.linspace(0, 40, 401)[1:]]
    )
    x = np.concatenate([-sizes[::-1], sizes])
    return np.unique(x[(x >= row.low) & (x <= row.high)].astype(dtype))


def assert_within(what, got, want, x, epsilons):
    """Beside the zero of a slope that has one, near 0, the bound is that of the parts that cancel there."""
    info = np.finfo(got.dtype)
    bound = epsilons(x) if callable(epsilons) else epsilons
    size = np.abs(want) + np.where((np.abs(x) > 0.3) & (np.abs(x) < 3), 0.25, 0)
    allowed = (
        bound * info.eps * size + 4 * info.smallest_subnormal.astype(np.longdouble) * np.maximum(np.abs(x), 1) ** 3
    )
    rounded = want.astype(got.dtype)
    fine = (np.abs(got.astype(np.longdouble) - want) <= allowed) | (got == rounded)
    worst = np.argmax(np.where(fine, 0, np.abs(got - want) / np.maximum(np.abs(want), info.smallest_subnormal)))
    off = np.abs(got[worst] - want[worst]) / (np.abs(want[worst]) * info.eps)
    assert fine.all(), (
        f"{what} at {x[worst]}: {got[worst]} for {want[worst]}, {off:.1f} epsilons, {np.count_nonzero(~fine)} are off"
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_values_and_slopes_keep_their_digits(row):
    for dtype, target in ((np.float32, QUICK_TARGET), (np.float64, QUICK_TARGET), (np.float32, "hip")):
        if target == "hip" and row.name not in ("gelu", "nn.ELU", "softplus"):  # what the device library has, once each
            continue
        x = points(row, dtype)
        wide = x.astype(np.longdouble)
        with strata.config(target=target):
            value, slope = row.function(Tensor(x)), strata.grad(lambda t: row.function(t).sum())(Tensor(x))
            strata.realize([value, slope])
        assert_within(f"{row.name} of {x.dtype}", value.numpy(), row.value(wide), wide, row.of_value)
        assert_within(f"slope of {row.name} of {x.dtype}", slope.numpy(), row.slope(wide), wide, row.of_slope)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logarithms_of_probabilities_are_right_beside_1(dtype):
    """Within an ulp of 1, or of the values where they are larger. The probability of a class with all but an ulp of the
    sum is 0, as in PyTorch.
    """
    apart = points(ROWS[0], dtype)
    rows = Tensor(np.stack([apart, np.zeros_like(apart)], -1))
    wide = apart.astype(np.longdouble)
    want = np.stack([-softplus(-wide), -softplus(wide)], -1)
    places = Tensor(np.zeros(len(apart), np.int32))
    with strata.config(target=QUICK_TARGET):
        found = {
            "log_softmax": (rows.log_softmax(-1), want),
            "cross_entropy": (strata.nn.cross_entropy(rows, places, "none"), -want[:, 0]),
            "logsumexp": (rows.logsumexp(-1), softplus(wide)),
        }
        strata.realize([value for value, _ in found.values()])
    for name, (value, right) in found.items():
        off = np.abs(value.numpy() - right) / (np.finfo(dtype).eps * np.maximum(np.abs(right), 1))
        assert off.max() <= 2, (name, apart[np.argmax(off) // (off.size // len(apart))], off.max())
