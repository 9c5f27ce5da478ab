"""Every function of float16 and bfloat16 is that of float64, rounded once: at ordinary, large and small magnitudes.

The functions are the rows of rows_of_gradients.py, and every activation, loss, norm and statistic.
That no function lacks a row is a test of test_gradients_every.py.
"""

import inspect
import math

import numpy as np
import pytest
import rows_of_gradients as every
import strata
from strata import Tensor, nn
from strata.nn import activations, losses
from tested import QUICK_TARGET

FORMATS = {
    "float16": (10, -14, 65504.0),
    "bfloat16": (7, -126, 3.3895313892515355e38),
}  # bits of a fraction, least exponent, largest
MAGNITUDES = [1.0, 300.0, 2.0**-12]  # squares of the second have no half, those of the third vanish in it
REFUSE = {
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
    "qr",
}  # LAPACK has no halves
X, Y, ROW = every.X, every.X[::-1].copy(), every.apart(3, 8)
PART = every.apart(3, 8, low=0.05, high=0.95)
LABELS = Tensor([2, 0, 7])


def functions():
    """label -> (function of tensors, arrays)."""
    found = {
        label: (function, arrays) for label, (name, function, arrays, _) in every.ROWS.items() if name not in REFUSE
    }
    found |= {f"nn.{name}": (getattr(nn, name)(), [X]) for name in activations.__all__}
    found |= {f"losses.{name}": of_loss(name, getattr(losses, name)) for name in LOSSES}
    found |= {f"nn.{type(layer).__name__}": (layer, arrays) for layer, arrays in layers()}
    return found


def of_loss(name, function):
    given = {
        "cross_entropy": (lambda x: function(x, LABELS, label_smoothing=0.1), [ROW]),
        "nll": (lambda x: function(x, LABELS), [ROW]),
        "gaussian_nll": (function, [X, Y, X * X + 0.1]),
        "binary_cross_entropy": (lambda x, t: function(x, t, "sum"), [PART, PART[::-1].copy()]),
        "kl_div": (lambda x, t: function(x, t.abs()), [X, Y]),
        "cosine_embedding": (lambda a, b: function(a, b, Tensor([1, -1, 1])), [ROW, ROW[::-1].copy()]),
        "cosine_similarity": (function, [X, Y]), "margin_ranking": (lambda a, b: function(a, b, b.sign()), [X, Y]),
        "triplet_margin": (function, [ROW, ROW[::-1].copy(), ROW * 1.7]),
        "ctc": (lambda x: function(x.reshape(3, 2, 4).log_softmax(-1), Tensor([[1], [2]]), [3, 2], [1, 1]), [X]),
    }  # fmt: skip
    return given.get(name) or (function, [X, Y])


LOSSES = [
    name
    for name, f in vars(losses).items()
    if inspect.isfunction(f) and f.__module__ == losses.__name__ and not name.startswith("_")
]


def layers():
    image = every.apart(2, 4, 3, 3)
    for layer in (nn.GroupNorm(2, 4), nn.InstanceNorm(4, affine=True), nn.BatchNorm(4), nn.LayerNorm(3), nn.RMSNorm(3)):
        yield layer, [image]


FUNCTIONS = functions()


def wide(t):
    return t.cast("float32").numpy().astype(float) if t.dtype.itemsize < 4 else t.numpy().astype(float)


def units_off(got, want, dtype, slack):
    """Units in the last place of the narrow type, less what float32 loses of terms of size `slack` that cancel."""
    bits, least, most = FORMATS[dtype]
    exponent = np.maximum(np.floor(np.log2(np.maximum(np.abs(np.where(np.isfinite(want), want, 0)), 1e-300))), least)
    off = np.maximum(np.abs(got - want) - slack, 0) / 2.0 ** (exponent - bits)
    beyond = (np.abs(want) >= most) & (np.isinf(got) | (np.abs(got) >= most)) & (np.sign(got) == np.sign(want))
    return np.where(beyond | (got == want) | (np.isnan(got) & np.isnan(want)), 0, np.where(np.isnan(off), np.inf, off))


@pytest.mark.parametrize("label", FUNCTIONS)
def test_narrow_types_are_rounded_once(label):
    function, arrays = FUNCTIONS[label]
    results, wanted = [], []
    with strata.config(target=QUICK_TARGET):
        for dtype in FORMATS:
            for magnitude in MAGNITUDES:
                given = [Tensor(np.asarray(a) * magnitude, dtype=dtype).realize() for a in arrays]
                got, want = function(*given), function(*[Tensor(wide(t)) for t in given])
                results.append((dtype, magnitude, max(np.abs(wide(t)).max() for t in given), got)), wanted.append(want)
        strata.realize([*(row[3] for row in results), *wanted])
    for (dtype, magnitude, largest, got), want in zip(results, wanted):
        if got.dtype.itemsize >= 4:  # as functions of complex numbers, of which there are no narrow ones
            continue
        assert got.dtype.name == dtype
        off = units_off(wide(got), wide(want), dtype, 2.0**-20 * max(largest, 2.0**-12))
        assert off.max(initial=0) <= 0.75, (
            dtype,
            magnitude,
            wide(got).ravel()[off.argmax()],
            wide(want).ravel()[off.argmax()],
        )


@pytest.mark.parametrize("dtype", FORMATS)
def test_a_draw_of_halves_takes_every_element(dtype):
    Tensor.manual_seed(3)
    weights = Tensor(np.full(5000, 1 / 5000, np.float32)).cast(dtype)
    assert len(np.unique(strata.multinomial(weights, 40000, True).numpy())) > 4950
    assert sorted(strata.multinomial(weights[:300], 300).tolist()) == list(range(300))


def test_beside_a_wide_tensor_narrow_ones_are_wide():
    narrow, other = Tensor([300.0, 1.0], dtype="float16"), Tensor([0.0, 1.0])
    assert losses.mse(narrow, other).item() == 45000 and losses.mse(narrow, other).dtype == strata.dtypes.float32
    assert math.isinf(losses.mse(narrow, Tensor([-300.0, 1.0], dtype="float16"), "sum").item())
