"""Rows of test_properties.py: functions element by element, reductions, scans and orders."""

import math

import numpy as np
import strata
from drawn import ALL, NUMBERS, REAL, Refused, both, floats, wide
from hypothesis import strategies as st
from strata import Tensor


def unary(name, kinds, want=None, low=-4, high=4):
    """want: NumPy's function of that name where it is not given, of what it takes."""

    def row(d):
        x, t = d.array(kinds, low=low, high=high)
        return both(lambda: getattr(strata, name)(t), lambda: (want or getattr(np, name))(wide(x)))

    return row


def smooth(name, want=None, low=-4, high=4, kinds=ALL):
    """Functions whose values are floats or complex numbers, of integers too."""
    return unary(name, kinds, lambda x: (want or getattr(np, name))(floats(x)), low, high)


ERF = np.vectorize(math.erf, otypes=[float])
SIGMOID = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
GELU_TANH = lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))  # noqa: E731
UNARY = {
    **{name: unary(name, "iufc") for name in ("negative", "abs", "square", "positive", "conj", "sign")},
    "neg": unary("neg", "iufc", np.negative),
    **{name: smooth(name) for name in ("exp", "sin", "cos", "tanh", "sinh", "cosh", "expm1")},
    **{name: smooth(name, low=-1.25, high=1.25) for name in ("tan", "asinh", "exp2", "atan")},
    **{name: smooth(name, low=0.25) for name in ("sqrt", "log", "log2", "log10", "reciprocal")},
    "log1p": smooth("log1p", low=-0.75), **{name: smooth(name, low=-1, high=1) for name in ("asin", "acos")},
    "acosh": smooth("acosh", low=1), "atanh": smooth("atanh", low=-0.875, high=0.875),
    "rsqrt": smooth("rsqrt", lambda x: 1 / np.sqrt(x), 0.25),
    "relu": unary("relu", NUMBERS, lambda x: np.maximum(x, 0)),
    "softplus": smooth("softplus", lambda x: np.logaddexp(x, 0), kinds=REAL),
    "erf": smooth("erf", lambda x: ERF(x.astype(float)), kinds=REAL), "sigmoid": smooth("sigmoid", SIGMOID, kinds=REAL),
    "silu": smooth("silu", lambda x: x * SIGMOID(x), kinds=REAL),
    "gelu": smooth("gelu", lambda x: 0.5 * x * (1 + ERF(x.astype(float) / math.sqrt(2))), kinds=REAL),
    "gelu_tanh": smooth("gelu_tanh", GELU_TANH, kinds=REAL),
    **{name: unary(name, NUMBERS, lambda x,
            f=getattr(np, name): f(x) if x.dtype.kind == "f" else x) for name in ("floor", "ceil", "trunc")},
    "round": unary("round", "iufc"),
    **{name: unary(name, ALL) for name in ("isnan", "isinf", "isfinite", "logical_not")},
    "signbit": smooth("signbit", kinds=REAL), "bitwise_invert": unary("bitwise_invert", "biu"),
    "real": unary("real", ALL), "imag": unary("imag", ALL), "angle": smooth("angle"),
}  # fmt: skip


def binary(name, kinds, want=None, low=-4, high=4, second=None, to=wide):
    def row(d):
        dtype, shape = d.type(kinds), d.shape()
        x, t = d.array(shape=shape, dtype=dtype, low=low, high=high)
        other = tuple(d.among(n, 1) if n != 1 else d.among(1, 3) for n in shape[d(st.integers(0, len(shape))) :])
        y, u = d.array(shape=other, dtype=dtype, low=low if second is None else second, high=high)
        f = want or getattr(np, name)
        return both(lambda: getattr(strata, name)(t, u), lambda: f(to(x), to(y)))

    return row


