"""A case for each row of plan/ops.def that plans do: operands, attributes, and the formula in NumPy.

Operands are shapes, drawn from [-2, 2), or arrays. "positive" operands are drawn from [0.2, 2.2), "unit" ones from
[0.1, 0.9).
"""

import math
from typing import Any, NamedTuple

import numpy as np

erf = np.vectorize(math.erf, otypes=[float])
erfc = np.vectorize(math.erfc, otypes=[float])


class Case(NamedTuple):
    formula: Any  # of the operands in their order, as float64, and the attributes by name
    operands: dict
    attributes: dict = {}
    domain: str = ""


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def gelu(x):
    return x * erfc(-x / np.sqrt(2)) / 2


def softplus(x):
    return np.logaddexp(0, x)


def gated(gate):
    def formula(x, axis=-1):
        a, b = np.split(x, 2, axis)
        return a * gate(b)

    return formula


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def by_axes(f):
    def formula(x, axis=(), keepdims=0):
        return f(x, axis=tuple(axis) or None, keepdims=bool(keepdims))

    return formula


def along(f):
    return lambda x, axis=-1: f(x, axis=axis)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def sparsemax(x, axis=-1):
    x = np.moveaxis(x, axis, -1)
    z = -np.sort(-x, -1)
    k = np.arange(1, x.shape[-1] + 1)
    size = (1 + k * z > z.cumsum(-1)).sum(-1, keepdims=True)
    level = (np.take_along_axis(z.cumsum(-1), size - 1, -1) - 1) / size
    return np.moveaxis(np.maximum(x - level, 0), -1, axis)


def normal(x, axes, eps):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def layer_norm(x, weight=1.0, bias=0.0, axes=1, eps=1e-5):
    return normal(x, tuple(range(x.ndim - axes, x.ndim)), eps) * weight + bias


def rms_norm(x, weight=1.0, bias=0.0, axes=1, eps=1e-6):
    over = tuple(range(x.ndim - axes, x.ndim))
    return x / np.sqrt((x**2).mean(over, keepdims=True) + eps) * weight + bias


def of_channels(v, x):
    return v.reshape(1, -1, *[1] * (x.ndim - 2)) if np.ndim(v) else v


def group_norm(x, weight=1.0, bias=0.0, groups=1, eps=1e-5):
    y = normal(x.reshape(x.shape[0], groups, -1), 2, eps).reshape(x.shape)
    return y * of_channels(weight, x) + of_channels(bias, x)


def batch_norm(x, mean, variance, weight=1.0, bias=0.0, eps=1e-5):
    y = (x - of_channels(mean, x)) / np.sqrt(of_channels(variance, x) + eps)
    return y * of_channels(weight, x) + of_channels(bias, x)


def loss(f):
    def formula(*operands, reduction="mean", **attributes):
        each = f(*operands, **attributes)
        return {"mean": np.mean, "sum": np.sum, "none": lambda x: x}[reduction](each)

    return formula


def huber(x, t, delta=1.0):
    d = np.abs(x - t)
    return np.where(d <= delta, d * d / 2, delta * (d - delta / 2))


def focal(x, t, gamma=2.0):
    cross = t * softplus(-x) + (1 - t) * softplus(x)
    return cross * (sigmoid(x) * (1 - t) + sigmoid(-x) * t) ** gamma


def multi_margin(x, t, margin=1.0):
    apart = np.maximum(margin - x[np.arange(len(t)), t][:, None] + x, 0)
    return np.where(t[:, None] == np.arange(x.shape[1]), 0, apart).mean(1)


def segments_of(f):
    return lambda x, i, segments: np.stack([f(x[i == s]) if (i == s).any() else 0 * x[0] for s in range(segments)])


def quantized(x, scale, low=-128, high=127):
    return np.clip(np.rint(x / scale), low, high)


def cosine(a, b):
    return (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


def apart(a, b):
    return np.sqrt(((a - b) ** 2).sum(-1) + 1e-12)


def gemm(a, b, c=0.0, bias=0.0, alpha=1.0, beta=1.0, layout="rrr", epilogue="identity"):
    a, b = a.swapaxes(-1, -2) if layout[0] == "c" else a, b.swapaxes(-1, -2) if layout[1] == "c" else b
    y = alpha * (a @ b) + beta * c + bias
    return {"bias_relu": lambda y: np.maximum(y, 0), "bias_gelu": gelu, "bias_silu": silu}.get(epilogue, lambda y: y)(y)


def sdpa(q, k, v, causal=0, scale=0.0):
    scores = q @ k.swapaxes(-1, -2) * (scale or q.shape[-1] ** -0.5)
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:])) > 0, scores, -np.inf)
    return softmax(scores) @ v


