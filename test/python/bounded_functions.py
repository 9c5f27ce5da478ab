"""The functions of Tensor, strata and strata.functional on bounded values."""

import math

import bounded
import numpy as np
from bounded import (
    FLOATS,
    NARROW,
    UNIT,
    Bounded,
    decided,
    factor,
    moved_back,
    need,
    pair,
    rounded,
    summed_to,
    untracked,
    where,
)
from bounded_derivatives import value_and_grad

ERF = np.vectorize(math.erf, otypes=[np.float64])
ERFC = np.vectorize(math.erfc, otypes=[np.float64])


def normal_below(x):
    """The normal distribution function. erfc multiplies a relative error of its argument by x^2, so that the argument
    has two parts."""
    z = np.longdouble(x) * -np.sqrt(np.longdouble(0.5))
    high = z.astype(np.float64)
    return ERFC(high) / 2 - (z - high).astype(np.float64) * np.exp(-high * high) / math.sqrt(math.pi)


def added_to(owner):
    def add(functions):
        for name, function in vars(functions).items():
            if not name.startswith("__"):
                setattr(owner, name, function)
        return functions

    return add


def wide(x, function):
    """A function that is computed in float32 for narrower types, and rounded once."""
    if x.dtype in NARROW:
        return function(x.cast("float32")).cast(x.dtype)
    return function(x if x.is_float else x.cast("float32"))


def unary(x, f, back, steepest=None):
    """f is monotonous, or nowhere steeper than that."""
    x = x if x.is_float else x.cast("float32")
    y = f(x.v)
    e = steepest * x.e if steepest else np.where(x.e > 0, np.maximum(abs(f(x.v + x.e) - y), abs(y - f(x.v - x.e))), 0)
    return rounded(y, x.dtype, e, 4, [(x, back)])