SHIFT = {"low": 0, "high": 6}
COMPARED = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
BINARY = {
    "subtract": binary("subtract", "iufc"), "multiply": binary("multiply", ALL), "add": binary("add", ALL),
    "sub": binary("sub", "iufc", np.subtract), "mul": binary("mul", ALL, np.multiply),
    "divide": binary("divide", ALL, second=0.5, to=floats), "div": binary("div", ALL, np.divide, second=0.5, to=floats),
    **{name: binary(name, NUMBERS, second=1) for name in ("floor_divide", "remainder")},
    "pow": binary("pow", "iufc", np.power, 0.25, 3, 1),
    **{name: binary(name, REAL, to=floats) for name in ("atan2", "hypot", "logaddexp", "copysign")},
    "nextafter": lambda d: nearest(d), "complex": binary("complex", REAL, lambda a, b: a + 1j * b, to=floats),
    **{name: binary(name, REAL) for name in ("maximum", "minimum")},
    **{name: binary(name, ALL) for name in ("equal", "not_equal", "logical_and", "logical_or", "logical_xor")},
    **{name: binary(name, REAL) for name in ("less", "less_equal", "greater", "greater_equal")},
    **{name: binary(name, ALL if name in ("eq", "ne") else REAL, getattr(np, long)) for name, long in COMPARED.items()},
    **{name: binary(name, "biu") for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{name: binary(name, "iu", **SHIFT) for name in ("bitwise_left_shift", "bitwise_right_shift")},
}  # fmt: skip


def nearest(d):
    x, t = d.array(REAL)
    y, u = d.array(shape=x.shape, dtype=x.dtype.name)
    x, y = (v if v.dtype.kind == "f" else v.astype(np.float32) for v in (x, y))
    return both(lambda: strata.nextafter(t, u), lambda: np.nextafter(x, y))


def reduction(name, kinds, want=None, one_axis=False, to=wide, **more):
    def row(d):
        x, t = d.array(kinds)
        named = {"axis": d.axis(x) if one_axis else d.axes(x), "keepdims": d.among(True, False)} | {
            key: d.among(*values) for key, values in more.items()
        }
        f = want or getattr(np, name)
        return both(
            lambda: getattr(strata, name)(t, **named),
            lambda: f(to(x), **{"ddof" if k == "correction" else k: v for k, v in named.items()}),
        )

    return row


def logsumexp(x, axis=None, keepdims=False):
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


def holes(name, kinds, to=wide, **more):
    """Some of the elements are NaN, where the type has it."""

    def row(d):
        x, t = d.array(kinds)
        mask = (d.rng.random(x.shape) < 0.25) & (x.dtype.kind in "fc")
        named = {"axis": d.axes(x), "keepdims": d.among(True, False)} | {
            key: d.among(*values) for key, values in more.items()
        }
        got = strata.where(Tensor(mask), math.nan, t) if mask.any() else t
        return both(
            lambda: getattr(strata, name)(got, **named),
            lambda: getattr(np, name)(
                np.where(mask, math.nan, to(x)) if mask.any() else to(x),
                **{"ddof" if k == "correction" else k: v for k, v in named.items()},
            ),
        )

    return row


REDUCTIONS = {
    **{name: reduction(name, ALL) for name in ("any", "all", "count_nonzero")}, "sum": reduction("sum", ALL),
    "prod": reduction("prod", ALL), **{name: reduction(name, REAL) for name in ("max", "min")},
    "mean": reduction("mean", ALL, to=floats),
    **{name: reduction(name, ALL, to=floats, correction=(0, 1)) for name in ("var", "std")},
    **{name: reduction(name, REAL, one_axis=True) for name in ("argmax", "argmin")},
    "logsumexp": reduction("logsumexp", REAL, logsumexp, to=floats),
    "median": reduction("median", REAL, to=lambda x: floats(x).astype(float)),
    **{name: holes(name, ALL) for name in ("nansum", "nanprod")}, "nanmean": holes("nanmean", ALL, floats),
    **{name: holes(name, REAL) for name in ("nanmax", "nanmin")},
    **{name: holes(name, REAL, floats, correction=(0, 1)) for name in ("nanvar", "nanstd")},
    "nanmedian": holes("nanmedian", REAL, lambda x: floats(x).astype(float)),
}  # fmt: skip


def along(name, kinds, want, to=wide, **more):
    """A function along one axis in range."""

    def row(d):
        x, t = d.array(kinds, least=1)
        axis, named = d.axis(x, none=False), {key: d.among(*values) for key, values in more.items()}
        return both(lambda: getattr(strata, name)(t, axis=axis, **named), lambda: want(to(x), axis=axis, **named))

    return row


def softmax(x, axis):
    e = np.exp(x)
    return e / e.sum(axis, keepdims=True)


def kth(d):
    x, t = d.array(REAL, least=1)
    axis = d.axis(x, none=False)
    if x.shape[axis] == 0:
        raise Refused("no element is the k-th")
    k = d(st.integers(1, x.shape[axis]))
    value, place = strata.kthvalue(t, k, axis)
    return (value, t.gather(axis, place.unsqueeze(axis)).squeeze(axis)), (np.sort(x, axis).take(k - 1, axis),) * 2


def topk(d):
    x, t = d.array(REAL, least=1)
    axis, largest = d.axis(x, none=False), d.among(True, False)
    k = d(st.integers(0, x.shape[axis]))
    order = np.sort(x, axis)
    want = np.flip(order, axis) if largest else order
    value, place = strata.topk(t, k, axis, largest)
    want = want.take(range(k), axis)
    return (value, t.gather(axis, place)), (want, want)


def searched(d):
    dtype, side = d.type(REAL), d.among("left", "right")
    x = np.sort(d.values(dtype, d.shape(1, 1), -4, 4))
    y, u = d.array(dtype=dtype)
    return both(lambda: strata.searchsorted(Tensor(x), u, side=side), lambda: np.searchsorted(x, y, side))


def quantile(d):
    x, t = d.array(REAL)
    q, axis, keep = d.among(0, 0.3, 0.5, 1, [0.25, 1.0]), d.axes(x), d.among(True, False)
    if x.size == 0 and isinstance(axis, tuple):
        raise Refused("NumPy cannot join axes of no elements")
    return both(lambda: strata.quantile(t, q, axis, keep), lambda: np.quantile(x.astype(float), q, axis, keepdims=keep))


def unique(parts):
    def row(d):
        x, t = d.array(ALL)
        found = np.unique(x, True, True, True)
        want = {
            "values": found[0],
            "indices": found[1],
            "inverse_indices": found[2].reshape(x.shape),
            "counts": found[3],
        }
        got = getattr(strata, f"unique_{parts[0]}")(t)
        return (tuple(got), tuple(want[part] for part in parts[1])) if parts[0] != "values" else (got, found[0])

    return row


ORDER = {
    "sort": along("sort", REAL, lambda x, axis: np.sort(x, axis)),
    "argsort": along("argsort", REAL, lambda x, axis: np.argsort(x, axis, stable=True)),
    "cumsum": along("cumsum", ALL, np.cumsum), "cumprod": along("cumprod", ALL, np.cumprod),
    "cumulative_sum": along("cumulative_sum", ALL, np.cumulative_sum, include_initial=(True, False)),
    "cumulative_prod": along("cumulative_prod", ALL, np.cumulative_prod, include_initial=(True, False)),
    "cummax": along("cummax", REAL, np.maximum.accumulate), "cummin": along("cummin", REAL, np.minimum.accumulate),
    "logcumsumexp": along("logcumsumexp", REAL, np.logaddexp.accumulate, floats),
    "diff": along("diff", ALL, lambda x, axis, n: np.diff(x, n, axis), n=(0, 1, 2)),
    "softmax": along("softmax", REAL, softmax, floats),
    "log_softmax": along("log_softmax", REAL, lambda x, axis: np.log(softmax(x, axis)), floats), "topk": topk,
    "kthvalue": kth, "searchsorted": searched, "quantile": quantile,
    "unique_values": unique(("values", ())),
    "unique_all": unique(("all", ("values", "indices", "inverse_indices", "counts"))),
    "unique_counts": unique(("counts", ("values", "counts"))),
    "unique_inverse": unique(("inverse", ("values", "inverse_indices"))),
    "unique": lambda d: (lambda x, t: (strata.unique(t), np.unique(x)))(*d.array(ALL)),
    "nonzero": lambda d: (lambda x, t: both(lambda: strata.nonzero(t), lambda: np.nonzero(x)))(*d.array(ALL, least=1)),
    "flat_nonzero": lambda d: (lambda x, t: (strata.flat_nonzero(t), np.flatnonzero(x)))(*d.array(ALL)),
}  # fmt: skip