def rope(x, cos, sin):
    a, b = np.split(x, 2, -1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def conv(x, w, bias=0.0, padding=0):
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding)])
    seen = np.lib.stride_tricks.sliding_window_view(x, w.shape[-1], -1)
    return np.einsum("nipk,oik->nop", seen, w) + np.reshape(bias, (-1, 1))


def conv_transpose(x, w):
    y = np.zeros((x.shape[0], w.shape[1], x.shape[-1] + w.shape[-1] - 1))
    for k in range(w.shape[-1]):
        y[:, :, k : k + x.shape[-1]] += np.einsum("nip,io->nop", x, w[:, :, k])
    return y


def pool(f):
    return lambda x, window: f(np.lib.stride_tricks.sliding_window_view(x, window, -1)[..., ::window, :], -1)


def pad(x, padding, mode="constant", value=0.0):
    pairs = list(zip(padding[::2], padding[1::2]))
    if mode == "constant":
        return np.pad(x, pairs, constant_values=value)
    return np.pad(x, pairs, mode={"replicate": "edge", "circular": "wrap"}.get(mode, mode))


def put(x, start, values):
    y = x.copy()
    y[tuple(slice(s, s + n) for s, n in zip(start, values.shape))] = values
    return y


def scattered(x, indices, values, axis):
    y = x.copy()
    np.put_along_axis(y, indices, values, axis)
    return y


def added(x, indices, values, axis):
    y = np.moveaxis(x.copy(), axis, 0)
    np.add.at(y, indices, np.moveaxis(values, axis, 0))
    return np.moveaxis(y, 0, axis)


