"""Rows of test_properties.py: methods of tensors that are no functions of strata, and operators."""

import operator

import numpy as np
from drawn import ALL, NUMBERS, REAL, both, floats, wide
from rows_of_places import expanded, movement, of_size, order_of, pieces, two_axes
from strata import Tensor


def of(kinds, got, want, to=wide, **limits):
    """A row of a method of one tensor."""

    def row(d):
        x, t = d.array(kinds, **limits)
        return both(lambda: got(t), lambda: want(to(x)))

    return row


def of_two(kinds, got, want, to=wide, low=-4, second=-4):
    """A row of a method of two tensors of one shape, or of a tensor and a number on either side."""

    def row(d):
        dtype, shape = d.type(kinds), d.shape()
        x, t = d.array(shape=shape, dtype=dtype, low=low)
        y, u = d.array(shape=shape, dtype=dtype, low=second)
        if d.among(True, False, False):
            y = u = True if x.dtype.kind == "b" else 2
            y = np.asarray(y, x.dtype)
        return both(lambda: got(t, u), lambda: want(to(x), to(y)))

    return row


def in_place(kinds, change, low=-4, second=-4, high=4, to=wide):
    def row(d):
        dtype, shape = d.type(kinds), d.shape()
        x, t = d.array(shape=shape, dtype=dtype, low=low, high=high)
        y, u = d.array(shape=shape, dtype=dtype, low=second, high=high)
        return both(lambda: change(t.clone(), u), lambda: change(to(x.copy()), to(y)))

    return row


def shaped(d):
    x, t = d.array(ALL)
    y, u = d.array(ALL, shape=x.shape[::-1])
    return both(lambda: t.view_as(u), lambda: x.reshape(y.shape))


def repeated_as(d):
    x, t = d.array(ALL)
    (shape,) = expanded(d, x)
    return both(lambda: t.expand_as(Tensor(np.zeros(shape, np.float32))), lambda: np.broadcast_to(x, shape))


def typed(d):
    x, t = d.array(ALL, low=0)
    y, u = d.array("c" if x.dtype.kind == "c" else ALL, shape=())
    return both(lambda: t.type_as(u), lambda: x.astype(y.dtype))


def matrices_of(got, want, square=False):
    def row(d):
        i, j, dtype = d.size(), d.size(), d.type(ALL)
        k = j if square else d.size()
        x, t = d.array(shape=(i, j), dtype=dtype)
        y, u = d.array(shape=(j, k), dtype=dtype)
        return both(lambda: got(t.clone(), u), lambda: want(wide(x), wide(y)))

    return row


def extreme(got, want):
    def row(d):
        x, t = d.array(REAL)
        axis, keep = d.axes(x), d.among(True, False)
        return both(lambda: got(t, axis, keep), lambda: want(x, axis=axis, keepdims=keep))

    return row


def repeats(d):
    x, t = d.array(ALL)
    n, axis = d.among(0, 1, 3), d.axis(x)
    return both(lambda: t.repeat_interleave(n, axis), lambda: np.repeat(x, n, axis))


TO = {
    "bool": "bool",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "half": "float16",
    "float": "float32",
    "double": "float64",
}
SHIFT = {"low": 0, "second": 0}
METHODS = {
    "T": of(ALL, lambda t: t.T, lambda x: x.T), "mT": of(ALL, lambda t: t.mT, lambda x: x.mT, least=2),
    "ravel": of(ALL, lambda t: t.ravel(), np.ravel), "clone": of(ALL, lambda t: t.clone(), np.copy),
    "detach": of(ALL, lambda t: t.detach(), np.copy),
    "absolute": of("iufc", lambda t: t.absolute(), np.abs), "amax": extreme(Tensor.amax, np.max),
    "amin": extreme(Tensor.amin, np.min), "clamp": of(REAL, lambda t: t.clamp(1, 3), lambda x: np.clip(x, 1, 3)),
    "expand": movement("expand", lambda t, s: t.expand(*s), np.broadcast_to, expanded), "expand_as": repeated_as,
    "permute": movement("permute", lambda t, o: t.permute(*o), np.transpose, order_of),
    "view": movement("view", lambda t: t.view(*t.shape[::-1], 1), lambda x: x.reshape(*x.shape[::-1], 1)),
    "view_as": shaped,
    "swapaxes": movement("swapaxes", lambda t, a, b: t.swapaxes(a, b), np.swapaxes, two_axes, least=1),
    "swapdims": movement("swapdims", lambda t, a, b: t.swapdims(a, b), np.swapaxes, two_axes, least=1),
    "split": movement("split", lambda t, n, a: t.split(n, a), of_size, pieces, least=1),
    "repeat_interleave": repeats, "type_as": typed,
    **{name: of(ALL if name == "bool" else REAL, lambda t, n=name: getattr(t, n)(), lambda x, to=to: x.astype(to),
            lambda x: x, low=0) for name, to in TO.items()},
    "bfloat16": of(REAL, lambda t: t.bfloat16().float(), lambda x: x.astype(np.float32), low=0),
    "cpu": of(ALL, lambda t: t.cpu(), np.copy), "to": of(ALL, lambda t: t.to(t.device), np.copy),
    "to_device": of(ALL, lambda t: t.to_device(t.device), np.copy),
    "numpy": of(ALL, lambda t: Tensor(t.numpy()), np.copy, lambda x: x),
    "tolist": of(ALL, lambda t: Tensor(t.tolist(), dtype=t.dtype).reshape(t.shape), np.copy),
    "item": of(ALL, lambda t: Tensor(t.item(), dtype=t.dtype), np.copy, most=0),
    "assign": of(ALL, lambda t: t.clone().assign(t.flip()), np.flip),
    "dot": matrices_of(lambda t, u: t.dot(u), operator.matmul),
    "true_divide": of_two(ALL, lambda t, u: t.true_divide(u), np.divide, floats, second=1),
    "power": of_two("iufc", lambda t, u: t.power(u), np.power, low=1, second=1),
}  # fmt: skip

