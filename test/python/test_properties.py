"""Every function of strata, strata.linalg and strata.fft against NumPy, by hypothesis: any type it takes, any shape, axis, no
elements at all, and views that are transposed, strided, reversed, cut or repeated.

A row draws arguments and gives (Strata's result, NumPy's), each called at once, so that errors are compared too: where one side
refuses what was drawn, the other has to. NumPy computes in a wider type; floats are compared within a few roundings of their own.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strata
from drawn import ALL, NUMBERS, REAL, TYPES, Draw, Refused, both, compare, wide
from strata import Tensor
from tested import QUICK_TARGET


def unary(name, kinds, want=None, low=-4, high=4):
    def row(d):
        x, t = d.array(kinds, low=low, high=high)
        reference = want or getattr(np, name)
        return both(lambda: getattr(strata, name)(t), lambda: reference(x if x.dtype.kind in "biu" and "f" not in kinds.replace("biuf", "") and kinds != "f" else wide(x)))

    return row


ERF = np.vectorize(math.erf, otypes=[float])
SIGMOID = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
GELU_TANH = lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))  # noqa: E731
UNARY = {
    **{name: unary(name, "iufc") for name in ("negative", "abs", "square", "positive", "conj", "sign")}, "neg": unary("neg", "iufc", np.negative),
    **{name: unary(name, "fc") for name in ("exp", "sin", "cos", "tanh", "sinh", "cosh", "expm1")}, **{name: unary(name, "f", low=-1.25, high=1.25) for name in ("tan", "atan", "asinh", "exp2")},
    **{name: unary(name, "f", low=0.25) for name in ("sqrt", "log", "log2", "log10", "reciprocal")}, "log1p": unary("log1p", "f", low=-0.75), **{name: unary(name, "f", low=-1, high=1) for name in ("asin", "acos")},
    "acosh": unary("acosh", "f", low=1), "atanh": unary("atanh", "f", low=-0.875, high=0.875), "rsqrt": unary("rsqrt", "f", lambda x: 1 / np.sqrt(x), 0.25), "relu": unary("relu", NUMBERS, lambda x: np.maximum(x, 0)),
    "erf": unary("erf", "f", lambda x: ERF(x.astype(float))), "sigmoid": unary("sigmoid", "f", SIGMOID), "silu": unary("silu", "f", lambda x: x * SIGMOID(x)),
    "gelu": unary("gelu", "f", lambda x: 0.5 * x * (1 + ERF(x.astype(float) / math.sqrt(2)))), "gelu_tanh": unary("gelu_tanh", "f", GELU_TANH),
    **{name: unary(name, NUMBERS, lambda x, f=getattr(np, name): f(x) if x.dtype.kind == "f" else x) for name in ("floor", "ceil", "trunc", "round")},
    **{name: unary(name, ALL) for name in ("isnan", "isinf", "isfinite", "logical_not")}, "signbit": unary("signbit", "f"), "bitwise_invert": unary("bitwise_invert", "biu"),
    "real": unary("real", ALL), "imag": unary("imag", ALL), "angle": unary("angle", "fc"),
}  # fmt: skip


def binary(name, kinds, want=None, low=-4, high=4, second=None):
    def row(d):
        dtype, shape = d.type(kinds), d.shape()
        x, t = d.array(shape=shape, dtype=dtype, low=low, high=high)
        other = tuple(d.among(n, 1) if n != 1 else d.among(1, 3) for n in shape[d(st.integers(0, len(shape))) :])
        y, u = d.array(shape=other, dtype=dtype, low=low if second is None else second, high=high)
        f = want or getattr(np, name)
        return both(lambda: getattr(strata, name)(t, u), lambda: f(wide(x), wide(y)))

    return row


SHIFT = {"low": 0, "high": 6}
BINARY = {
    **{name: binary(name, "iufc") for name in ("subtract", "multiply")}, "add": binary("add", ALL), "sub": binary("sub", "iufc", np.subtract), "mul": binary("mul", ALL, np.multiply), "divide": binary("divide", "fc", second=0.5), "div": binary("div", "fc", np.divide, second=0.5),
    **{name: binary(name, NUMBERS, second=1) for name in ("floor_divide", "remainder")}, "pow": binary("pow", NUMBERS, np.power, 0.25, 3, 1), **{name: binary(name, "f") for name in ("atan2", "hypot", "logaddexp", "copysign")},
    "nextafter": lambda d: nearest(d), **{name: binary(name, REAL) for name in ("maximum", "minimum", "less", "less_equal", "greater", "greater_equal")}, **{name: binary(name, ALL) for name in ("equal", "not_equal", "logical_and", "logical_or", "logical_xor")},
    **{name: binary(name, ALL, getattr(np, long)) for name, long in (("eq", "equal"), ("ne", "not_equal"))}, **{name: binary(name, REAL, getattr(np, long)) for name, long in (("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal"))},
    **{name: binary(name, "biu") for name in ("bitwise_and", "bitwise_or", "bitwise_xor")}, **{name: binary(name, "iu", **SHIFT) for name in ("bitwise_left_shift", "bitwise_right_shift")},
}  # fmt: skip


def nearest(d):
    x, t = d.array("f")
    y, u = d.array(shape=x.shape, dtype=x.dtype.name)
    return both(lambda: strata.nextafter(t, u), lambda: np.nextafter(x, y))


def reduction(name, kinds, want=None, one_axis=False, **more):
    def row(d):
        x, t = d.array(kinds)
        named = {"axis": d.axis(x) if one_axis else d.axes(x), "keepdims": d.among(True, False)} | {key: d.among(*values) for key, values in more.items()}
        f = want or getattr(np, name)
        return both(lambda: getattr(strata, name)(t, **named), lambda: f(wide(x) if x.dtype.kind in "fc" else x, **{"ddof" if k == "correction" else k: v for k, v in named.items()}))

    return row


def logsumexp(x, axis=None, keepdims=False):
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


def holes(name):
    def row(d):
        x, t = d.array("f", empty=False)
        mask = d.rng.random(x.shape) < 0.25
        named = {"axis": d.axes(x), "keepdims": d.among(True, False)}
        return both(lambda: getattr(strata, name)(strata.where(Tensor(mask), math.nan, t), **named), lambda: getattr(np, name)(np.where(mask, np.nan, wide(x)).astype(float), **named))

    return row


REDUCTIONS = {
    **{name: reduction(name, ALL) for name in ("any", "all", "count_nonzero")}, "sum": reduction("sum", ALL), "prod": reduction("prod", ALL), **{name: reduction(name, REAL) for name in ("max", "min")},
    **{name: reduction(name, "fc") for name in ("mean",)}, **{name: reduction(name, "f", correction=(0, 1)) for name in ("var", "std")}, **{name: reduction(name, REAL, one_axis=True) for name in ("argmax", "argmin")},
    "logsumexp": reduction("logsumexp", "f", logsumexp), "median": reduction("median", "f", lambda x, **n: np.median(x.astype(float), **n)), **{name: holes(name) for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nanmedian")},
}  # fmt: skip


def along(name, kinds, want, **more):
    """Of one axis, which is there."""

    def row(d):
        x, t = d.array(kinds, least=1)
        axis, named = d.axis(x, none=False), {key: d.among(*values) for key, values in more.items()}
        return both(lambda: getattr(strata, name)(t, axis=axis, **named), lambda: want(wide(x) if x.dtype.kind in "fc" else x, axis=axis, **named))

    return row


def softmax(x, axis):
    e = np.exp(x)
    return e / e.sum(axis, keepdims=True)


def kth(d):
    x, t = d.array(REAL, least=1, empty=False)
    axis = d.axis(x, none=False)
    k = d(st.integers(1, x.shape[axis]))
    value, place = strata.kthvalue(t, k, axis)
    return (value, t.gather(axis, place.unsqueeze(axis)).squeeze(axis)), (np.sort(x, axis).take(k - 1, axis),) * 2


def topk(d):
    x, t = d.array(REAL, least=1, empty=False)
    axis, largest = d.axis(x, none=False), d.among(True, False)
    k = d(st.integers(0, x.shape[axis]))
    order = np.sort(x, axis)
    want = np.flip(order, axis) if largest else order
    value, place = strata.topk(t, k, axis, largest)
    want = want.take(range(k), axis)
    return (value, t.gather(axis, place)), (want, want)


def searched(d):
    dtype, side = d.type("iuf"), d.among("left", "right")
    x = np.sort(d.values(dtype, d.shape(1, 1), -4, 4))
    y, u = d.array(dtype=dtype)
    return both(lambda: strata.searchsorted(Tensor(x), u, side=side), lambda: np.searchsorted(x, y, side))


def quantile(d):
    x, t = d.array("f", empty=False)
    q, axis = d.among(0, 0.3, 0.5, 1), d.axes(x)
    return both(lambda: strata.quantile(t, q, axis), lambda: np.quantile(x.astype(float), q, axis))


def unique(parts):
    def row(d):
        x, t = d.array("biuf")
        found = np.unique(x, True, True, True)
        want = {"values": found[0], "indices": found[1], "inverse_indices": found[2].reshape(x.shape), "counts": found[3]}
        got = getattr(strata, f"unique_{parts[0]}")(t)
        return (tuple(got), tuple(want[part] for part in parts[1])) if parts[0] != "values" else (got, found[0])

    return row


ORDER = {
    "sort": along("sort", "biuf", lambda x, axis: np.sort(x, axis)), "argsort": along("argsort", "biuf", lambda x, axis: np.argsort(x, axis, stable=True)), "cumsum": along("cumsum", "iufc", np.cumsum), "cumprod": along("cumprod", "iuf", np.cumprod),
    "cumulative_sum": along("cumulative_sum", "iufc", np.cumulative_sum, include_initial=(True, False)), "cumulative_prod": along("cumulative_prod", "iuf", np.cumulative_prod, include_initial=(True, False)),
    "cummax": along("cummax", "iuf", np.maximum.accumulate), "cummin": along("cummin", "iuf", np.minimum.accumulate), "logcumsumexp": along("logcumsumexp", "f", np.logaddexp.accumulate), "diff": along("diff", "iufc", lambda x, axis, n: np.diff(x, n, axis), n=(0, 1, 2)),
    "softmax": along("softmax", "f", softmax), "log_softmax": along("log_softmax", "f", lambda x, axis: np.log(softmax(x, axis))), "topk": topk, "kthvalue": kth, "searchsorted": searched, "quantile": quantile,
    "unique_values": unique(("values", ())), "unique_all": unique(("all", ("values", "indices", "inverse_indices", "counts"))), "unique_counts": unique(("counts", ("values", "counts"))), "unique_inverse": unique(("inverse", ("values", "inverse_indices"))),
    "unique": lambda d: (lambda x, t: (strata.unique(t), np.unique(x)))(*d.array("biuf")), "nonzero": lambda d: (lambda x, t: both(lambda: strata.nonzero(t), lambda: np.nonzero(x)))(*d.array(ALL, least=1)),
    "flat_nonzero": lambda d: (lambda x, t: (strata.flat_nonzero(t), np.flatnonzero(x)))(*d.array(ALL)),
}  # fmt: skip


def movement(name, strata_call, numpy_call, arguments=lambda d, x: (), **limits):
    """calls: of the tensor or array, and what was drawn for it."""

    def row(d):
        x, t = d.array(ALL, **limits)
        given = arguments(d, x)
        return both(lambda: strata_call(t, *given), lambda: numpy_call(x, *given))

    return row


def order_of(d, x):
    return (tuple(d(st.permutations(range(x.ndim)))),)


def two_axes(d, x):
    return d.axis(x, none=False), d.axis(x, none=False)


def widths(d, x):
    return ([(d.among(0, 1, 2), d.among(0, 1, 2)) for _ in x.shape],)


def pieces(d, x):
    return d(st.integers(1, 4)), d.axis(x, none=False)


def of_size(x, n, axis):
    return np.split(x, range(n, x.shape[axis], n), axis)


def chunks(x, n, axis):
    return of_size(x, max(1, -(-x.shape[axis] // n)), axis)


def joined(d, call, numpy_call, new_axis):
    x, t = d.array(ALL, least=0 if new_axis else 1)
    axis = d(st.integers(-x.ndim - 1, x.ndim)) if new_axis else d.axis(x, none=False)
    shape = list(x.shape)
    if not new_axis:
        shape[axis] = d(st.integers(0, 3))
    y, u = d.array(shape=shape, dtype=x.dtype.name)
    return both(lambda: call([t, u, t], axis=axis), lambda: numpy_call([x, y, x], axis=axis))


def expanded(d, x):
    return ((*d.shape(0, 1), *(d.among(n, 3) if n == 1 else n for n in x.shape)),)


MOVEMENT = {
    "reshape": movement("reshape", lambda t, s: strata.reshape(t, s), lambda x, s: x.reshape(s), lambda d, x: (d.among((-1,), (x.size,), x.shape[::-1], (1, *x.shape, 1)),), empty=False),
    "permute_dims": movement("permute_dims", strata.permute_dims, np.transpose, order_of), "transpose": movement("transpose", strata.transpose, np.swapaxes, two_axes, least=1), "matrix_transpose": movement("matrix_transpose", strata.matrix_transpose, np.matrix_transpose, least=2),
    "moveaxis": movement("moveaxis", strata.moveaxis, np.moveaxis, two_axes, least=1), "movedim": movement("movedim", strata.movedim, np.moveaxis, two_axes, least=1), "broadcast_to": movement("broadcast_to", strata.broadcast_to, np.broadcast_to, expanded),
    "pad": movement("pad", strata.pad, lambda x, w: np.pad(x, w) if x.ndim else x, widths), "shrink": movement("shrink", lambda t: strata.shrink(t, [(n // 3, n - n // 4) for n in t.shape]), lambda x: x[tuple(slice(n // 3, n - n // 4) for n in x.shape)]),
    "flip": movement("flip", lambda t, a: strata.flip(t, axis=a), lambda x, a: np.flip(x, a), lambda d, x: (d.axes(x),)), "roll": movement("roll", lambda t, s, a: strata.roll(t, s, axis=a), np.roll, lambda d, x: (d(st.integers(-5, 5)), d.axis(x))),
    "squeeze": movement("squeeze", lambda t, a: strata.squeeze(t, axis=a), np.squeeze, lambda d, x: (d.axis(x, none=False),), least=1), "unsqueeze": movement("unsqueeze", strata.unsqueeze, np.expand_dims, lambda d, x: (d(st.integers(-x.ndim - 1, x.ndim)),)),
    "expand_dims": movement("expand_dims", lambda t, a: strata.expand_dims(t, axis=a), np.expand_dims, lambda d, x: (d(st.integers(-x.ndim - 1, x.ndim)),)), "flatten": movement("flatten", strata.flatten, np.ravel),
    "unflatten": movement("unflatten", lambda t: strata.unflatten(t, -1, [1, -1]), lambda x: x.reshape(*x.shape[:-1], 1, x.shape[-1]), least=1, empty=False), "chunk": movement("chunk", strata.chunk, chunks, pieces, least=1, empty=False),
    "split": movement("split", lambda t, n, a: t.split(n, a), of_size, pieces, least=1, empty=False), "tile": movement("tile", lambda t, c: strata.tile(t, c), np.tile, lambda d, x: ([d.among(0, 1, 2) for _ in range(d(st.integers(0, 3)))],)),
    "repeat": movement("repeat", lambda t, n, a: strata.repeat(t, n, axis=a), np.repeat, lambda d, x: (d.among(0, 1, 3), d.axis(x))), "unstack": movement("unstack", lambda t, a: strata.unstack(t, axis=a), lambda x, a: np.unstack(x, axis=a), lambda d, x: (d.axis(x, none=False),), least=1),
    "concat": lambda d: joined(d, strata.concat, np.concat, False), "cat": lambda d: joined(d, strata.cat, np.concatenate, False), "stack": lambda d: joined(d, strata.stack, np.stack, True),
    "tril": movement("tril", lambda t, k: strata.tril(t, k=k), np.tril, lambda d, x: (d(st.integers(-3, 3)),), least=2), "triu": movement("triu", lambda t, k: strata.triu(t, k=k), np.triu, lambda d, x: (d(st.integers(-3, 3)),), least=2),
    "contiguous": movement("contiguous", strata.contiguous, np.copy), "diagonal": movement("diagonal", lambda t, k: strata.diagonal(t, offset=k), lambda x, k: np.diagonal(x, k, -2, -1), lambda d, x: (d(st.integers(-2, 2)),), least=2),
    "unfold": movement("unfold", lambda t, a, n, s: strata.unfold(t, a, n, s), lambda x, a, n, s: np.lib.stride_tricks.sliding_window_view(x, n, a)[tuple(slice(None, None, s if i == a % x.ndim else 1) for i in range(x.ndim))], lambda d, x: (d.axis(x, none=False), 1, d.among(1, 2)), least=1, empty=False),
    "broadcast_arrays": lambda d: (lambda x, t: both(lambda: strata.broadcast_arrays(t, t[..., :1]), lambda: np.broadcast_arrays(x, x[..., :1])))(*d.array(ALL, least=1)),
    "meshgrid": lambda d: (lambda x, t, how: both(lambda: strata.meshgrid(t, t, indexing=how), lambda: np.meshgrid(x, x, indexing=how)))(*d.array(REAL, least=1, most=1), d.among("xy", "ij")),
    "tril_indices": lambda d: (lambda n, k, m: (strata.tril_indices(n, k, m), np.tril_indices(n, k, m)))(*[d(st.integers(0, 4)) for _ in range(3)]), "triu_indices": lambda d: (lambda n, k, m: (strata.triu_indices(n, k, m), np.triu_indices(n, k, m)))(*[d(st.integers(0, 4)) for _ in range(3)]),
}  # fmt: skip


def indices_along(d, x, axis, count):
    return d.rng.integers(-x.shape[axis], x.shape[axis], count)


def taken(d):
    x, t = d.array(ALL, least=1, empty=False)
    axis = d.axis(x, none=False)
    at = indices_along(d, x, axis, d.shape(0, 2))
    return both(lambda: strata.take(t, Tensor(at), axis=axis), lambda: np.take(x, at, axis))


def gathered(name):
    def row(d):
        x, t = d.array(ALL, least=1, empty=False)
        axis = d.axis(x, none=False)
        shape = list(x.shape)
        shape[axis] = d(st.integers(0, 4))
        at = indices_along(d, x, axis, shape)
        got = (lambda: strata.gather(t, axis, Tensor(at))) if name == "gather" else (lambda: strata.take_along_axis(t, Tensor(at), axis=axis))
        return both(got, lambda: np.take_along_axis(x, at, axis))

    return row


def scattered(add):
    def row(d):
        x, t = d.array("if", least=1, empty=False)
        axis = d.axis(x, none=False)
        shape = list(x.shape)
        shape[axis] = d(st.integers(0, 4))
        at, values = indices_along(d, x, axis, shape), d.values(x.dtype.name, shape, -4, 4)
        want = x.copy()
        for place in np.ndindex(*shape):
            to = list(place)
            to[axis] = at[place]
            want[tuple(to)] = want[tuple(to)] + values[place] if add else values[place]
        return getattr(strata, "scatter_add" if add else "scatter")(t, axis, Tensor(at), Tensor(values)), want

    return row


def added_at(d):
    x, t = d.array("if", least=1, empty=False)
    axis = d.axis(x, none=False)
    at = indices_along(d, x, axis, d(st.integers(0, 4)))
    shape = list(x.shape)
    shape[axis] = len(at)
    values, want = d.values(x.dtype.name, shape, -4, 4), x.copy()
    np.add.at(np.moveaxis(want, axis, 0), at, np.moveaxis(values, axis, 0))
    return strata.index_add(t, axis, Tensor(at), Tensor(values)), want


def masked(d):
    x, t = d.array(ALL)
    mask = d.rng.random(x.shape) < 0.5
    return (strata.masked_fill(t, Tensor(mask), 1), t[Tensor(mask)]), (np.where(mask, np.ones((), x.dtype), x), x[mask])


def assigned(d):
    x, t = d.array(REAL, least=1, empty=False)
    axis = d.axis(x, none=False) % x.ndim
    n = x.shape[axis]
    key = (slice(None),) * axis + (d.among(0, -1, slice(None, None, -1), slice(n // 2, None), slice(0, 0)),)
    want, u = x.copy(), t.clone()
    value = d.values(x.dtype.name, want[key].shape, 0, 4)
    want[key], u[key] = value, Tensor(value)
    return (u, t), (want, x)


def where(d):
    x, t = d.array(ALL)
    y, u = d.array(shape=x.shape, dtype=x.dtype.name)
    c, m = d.array("b", shape=x.shape)
    return both(lambda: strata.where(m, t, u), lambda: np.where(c, x, y))


def clipped(d):
    x, t = d.array(NUMBERS)
    low, high = d.among(None, 1), d.among(None, 3)
    return both(lambda: strata.clip(t, low, high), lambda: np.clip(x, low, high) if (low, high) != (None, None) else x)


def cast(d):
    x, t = d.array(REAL, low=0)
    to = d.type(REAL)
    return both(lambda: strata.astype(t, to), lambda: x.astype(to))


def counted(d):
    x = d.rng.integers(0, 6, d(st.integers(0, 12)))
    least = d.among(0, 9)
    return strata.bincount(Tensor(x), None, least), np.bincount(x, minlength=least)


def bins(d):
    x, t = d.array("f", empty=False, dtype=d.among("float32", "float64"))  # ends of bins of float16 are no round numbers in NumPy
    n = d(st.integers(1, 6))
    return both(lambda: strata.histogram(t, n, (-4.0, 4.0)), lambda: tuple(np.asarray(v) for v in np.histogram(x, n, (-4.0, 4.0))))


INDEXING = {
    "take": taken, "gather": gathered("gather"), "take_along_axis": gathered("take_along_axis"), "scatter": scattered(False), "scatter_add": scattered(True), "index_add": added_at, "masked_fill": masked, "x[...] = value": assigned, "where": where, "clip": clipped, "astype": cast,
    "cast": cast, "bincount": counted, "histogram": bins, "one_hot": lambda d: (lambda x: (strata.one_hot(Tensor(x), 5), np.eye(5, dtype=np.int64)[x]))(d.rng.integers(0, 5, d.shape())),
}  # fmt: skip


def product(name, want, first, second, kinds="iufc"):
    """Of matrices of sizes that are drawn by letter."""

    def row(d):
        sizes = {letter: d(st.integers(0 if d.among(*[False] * 5, True) else 1, 4)) for letter in "ijkb"} | {"3": 3}
        dtype = d.type(kinds)
        x, t = d.array(shape=[sizes[c] for c in first], dtype=dtype)
        y, u = d.array(shape=[sizes[c] for c in second], dtype=dtype)
        call = name if callable(name) else getattr(strata, name)
        return both(lambda: call(t, u), lambda: want(wide(x), wide(y)) if x.dtype.kind in "fc" else want(x, y))

    return row


def apart(x, y):
    return np.sqrt(((x[:, None] - y[None]) ** 2).sum(-1))


def norms(d):
    x, t = d.array("fc", least=1)
    order = d.among(1, 2, 3, math.inf, -math.inf)
    axis = d.axis(x, none=False)
    return both(lambda: strata.linalg.vector_norm(t, axis=axis, ord=order), lambda: np.linalg.vector_norm(x.astype(complex if x.dtype.kind == "c" else float), axis=axis, ord=order))


PRODUCTS = {
    "matmul": product("matmul", np.matmul, "bij", "bjk"), "tensordot": product(lambda a, b: strata.tensordot(a, b, axes=1), lambda a, b: np.tensordot(a, b, 1), "ij", "jk"), "vecdot": product("vecdot", np.vecdot, "bj", "bj"), "kron": product("kron", np.kron, "ij", "jk"),
    "einsum": product(lambda a, b: strata.einsum("bij,bjk->kb", a, b), lambda a, b: np.einsum("bij,bjk->kb", a, b), "bij", "bjk"), "outer": product("outer", np.linalg.outer, "i", "j"), "cross": product("cross", np.linalg.cross, "b3", "b3", "if"),
    "cdist": product("cdist", apart, "ij", "kj", "f"), "trace": movement("trace", strata.trace, lambda x: np.linalg.trace(x if x.dtype.kind != "b" else x.astype(int)), least=2), "norm": norms,
}  # fmt: skip


def matrix(name, want, symmetric=False):
    """Of matrices that are well conditioned."""

    def row(d):
        dtype, n = d.among("float32", "float64"), d(st.integers(1, 4))
        x, _ = d.array(shape=(*d.shape(0, 1), n, n), dtype=dtype, low=-1, high=1)
        x = x + 5 * np.eye(n, dtype=dtype)
        x = (x + x.swapaxes(-1, -2)) / 2 if symmetric else x
        return both(lambda: getattr(strata.linalg, name)(Tensor(x)), lambda: want(x))

    return row


LINALG = {
    **{name: matrix(name, getattr(np.linalg, name)) for name in ("det", "inv", "slogdet", "svdvals", "matrix_rank", "pinv", "matrix_norm")}, **{name: matrix(name, getattr(np.linalg, name), True) for name in ("cholesky", "eigvalsh")},
    "matrix_power": lambda d: (lambda x, t, n: both(lambda: strata.linalg.matrix_power(t, n), lambda: np.linalg.matrix_power(wide(x).astype(float), n)))(*d.array(shape=(3, 3), dtype="float64", low=1), d.among(0, 1, 2, 3)), "vector_norm": norms,
    "solve": lambda d: (lambda x, y: (strata.linalg.solve(Tensor(x), Tensor(y)), np.linalg.solve(x, y)))(d.values("float64", (3, 3), -1, 1) + 5 * np.eye(3), d.values("float64", (3, 2), -4, 4)),
}  # fmt: skip


def transform(name):
    def row(d):
        x, t = d.array("f" if name in ("rfft", "ihfft", "rfftn") else "fc", least=1, empty=False, dtype=d.among("float32", "float64") if name in ("rfft", "ihfft", "rfftn") else d.among("float64", "complex64", "complex128"))
        named = {"norm": d.among("backward", "ortho", "forward")}
        if not name.endswith("n"):
            named |= {"axis": d.axis(x, none=False), "n": d.among(None, 1, 3, 6)}
        got, want = both(lambda: getattr(strata.fft, name)(t, **named), lambda: getattr(np.fft, name)(x, **named))
        return got, want

    return row


FFT = {
    **{name: transform(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn")},
    **{name: (lambda name: lambda d: (lambda x, t: both(lambda: getattr(strata.fft, name)(t), lambda: getattr(np.fft, name)(x)))(*d.array("fc", least=1)))(name) for name in ("fftshift", "ifftshift")},
    **{name: (lambda name: lambda d: (lambda n: (getattr(strata.fft, name)(n, d=0.5, dtype=strata.float64), getattr(np.fft, name)(n, 0.5)))(d(st.integers(1, 9))))(name) for name in ("fftfreq", "rfftfreq")},
}  # fmt: skip


def made(name, **more):
    """Arrays of a shape and a type that are drawn, and what is like them."""

    def row(d):
        dtype, named = d.type(ALL), {key: d.among(*values) for key, values in more.items()}
        if not name.endswith("_like"):
            shape = d.shape()
            return getattr(strata, name)(shape, **named, dtype=dtype), getattr(np, name)(shape, **named, dtype=dtype)
        x, t = d.array(ALL)
        named |= d.among({}, {"dtype": dtype})
        return getattr(strata, name)(t, **named), getattr(np, name)(x, **named)

    return row


def counted_up(d):
    dtype = d.among("int32", "int64", "float32", "float64")
    quarters = lambda low, high: d(st.integers(low, high)) / (4 if dtype[0] == "f" else 1)  # noqa: E731
    start, stop, step = quarters(-9, 9), quarters(-9, 9), d.among(1, -1) * quarters(1, 5)
    numbers = d.among((stop,), (start, stop), (start, stop, step))
    return strata.arange(*numbers, dtype=dtype), np.arange(*numbers, dtype=dtype)


def spaced(d):
    dtype, ends = d.among("float32", "float64", "complex128"), (d(st.integers(-9, 9)) / 4, d(st.integers(-9, 9)) / 4)
    named = {"num": d(st.integers(0, 6)), "endpoint": d.among(True, False), "dtype": dtype}
    return strata.linspace(*ends, **named), np.linspace(*ends, **named)


def diagonal_of_ones(d):
    n, m, k, dtype = d(st.integers(0, 4)), d.among(None, 0, 1, 5), d(st.integers(-5, 5)), d.type(ALL)
    return strata.eye(n, m, k=k, dtype=dtype), np.eye(n, m, k, dtype)


def same_bits(d):
    width = d.among(1, 2, 4, 8)
    of_width = [name for kind in "iuf" for name in TYPES[kind] if np.dtype(name).itemsize == width]
    x, t = d.array(dtype=d.among(*of_width))
    to = d.among(*[name for name in of_width if np.dtype(name).kind in "iu"])
    return strata.bitcast(t, to), np.ascontiguousarray(x).view(to).reshape(x.shape)


def of_parts(d):
    dtype = d.among("float32", "float64")
    (x, t), shape = d.array(dtype=dtype), d.shape()
    y, u = d.array(shape=x.shape if d.among(True, False) else (), dtype=dtype)
    return strata.complex(t, u), x + 1j * y.astype(x.dtype)


def resized(d):
    """Between neighbours whose centres are evenly apart: numpy.interp, and the nearest ones."""
    x, t = d.array("f", shape=(2, 3, d(st.integers(1, 6))), dtype="float64")
    n, size = x.shape[2], d(st.integers(1, 9))
    if d.among(True, False):
        return strata.interpolate(t, size), x[:, :, np.arange(size) * n // size]
    places = (np.arange(size) + 0.5) * n / size - 0.5
    return strata.interpolate(t, size, mode="linear"), np.stack([[np.interp(places, np.arange(n), row) for row in rows] for rows in x])


def without_values(name):
    def row(d):
        x, t = d.array(ALL)
        return strata.zeros_like(strata.empty(x.shape, dtype=x.dtype.name) if name == "empty" else strata.empty_like(t)), np.zeros_like(x)

    return row


CREATION = {
    **{name: made(name) for name in ("ones", "zeros", "ones_like", "zeros_like")}, "full": made("full", fill_value=(0, 1)), "full_like": made("full_like", fill_value=(0, 1)), "arange": counted_up, "linspace": spaced, "eye": diagonal_of_ones,
    "bitcast": same_bits, "complex": of_parts, "interpolate": resized, **{name: without_values(name) for name in ("empty", "empty_like")},
}  # fmt: skip


def factors(name, again):
    """What the factors are the product of, and what each of them is by itself."""

    def row(d):
        rows, columns = (n := d(st.integers(1, 4)), n if name == "eigh" else d(st.integers(1, 4)))
        x = d.values("float64", (*d.shape(0, 1, empty=False), rows, columns), -1, 1)
        x = x + x.swapaxes(-1, -2) if name == "eigh" else x
        got = [f.numpy() for f in getattr(strata.linalg, name)(Tensor(x), **({} if name != "svd" else {"full_matrices": False}))]
        for f in got[1:] if name == "eigh" else (got[:1] if name == "qr" else (got[0], got[2].swapaxes(-1, -2))):
            np.testing.assert_allclose(f.swapaxes(-1, -2) @ f, np.broadcast_to(np.eye(f.shape[-1]), (*f.shape[:-2], f.shape[-1], f.shape[-1])), atol=1e-9)
        return Tensor(again(*got)), x

    return row


FACTORS = {
    "qr": factors("qr", lambda q, r: q @ np.triu(r)), "eigh": factors("eigh", lambda values, vectors: vectors * values[..., None, :] @ vectors.swapaxes(-1, -2)),
    "svd": factors("svd", lambda u, values, vh: u * values[..., None, :] @ vh),
}  # fmt: skip


def method(name, want, kinds=ALL, least=0, arguments=lambda d, x: ()):
    """What only tensors have."""

    def row(d):
        x, t = d.array(kinds, least=least)
        given = arguments(d, x)
        return both(lambda: getattr(t, name)(*given), lambda: want(x, *given))

    return row


AXIS, AXES = lambda d, x: (d.axis(x, none=False),), lambda d, x: (d.axis(x, none=False), d.axis(x, none=False))
METHODS = {
    "absolute": method("absolute", np.abs, "iufc"), **{name: method(name, getattr(np, name), REAL, 1, AXIS) for name in ("amax", "amin")}, "clamp": method("clamp", np.clip, NUMBERS, arguments=lambda d, x: (0, 2)),
    "power": method("power", np.power, NUMBERS, arguments=lambda d, x: (2,)), "true_divide": method("true_divide", lambda x, y: wide(x) / y, "f", arguments=lambda d, x: (4,)), **{name: method(name, np.swapaxes, ALL, 1, AXES) for name in ("swapaxes", "swapdims")},
    **{name: method(name, lambda x, to: np.broadcast_to(x, to), arguments=lambda d, x: ((2, *x.shape),)) for name in ("expand",)}, "permute": method("permute", lambda x, order: x.transpose(order), arguments=lambda d, x: (tuple(d.rng.permutation(x.ndim).tolist()),)),
    **{name: method(name, lambda x, other: np.broadcast_to(x, other.shape), arguments=lambda d, x: (Tensor.zeros(2, *x.shape),)) for name in ("expand_as",)}, "view_as": method("view_as", lambda x, other: x.reshape(other.shape), arguments=lambda d, x: (Tensor.zeros(x.size),)),
    "ravel": method("ravel", np.ravel), "view": method("view", lambda x, to: x.reshape(to), arguments=lambda d, x: ((x.size,),)), "repeat_interleave": method("repeat_interleave", lambda x, n, axis: np.repeat(x, n, axis), least=1, arguments=lambda d, x: (2, d.axis(x, none=False))),
    "dot": method("dot", lambda x, y: np.dot(wide(x), y.numpy()), "if", arguments=lambda d, x: (Tensor(np.ones((x.shape[-1] if x.ndim else 1, 2), x.dtype)),), least=1),
    **{name: method(name, lambda x, dtype=dtype: x.astype(dtype), "biuf") for name, dtype in (("float", "float32"), ("double", "float64"), ("half", "float16"), ("int", "int32"), ("long", "int64"), ("short", "int16"), ("bool", "bool"))},
    "type_as": method("type_as", lambda x, other: x.astype(np.int16), "bi", arguments=lambda d, x: (Tensor.zeros(2, dtype="int16"),)), **{name: method(name, lambda x: x) for name in ("clone", "detach", "cpu")},
    "numel": lambda d: (lambda x, t: (Tensor(t.numel()), np.asarray(x.size)))(*d.array(ALL)), "dim": lambda d: (lambda x, t: (Tensor(t.dim()), np.asarray(x.ndim)))(*d.array(ALL)), "tolist": lambda d: (lambda x, t: (Tensor(float(t.tolist() == x.tolist())), np.asarray(1.0)))(*d.array("biuf")),
    "numpy": lambda d: (lambda x, t: (t, x))(*d.array(ALL)), "item": lambda d: (lambda x, t: (Tensor(float(t.item() == x.item())), np.asarray(1.0)))(*d.array("biuf", shape=d.among((), (1,), (1, 1)))),
}  # fmt: skip

ROWS = {**UNARY, **BINARY, **REDUCTIONS, **ORDER, **MOVEMENT, **INDEXING, **PRODUCTS, **LINALG, **FFT, **CREATION, **FACTORS, **METHODS}

# What has no row, by what it is.
OTHERS = {
    "of types and shapes, in test_promotion and test_array_api": "broadcast_shapes can_cast finfo iinfo isdtype promote result_type",
    "of gradients, in test_gradients": "backward checkpoint custom_gradient grad gradients jvp requires_grad_ value_and_grad vjp",
    "of devices, kernels and measurements": "asm_kernel compile current_stream custom_kernel default_device device_properties devices explain hip_kernel profile realize reset_stats settings stats tune",
    "of random numbers, in test_random": "manual_seed multinomial rand randint randn",
    "of memory and files, in test_dlpack, test_files and test_assignment": "asarray assign from_dlpack load save to to_device",
    "of a type that NumPy lacks, in test_formats": "bfloat16",
}


def test_every_function_and_method_has_a_row():
    public = lambda owner: {name for name in dir(owner) if not name.startswith("_") and callable(getattr(owner, name)) and not isinstance(getattr(owner, name), type)}  # noqa: E731
    there = set().union(*map(public, (strata, strata.linalg, strata.fft, Tensor)))
    others = {name for names in OTHERS.values() for name in names.split()}
    assert there - set(ROWS) - others == set(), "give each a row, or a place among OTHERS"
    assert others - there == set() and others & set(ROWS) == set()


@pytest.mark.parametrize("name", ROWS)
@settings(max_examples=10)
@given(data=st.data())
def test_any_arguments_give_numpys_values(name, data):
    with strata.config(target=QUICK_TARGET):
        try:
            got, want = ROWS[name](Draw(data))
        except Refused:
            return
        compare(got, want)