M, V, AXES = (4, 6), (6,), {"axis": [1], "keepdims": 1}
PAIR = {"x": M, "target": M}
IDS = np.array([2, 0, 3, 3])
PLACES = np.array([[1, 0, 3, 2, 1, 0], [3, 2, 1, 0, 0, 1]])
SCALES = 2.0 ** -np.arange(5, 9).reshape(4, 1)  # of each row; the last saturates
SIGNS = np.where(np.arange(24).reshape(M) % 3 == 0, 1.0, -1.0)
UNARY = {
    "cube": lambda x: x**3,
    "cbrt": np.cbrt,
    "frac": lambda x: x - np.trunc(x),
    "erfc": erfc,
    "step": lambda x: (x > 0) * 1.0,
    "relu6": lambda x: np.clip(x, 0, 6),
    "hardsigmoid": lambda x: np.clip((x + 3) / 6, 0, 1),
    "hardswish": lambda x: x * np.clip((x + 3) / 6, 0, 1),
    "selu": lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "logsigmoid": lambda x: -softplus(-x),
    "tanhshrink": lambda x: x - np.tanh(x),
}
ROWS = {
    **{name: Case(f, {"x": M}) for name, f in UNARY.items()},
    **{
        f"{name}glu": Case(gated(f), {"x": M})
        for name, f in {"": sigmoid, "re": lambda b: np.maximum(b, 0), "swi": silu, "ge": gelu}.items()
    },
    "logit": Case(lambda x: np.log(x / (1 - x)), {"x": M}, domain="unit"),
    "powi": Case(lambda x, n: x**n, {"x": M}, {"n": 3}),
    "affine": Case(lambda x, scale, shift: x * scale + shift, {"x": M}, {"scale": 3, "shift": -0.5}),
    "cast": Case(lambda x, dtype: np.trunc(x), {"x": M}, {"dtype": "int32"}),
    "hardtanh": Case(lambda x, max_val: np.clip(x, -1, max_val), {"x": M}, {"max_val": 0.5}),
    "leaky_relu": Case(
        lambda x, negative_slope: np.where(x > 0, x, negative_slope * x), {"x": M}, {"negative_slope": 0.2}
    ),
    "elu": Case(elu, {"x": M}, {"alpha": 0.7}),
    "celu": Case(lambda x, alpha: alpha * elu(x / alpha), {"x": M}, {"alpha": 0.7}),
    "hardshrink": Case(lambda x, lambd: np.where(np.abs(x) <= lambd, 0, x), {"x": M}, {"lambd": 0.6}),
    "softshrink": Case(lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0), {"x": M}),
    "threshold": Case(
        lambda x, threshold, value: np.where(x > threshold, x, value), {"x": M}, {"threshold": 0.3, "value": -7}
    ),
    "prelu": Case(lambda x, w: np.where(x > 0, x, w * x), {"x": M, "weight": V}),
    "fmod": Case(np.fmod, {"a": M, "b": V}, domain="positive"),
    "ldexp": Case(lambda a, b: a * 2**b, {"a": M, "b": V}),
    "fmin": Case(np.fmin, {"a": M, "b": V}),
    "fmax": Case(np.fmax, {"a": M, "b": V}),
    "lerp": Case(lambda a, b, weight: a + weight * (b - a), {"a": M, "b": V}, {"weight": 0.3}),
    "clamp": Case(np.clip, {"a": M, "b": np.full(V, -0.4), "c": np.full(V, 0.9)}),
    "fma": Case(lambda a, b, c: a * b + c, {"a": M, "b": M, "c": V}),
    "addcmul": Case(lambda a, b, c, value: a + value * b * c, {"a": M, "b": M, "c": V}, {"value": 0.5}),
    "addcdiv": Case(lambda a, b, c: a + b / c, {"a": M, "b": M, "c": V}, domain="positive"),
    "where": Case(np.where, {"a": np.arange(24).reshape(M) % 3 == 0, "b": M, "c": V}),
    "pad": Case(pad, {"x": M}, {"padding": [1, 2, 3, 0], "mode": "reflect"}),
    "concat": Case(
        lambda a, b, c, axis: np.concatenate([a, b, c], axis), {"a": M, "b": (4, 1), "c": (4, 3)}, {"axis": 1}
    ),
    "permute": Case(lambda x, axes: x.transpose(axes), {"x": (2, 3, 4)}, {"axes": [2, 0, 1]}),
    "repeat": Case(lambda x, repeats, axis: np.repeat(x, repeats, axis[0]), {"x": M}, {"repeats": 3, "axis": [0]}),
    "flip": Case(lambda x, axis: np.flip(x, axis), {"x": M}, {"axis": [1]}),
    "roll": Case(lambda x, shift, axis: np.roll(x, shift, axis), {"x": M}, {"shift": [2], "axis": [1]}),
    "fill": Case(lambda x, value: np.full(x.shape, value), {"x": M}, {"value": 2.5}),
    "write_slice": Case(lambda x, v, start: put(x, start, v), {"x": M, "values": (2, 3)}, {"start": [1, 2]}),
    "contiguous": Case(lambda x: x, {"x": M}),
    "tril": Case(lambda x, diagonal: np.tril(x, diagonal), {"x": M}, {"diagonal": 1}),
    "triu": Case(lambda x, diagonal: np.triu(x, diagonal), {"x": M}, {"diagonal": -1}),
    **{
        name: Case(by_axes(getattr(np, name)), {"x": M}, AXES)
        for name in ("sum", "mean", "max", "min", "prod", "var", "std", "any", "all", "count_nonzero")
    },
    "norm2": Case(by_axes(lambda x, **k: np.sqrt((x * x).sum(**k))), {"x": M}, AXES),
    "logsumexp": Case(by_axes(lambda x, **k: np.log(np.exp(x).sum(**k))), {"x": M}, AXES),
    "argmax": Case(lambda x, axis: x.argmax(axis[0]), {"x": M}, {"axis": [1]}),
    "argmin": Case(lambda x, axis: x.argmin(axis[0]), {"x": M}, {"axis": [0]}),
    "trace": Case(lambda x: np.trace(x, axis1=-2, axis2=-1), {"x": (2, 4, 4)}),
    "reduce_to": Case(lambda x, shape: x.sum((0, 1)).reshape(shape), {"x": (2, 4, 6)}, {"shape": [1, 6]}),
    "cumsum": Case(along(np.cumsum), {"x": M}, {"axis": 0}),
    "cumprod": Case(along(np.cumprod), {"x": M}),
    "cummax": Case(along(np.maximum.accumulate), {"x": M}),
    "cummin": Case(along(np.minimum.accumulate), {"x": M}),
    "logcumsumexp": Case(along(np.logaddexp.accumulate), {"x": M}, {"axis": 1}),
    "softmax": Case(softmax, {"x": M}, {"axis": 0}),
    "log_softmax": Case(lambda x: np.log(softmax(x)), {"x": M}),
    "sparsemax": Case(sparsemax, {"x": M}),
    "rms_norm": Case(rms_norm, {"x": M, "weight": V}),
    "layer_norm": Case(layer_norm, {"x": (3, *M), "weight": M, "bias": M}, {"axes": 2}),
    "group_norm": Case(group_norm, {"x": (2, 6, 5), "weight": V, "bias": V}, {"groups": 3}),
    "instance_norm": Case(lambda x: normal(x, 2, 1e-5), {"x": (2, 6, 5)}),
    "batch_norm": Case(
        batch_norm, {"x": (2, 6, 5), "mean": V, "variance": V, "weight": V, "bias": V}, domain="positive"
    ),
    "l1": Case(loss(lambda x, t: np.abs(x - t)), PAIR),
    "mse": Case(loss(lambda x, t: (x - t) ** 2), PAIR, {"reduction": "none"}),
    "huber": Case(loss(huber), PAIR, {"delta": 0.7}),
    "smooth_l1": Case(loss(lambda x, t, beta: huber(x, t, beta) / beta), PAIR, {"beta": 0.7, "reduction": "sum"}),
    "log_cosh": Case(loss(lambda x, t: np.log(np.cosh(x - t))), PAIR),
    "cross_entropy": Case(loss(lambda x, t: -np.log(softmax(x, 1))[np.arange(4), t]), {"x": M, "target": IDS}),
    "nll": Case(loss(lambda x, t: -x[np.arange(4), t]), {"x": M, "target": IDS}),
    "binary_cross_entropy": Case(loss(lambda x, t: -(t * np.log(x) + (1 - t) * np.log1p(-x))), PAIR, domain="unit"),
    "multi_margin": Case(loss(multi_margin), {"x": M, "target": IDS}, {"margin": 0.7}),
    "binary_cross_entropy_with_logits": Case(loss(lambda x, t: t * softplus(-x) + (1 - t) * softplus(x)), PAIR),
    "focal": Case(loss(focal), PAIR, domain="unit"),
    "kl_div": Case(loss(lambda x, t: t * (np.log(t) - x)), PAIR, domain="unit"),
    "poisson_nll": Case(loss(lambda x, t: np.exp(x) - t * x), PAIR),
    "gaussian_nll": Case(
        loss(lambda x, t, v: (np.log(v) + (x - t) ** 2 / v) / 2), {**PAIR, "variance": M}, domain="positive"
    ),
    "hinge": Case(loss(lambda x, t: np.maximum(1 - t * x, 0)), PAIR),
    "squared_hinge": Case(loss(lambda x, t: np.maximum(1 - t * x, 0) ** 2), PAIR),
    "soft_margin": Case(loss(lambda x, t: softplus(-t * x)), PAIR),
    "hinge_embedding": Case(loss(lambda x, t: np.where(t == 1, x, np.maximum(1 - x, 0))), {"x": M, "target": SIGNS}),
    "margin_ranking": Case(
        loss(lambda a, b, t, margin: np.maximum(margin - t * (a - b), 0)),
        {"a": M, "b": M, "target": M},
        {"margin": 0.1},
    ),
    "cosine_embedding": Case(
        loss(lambda a, b, t: np.where(t > 0, 1 - cosine(a, b), np.maximum(cosine(a, b), 0))),
        {"a": M, "b": M, "target": SIGNS[:, 0]},
    ),
    "triplet_margin": Case(
        loss(lambda a, p, n: np.maximum(apart(a, p) - apart(a, n) + 1, 0)), {"anchor": M, "positive": M, "negative": M}
    ),
    "gemm": Case(
        gemm,
        {"a": (2, 6, 4), "b": (2, 6, 3), "c": (4, 3), "bias": (3,)},
        {"layout": "crr", "alpha": 0.5, "beta": 2, "epilogue": "bias_gelu"},
    ),
    "sdpa": Case(sdpa, {"query": (2, 5, 4), "key": (2, 5, 4), "value": (2, 5, 3)}, {"causal": 1}),
    "rope": Case(rope, {"x": (2, 5, 4), "cos": (5, 2), "sin": (5, 2)}),
    "conv": Case(conv, {"x": (2, 3, 8), "weight": (4, 3, 3), "bias": (4,)}, {"padding": 1}),
    "conv_transpose": Case(conv_transpose, {"x": (2, 3, 5), "weight": (3, 4, 3)}),
    "max_pool": Case(pool(np.max), {"x": (2, 3, 8)}, {"window": 2}),
    "avg_pool": Case(pool(np.mean), {"x": (2, 3, 8)}, {"window": 2}),
    "lp_pool": Case(
        lambda x, window, p: pool(lambda x, axis: (np.abs(x) ** p).sum(axis) ** (1 / p))(x, window),
        {"x": (2, 3, 8)},
        {"window": 2, "p": 3.0},
    ),
    "gather": Case(lambda x, i, axis: np.take_along_axis(x, i, axis), {"x": M, "indices": PLACES}, {"axis": 0}),
    "scatter": Case(scattered, {"x": M, "indices": PLACES[:1], "values": (1, 6)}, {"axis": 0}),
    "scatter_add": Case(
        lambda x, i, v, axis: scattered(x, i, np.take_along_axis(x, i, axis) + v, axis),
        {"x": M, "indices": PLACES[:1], "values": (1, 6)},
        {"axis": 0},
    ),
    "index_select": Case(lambda x, i, axis: x.take(i, axis), {"x": M, "indices": IDS}, {"axis": 1}),
    "index_add": Case(added, {"x": M, "indices": IDS, "values": (4, 4)}, {"axis": 1}),
    "masked_fill": Case(
        lambda x, m, value: np.where(m, value, x), {"x": M, "mask": np.arange(6) % 2 == 0}, {"value": -3.5}
    ),
    "embedding": Case(lambda i, w: w[i], {"ids": IDS, "weight": M}),
    "embedding_bag": Case(lambda i, w: w[i].mean(-2), {"ids": PLACES, "weight": M}),
    "segment_sum": Case(segments_of(lambda x: x.sum(0)), {"x": M, "ids": IDS}, {"segments": 5}),
    "segment_mean": Case(segments_of(lambda x: x.mean(0)), {"x": M, "ids": IDS}, {"segments": 5}),
    "quantize_int8": Case(quantized, {"x": M, "scale": SCALES}),
    "fake_quantize": Case(
        lambda x, scale, low, high: quantized(x, scale, low, high) * scale,
        {"x": M, "scale": SCALES},
        {"low": -8, "high": 7},
    ),
    "sort": Case(along(np.sort), {"x": M}, {"axis": 0}),
    "argsort": Case(along(np.argsort), {"x": M}),
    "searchsorted": Case(lambda x, v: np.searchsorted(x, v), {"x": np.linspace(-2, 2, 9), "values": M}),
}
# Rows with two results, or of integers: tested by hand.
APART = {"topk", "one_hot", "kthvalue", "bincount", "dequantize_int8", "popcount", "clz", "ctz"}

# Rows of ops/elementwise.def.
OF_ONE = {
    "neg": np.negative, "relu": lambda x: np.maximum(x, 0), "sigmoid": sigmoid, "silu": silu, "gelu": gelu, "erf": erf,
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), "softplus": softplus,
    "round": np.rint, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x, "bitwise_invert": np.invert,
}  # fmt: skip
OF_TWO = {
    "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power, "atan2": np.arctan2, "eq": np.equal,
    "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift,
}  # fmt: skip
DOMAINS = dict.fromkeys(
    ("sqrt", "rsqrt", "log", "log2", "log10", "log1p", "pow", "floor_divide", "remainder"), "positive"
)
DOMAINS |= dict.fromkeys(("asin", "acos", "atanh", "tan"), "unit") | {"acosh": "above 1"}
INTEGERS = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert", "bitwise_left_shift", "bitwise_right_shift")
APART.add("nextafter")  # of a type's own neighbours


def elementwise(name, operands):
    known = OF_ONE if len(operands) == 1 else OF_TWO
    domain = "integers" if name in INTEGERS else DOMAINS.get(name, "")
    return Case(known.get(name) or getattr(np, name), dict(zip(operands, (M, V))), domain=domain)