OPERATORS = {
    **{name: of_two(kinds, f, f) for name, kinds,
        f in (("__add__", ALL, operator.add), ("__radd__", ALL, lambda a, b: b + a), ("__mul__", ALL, operator.mul),
            ("__rmul__", ALL, lambda a, b: b * a), ("__sub__", "iufc", operator.sub),
            ("__rsub__", "iufc", lambda a, b: b - a))},
    "__truediv__": of_two(ALL, operator.truediv, operator.truediv, floats, second=1),
    "__rtruediv__": of_two(ALL, lambda a, b: b / a, lambda a, b: b / a, floats, low=1),
    **{name: of_two(NUMBERS, f, f, second=1) for name,
        f in (("__floordiv__", operator.floordiv), ("__mod__", operator.mod))},
    **{name: of_two(NUMBERS, f, f, low=1) for name,
        f in (("__rfloordiv__", lambda a, b: b // a), ("__rmod__", lambda a, b: b % a))},
    "__pow__": of_two("iufc", operator.pow, operator.pow, low=1, second=1),
    "__rpow__": of_two("iufc", lambda a, b: b**a, lambda a, b: b**a, low=1, second=1),
    **{name: of_two("biu", f, f) for name,
        f in (("__and__", operator.and_), ("__or__", operator.or_), ("__xor__", operator.xor),
            ("__rand__", lambda a, b: b & a), ("__ror__", lambda a, b: b | a), ("__rxor__", lambda a, b: b ^ a))},
    **{name: of_two("iu", f, f, **SHIFT) for name,
        f in (("__lshift__", operator.lshift), ("__rshift__", operator.rshift), ("__rlshift__", lambda a, b: b << a),
            ("__rrshift__", lambda a, b: b >> a))},
    **{name: of_two(ALL, f, f) for name, f in (("__eq__", operator.eq), ("__ne__", operator.ne))},
    **{name: of_two(REAL, f, f) for name,
        f in (("__lt__", operator.lt), ("__le__", operator.le), ("__gt__", operator.gt), ("__ge__", operator.ge))},
    "__matmul__": matrices_of(operator.matmul, operator.matmul),
    "__rmatmul__": matrices_of(lambda t, u: u.__rmatmul__(t), operator.matmul),
    "__imatmul__": matrices_of(operator.imatmul, operator.matmul, True),
    "__neg__": of("iufc", operator.neg, operator.neg), "__pos__": of("iufc", operator.pos, operator.pos),
    "__abs__": of("iufc", abs, abs), "__invert__": of("biu", operator.invert, operator.invert),
    **{name: in_place(kinds, f) for name, kinds,
        f in (("__iadd__", ALL, operator.iadd), ("__isub__", "iufc", operator.isub), ("__imul__", ALL, operator.imul),
            ("__iand__", "biu", operator.iand), ("__ior__", "biu", operator.ior), ("__ixor__", "biu", operator.ixor))},
    **{name: in_place(kinds, f, low, 1) for name, kinds, f,
        low in (("__itruediv__", "fc", operator.itruediv, -4), ("__ifloordiv__", NUMBERS, operator.ifloordiv, -4),
            ("__imod__", NUMBERS, operator.imod, -4), ("__ipow__", "iufc", operator.ipow, 1))},
    **{name: in_place("iu", f, 0, 0, 6) for name,
        f in (("__ilshift__", operator.ilshift), ("__irshift__", operator.irshift))},
}  # fmt: skip