@added_to(Bounded)
class Functions:
    """Those of one element, then reductions and scans."""

    def exp(self):
        y = unary(self, np.exp, lambda g: g * y)
        y.e = y.e + np.where(np.isfinite(self.v), abs(self.v), 0) * y.v * UNIT[y.dtype]
        return y

    def log(self):
        need(np.all(self.v - self.e > 0), "the logarithm near 0")
        return unary(self, np.log, lambda g: g / self)

    def sqrt(self):
        need(np.all(self.v - self.e >= 0), "the root near 0")
        y = unary(self, np.sqrt, lambda g: g / (y * 2))
        return y

    def rsqrt(self):
        need(np.all(self.v - self.e > 0), "the root near 0")
        y = unary(self, lambda v: 1 / np.sqrt(v), lambda g: g * y * y * y * -0.5)
        return y

    def tanh(self):
        y = unary(self, np.tanh, lambda g: g * (1 - y * y))
        return y

    def sigmoid(self):
        y = unary(self, lambda v: 1 / (1 + np.exp(-v)), lambda g: g * (y * (1 - y)))
        return y

    def sin(self):
        return unary(self, np.sin, lambda g: g * self.cos(), 1)

    def cos(self):
        return unary(self, np.cos, lambda g: -(g * self.sin()), 1)

    def erf(self):
        return unary(self, ERF, lambda g: g * (2 / math.sqrt(math.pi)) * (-(self * self)).exp())

    def square(self):
        return self * self

    def relu(self):
        return self.maximum(0)

    def maximum(self, other):
        a, b = pair(self, other)
        high = lambda: decided(a, b, np.greater)  # noqa: E731
        parents = [
            (a, lambda g: summed_to(g * high().cast(g.dtype), a.shape)),
            (b, lambda g: summed_to(g * (~high()).cast(g.dtype), b.shape)),
        ]
        return Bounded(np.maximum(a.v, b.v), a.dtype, np.maximum(a.e, b.e), parents)

    def minimum(self, other):
        return -(-self).maximum(-other)

    def floor(self):
        v = np.floor(self.v)
        need(
            np.all((np.floor(self.v - self.e) == v) & (np.floor(self.v + self.e) == v)),
            "an integer near which a value is cut",
        )
        return Bounded(v, self.dtype)

    # Reductions and scans.
    def sum(self, axis=None, keepdims=False):
        if not self.is_float:
            return Bounded(
                self.v.sum(axis, keepdims=keepdims, dtype="uint64" if self.dtype.startswith("u") else "int64"),
                "uint64" if self.dtype.startswith("u") else "int64",
            )
        wide = "float32" if self.dtype in NARROW else self.dtype
        n = self.size // max(1, self.v.sum(axis).size)
        e = self.e.sum(axis, keepdims=keepdims) + n * UNIT[wide] * (abs(self.v) + self.e).sum(axis, keepdims=keepdims)
        kept = self.v.sum(axis, keepdims=True).shape
        return rounded(
            self.v.sum(axis, keepdims=keepdims),
            self.dtype,
            e,
            1 if wide != self.dtype else 0,
            [(self, lambda g: g.reshape(kept).expand(*self.shape))],
        )

    def mean(self, axis=None, keepdims=False):
        need(self.size, "of nothing")
        return wide(self, lambda x: x.sum(axis, keepdims) / max(1, x.size // max(1, x.v.sum(axis).size)))

    def var(self, axis=None, correction=0, keepdims=False):
        return wide(self, lambda x: (x - x.mean(axis, True)).square().mean(axis, keepdims))

    def std(self, axis=None, correction=0, keepdims=False):
        return wide(self, lambda x: x.var(axis, 0, keepdims).sqrt())

    def max(self, axis=None, keepdims=False):
        need(self.size, "of nothing")
        e = self.e.max(axis, keepdims=keepdims)
        return Bounded(
            self.v.max(axis, keepdims=keepdims), self.dtype, e, [(self, lambda g: self._to_largest(g, axis))]
        )

    def _to_largest(self, g, axis):
        top = self.v.max(axis, keepdims=True)
        near = self.v + 2 * self.e >= top - 2 * self.e.max(axis, keepdims=True)
        need(np.all(near.sum(axis) == 1), "which is the largest")
        return g.reshape(top.shape) * Bounded(near, "bool").cast(g.dtype)

    def min(self, axis=None, keepdims=False):
        if self.dtype in FLOATS:
            return -(-self).max(axis, keepdims)
        need(self.size, "of nothing")
        return Bounded(self.v.min(axis, keepdims=keepdims), self.dtype)

    def any(self, axis=None, keepdims=False):
        return Bounded(self.cast("bool").v.any(axis, keepdims=keepdims), "bool")

    def all(self, axis=None, keepdims=False):
        return Bounded(self.cast("bool").v.all(axis, keepdims=keepdims), "bool")

    def argmax(self, axis):
        need(self.size, "of nothing")
        if self.is_float:
            top = self.v.max(axis, keepdims=True)
            need(
                np.all((self.v + self.e >= top - self.e.max(axis, keepdims=True)).sum(axis) == 1),
                "which is the largest",
            )
        return Bounded(self.v.argmax(axis), "int64")

    def argmin(self, axis):
        return (-self if self.is_float else Bounded(~self.v, self.dtype)).argmax(axis)

    def sort(self, axis=-1):
        return Bounded(
            np.sort(self.v, axis),
            self.dtype,
            self.e.max(axis, keepdims=True) if self.size else 0,
            [(self, lambda g: moved_back(g, self._order(axis), self.shape))],
        )

    def _order(self, axis):
        at = np.argsort(self.v, axis, kind="stable")
        if self.is_float:
            v, e = np.take_along_axis(self.v, at, axis), np.take_along_axis(self.e, at, axis)
            need(
                np.all(np.diff(v, axis=axis) > 2 * e.max(initial=0)) or not self.e.any(),
                "the order of what is nearly equal",
            )
        return np.take_along_axis(np.arange(self.size).reshape(self.shape), at, axis)

    def argsort(self, axis=-1):
        self._order(axis)
        return Bounded(np.argsort(self.v, axis, kind="stable"), "int64")

    def cumsum(self, axis):
        if not self.is_float:
            name = "uint64" if self.dtype.startswith("u") else "int64"
            return Bounded(self.v.cumsum(axis, dtype=name), name)
        return wide(self, lambda x: x._cumsum(axis))

    def _cumsum(self, axis):
        e = self.e.cumsum(axis) + self.shape[axis] * UNIT[self.dtype] * (abs(self.v) + self.e).cumsum(axis)
        return Bounded(self.v.cumsum(axis), self.dtype, e, [(self, lambda g: g.flip(axis).cumsum(axis).flip(axis))])

    def cummax(self, axis):
        return Bounded(np.maximum.accumulate(self.v, axis), self.dtype, np.maximum.accumulate(self.e, axis))

    def softmax(self, axis=-1):
        def of(x):
            e = (x - untracked(x).max(axis, True)).exp()
            return e / e.sum(axis, True)

        return wide(self, of)

    def log_softmax(self, axis=-1):
        return wide(self, lambda x: x - x.logsumexp(axis, True))

    def logsumexp(self, axis=None, keepdims=False):
        def of(x):
            top = untracked(x).max(axis, True)
            y = (x - top).exp().sum(axis, True).log() + top
            return y if keepdims else y.reshape(x.v.sum(axis).shape)

        return wide(self, of)

    def silu(self):
        return wide(self, lambda x: x * x.sigmoid())

    def gelu(self):
        def of(x):
            below = normal_below(x.v)
            slope = 1 / math.sqrt(2 * math.pi)
            return x * rounded(
                below,
                x.dtype,
                slope * x.e,
                4 if x.dtype == "float64" else 6,
                [(x, lambda g: g * slope * (x * x * -0.5).exp())],
            )

        return wide(self, of)


class functional:
    """strata.functional's."""

    @staticmethod
    def layernorm(x, axes=1, weight=None, bias=None):
        need(all(given is None or given.shape == x.shape[-1:] for given in (weight, bias)), "weights of another shape")

        def of(x):
            d = x - x.mean(-1, True)
            y = d / (d.square().mean(-1, True) + 1e-5).sqrt()
            y = y if weight is None else y * weight
            return y if bias is None else y + bias

        return wide(x, of)

    @staticmethod
    def rmsnorm(x, weight=None):
        need(x.ndim, "of no axis")
        return wide(x, lambda x: x / (x.square().mean(-1, True) + 1e-6).sqrt() * (1 if weight is None else weight))

    @staticmethod
    def scaled_dot_product_attention(query, key, value, mask=None, causal=False):
        need(query.size, "of nothing")

        def of(q, k, v):
            s = q @ k.mT * (1 / math.sqrt(q.shape[-1]))
            if causal:
                s = where(Bounded(np.tri(*s.shape[-2:], dtype=bool), "bool"), s, -math.inf)
            weights = (s if mask is None else where(mask, s, -math.inf)).softmax(-1)
            # Matrix instructions take the weights in the operands' type.
            return (factor(weights.cast(query.dtype)).cast(q.dtype) if query.dtype in NARROW else weights) @ v

        return wide(factor(query), lambda q: of(q, factor(key).cast(q.dtype), factor(value).cast(q.dtype)))

    @staticmethod
    def conv(x, weight, stride=1, padding=0):
        """Windows as rows of a matrix."""
        p = x.pad(((0, 0), (0, 0), (padding, padding), (padding, padding)))
        out, n, kernel = weight.shape[0], x.shape[0], weight.shape[2:]
        cut = lambda i: np.lib.stride_tricks.sliding_window_view(i, kernel, (2, 3))[:, :, ::stride, ::stride]  # noqa: E731
        high, across = cut(p.v).shape[2:4]
        rows = p._moved(lambda i: cut(i).transpose(0, 2, 3, 1, 4, 5).reshape(n, high * across, -1))
        return (rows @ weight.reshape(out, -1).T).permute(0, 2, 1).reshape(n, out, high, across)


REFERENCE = type(
    "strata",
    (),
    {name: staticmethod(getattr(bounded, name)) for name in ("where", "cat", "stack")}
    | {"value_and_grad": staticmethod(value_and_grad), "functional": functional},
)
