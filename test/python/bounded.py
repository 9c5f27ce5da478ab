"""Arrays in float64, each with a bound of the error of the same computation in a narrower type: running error analysis.
The names are those of Tensor, so that one program text runs on both.

v: the values, in float64 for float types, else in the type itself. e: the bound, element by element, 0 where the
value is exact. Each step rounds by units in the last place of its type; sums of n elements by n of them, whatever
their order is. Ambiguous is raised where rounding decides: a comparison closer than the bounds, an integer near
which a value is cut, a divisor near 0.
"""

import contextlib
import contextvars
import math

import numpy as np

UNIT = {
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float32": 2.0**-24,
    "float64": 2.0**-52,
}  # twice float64's: this rounds as well
LEAST = {
    "float16": 2.0**-24,
    "bfloat16": 2.0**-126,
    "float32": 2.0**-126,
    "float64": 2.0**-1022,
}  # subnormals of the wider may be flushed
NARROW = ("float16", "bfloat16")
FLOATS = tuple(UNIT)


FLUSHED = contextvars.ContextVar("FLUSHED", default=False)


@contextlib.contextmanager
def flushed_products(on):
    """Products take denormals of float16 for zeros, as matrix instructions of MI200 do (PyTorch, "Numerical accuracy",
    on AMD Instinct MI200)."""
    token = FLUSHED.set(on)
    try:
        yield
    finally:
        FLUSHED.reset(token)


def factor(x):
    """A value as a product takes it."""
    if x.dtype != "float16" or not FLUSHED.get():
        return x
    least = 2.0**-14
    lost = np.where(abs(x.v) - x.e < least, np.minimum(abs(x.v), least), 0)
    return Bounded(x.v, x.dtype, x.e + lost, [(x, lambda g: g)])


class Ambiguous(Exception):
    """A correct result here depends on its rounding."""


class Node:
    """How a value was made, for derivatives: (parent, what takes the derivative by the value to the one by the
    parent).
    """

    made = 0

    def __init__(self, parents):
        self.parents = parents
        Node.made += 1
        self.serial = Node.made


class Bounded:
    __slots__ = ("v", "e", "dtype", "node")

    def __init__(self, v, dtype, e=0.0, parents=()):
        self.dtype = dtype
        self.v = np.asarray(v, np.float64 if dtype in UNIT else dtype)
        e = np.asarray(e, np.float64)
        self.e = e if e.shape == self.v.shape else np.broadcast_to(e, self.v.shape)
        parents = [(p.node, back) for p, back in parents if p.node is not None]
        self.node = Node(parents) if parents else None

    shape = property(lambda self: self.v.shape)
    ndim = property(lambda self: self.v.ndim)
    size = property(lambda self: self.v.size)
    is_float = property(lambda self: self.dtype in UNIT)

    def __add__(self, other):
        a, b = pair(self, other)
        if a.dtype == "bool":
            return Bounded(a.v | b.v, "bool")
        return rounded(
            a.v + b.v,
            a.dtype,
            a.e + b.e,
            parents=[(a, lambda g: summed_to(g, a.shape)), (b, lambda g: summed_to(g, b.shape))],
        )

    def __sub__(self, other):
        a, b = pair(self, other)
        return a + -b

    def __mul__(self, other):
        a, b = pair(self, other)
        if a.dtype == "bool":
            return Bounded(a.v & b.v, "bool")
        e = abs(a.v) * b.e + abs(b.v) * a.e + a.e * b.e if a.is_float else 0
        return rounded(
            a.v * b.v,
            a.dtype,
            e,
            parents=[(a, lambda g: summed_to(g * b, a.shape)), (b, lambda g: summed_to(g * a, b.shape))],
        )

    def __truediv__(self, other):
        a, b = pair(self, other)
        if not a.is_float:
            a, b = a.cast("float32"), b.cast("float32")
        least = abs(b.v) - b.e
        need(np.all(least > b.e), "a divisor near 0")
        q = a.v / b.v
        return rounded(
            q,
            a.dtype,
            (a.e + abs(q) * b.e) / least,
            3,
            parents=[(a, lambda g: summed_to(g / b, a.shape)), (b, lambda g: summed_to(-(g * a) / (b * b), b.shape))],
        )

    def __rsub__(self, other):
        return -self + other

    def __rtruediv__(self, other):
        return constant(other, self) / self

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        need(self.dtype != "bool", "minus of bools")
        return Bounded(-self.v, self.dtype, self.e, [(self, lambda g: -g)])

    def __abs__(self):
        return Bounded(
            abs(self.v), self.dtype, self.e, [(self, lambda g: where(decided(self, constant(0, self), np.less), -g, g))]
        )

    abs = __abs__

    def __matmul__(self, other):
        a, b = pair(self, other)
        if a.ndim == 1:
            return (a[None] @ b)[..., 0, :]
        v = a.v @ b.v
        if not a.is_float:
            return Bounded(v, a.dtype)
        wide = "float32" if a.dtype in NARROW else a.dtype
        a, b = factor(a), factor(b)
        x, y, n = abs(a.v), abs(b.v), a.shape[-1]
        e = x @ b.e + a.e @ (y + b.e) + 2 * (n + 1) * UNIT[wide] * ((x + a.e) @ (y + b.e))
        return rounded(
            v,
            a.dtype,
            e,
            parents=[(a, lambda g: summed_to(g @ b.mT, a.shape)), (b, lambda g: summed_to(a.mT @ g, b.shape))],
        )

    # Integers and bools, exact.
    def _whole(self, other, function):
        a, b = pair(self, other)
        need(not a.is_float, "of floats")
        return Bounded(function(a.v, b.v), a.dtype)

    def __floordiv__(self, other):
        return self._whole(other, np.floor_divide)

    def __mod__(self, other):
        return self._whole(other, np.mod)

    def __and__(self, other):
        return self._whole(other, np.bitwise_and)

    def __or__(self, other):
        return self._whole(other, np.bitwise_or)

    def __xor__(self, other):
        return self._whole(other, np.bitwise_xor)

    def __lshift__(self, other):
        return self._whole(other, np.left_shift)

    def __rshift__(self, other):
        return self._whole(other, np.right_shift)

    def __invert__(self):
        return Bounded(~self.v, self.dtype)

    def _compared(self, other, function):
        a, b = pair(self, other)
        sure = (abs(a.v - b.v) > a.e + b.e) | ((a.e == 0) & (b.e == 0)) if a.is_float else True
        need(np.all(sure), "a comparison of what is nearly equal")
        return Bounded(function(a.v, b.v), "bool")

    def __lt__(self, other):
        return self._compared(other, np.less)

    def __le__(self, other):
        return self._compared(other, np.less_equal)

    def __gt__(self, other):
        return self._compared(other, np.greater)

    def __ge__(self, other):
        return self._compared(other, np.greater_equal)

    def eq(self, other):
        return self._compared(other, np.equal)

    def __getitem__(self, key):
        return self._moved(lambda i: i[key])

    def __setitem__(self, key, value):
        value = value if isinstance(value, Bounded) else constant(value, self)
        need(value.dtype == self.dtype, "a value of another type")
        at = np.arange(self.size).reshape(self.shape)
        at[key] = np.broadcast_to(np.arange(value.size).reshape(value.shape), at[key].shape) + self.size
        self.assign(moved([self, value], at))

    def assign(self, value):
        need(value.shape == self.shape and value.dtype == self.dtype, "a value of another shape")
        self.v, self.e, self.node = value.v, value.e, value.node

    def __iadd__(self, other):
        self.assign(self + other)
        return self

    def __imul__(self, other):
        self.assign(self * other)
        return self

    def realize(self):
        return self

    def contiguous(self):
        return Bounded(self.v, self.dtype, self.e, [(self, lambda g: g)])

    def cast(self, name):
        if name == self.dtype:
            return self.contiguous()
        if name in UNIT:
            back = [(self, lambda g: g.cast(self.dtype))] if self.is_float else ()
            exact = (
                self.is_float and UNIT[name] <= UNIT[self.dtype] and name != "float16"
            )  # which has a smaller range than all
            return rounded(self.v.astype(np.float64), name, self.e, 0 if exact else 1, back)
        if not self.is_float:
            return Bounded(self.v.astype(name), name)
        if name == "bool":
            return self._compared(0, np.not_equal)
        v = np.trunc(self.v)
        need(
            np.all((np.trunc(self.v - self.e) == v) & (np.trunc(self.v + self.e) == v)),
            "an integer near which a value is cut",
        )
        need(
            v.size == 0 or np.iinfo(name).min < v.min() and v.max() < np.iinfo(name).max,
            "beyond the integers of the type",
        )
        return Bounded(v.astype(name), name)

    # Movement: each is a choice among the elements, -1 for what fills.
    def _moved(self, choose, fill=0):
        return moved([self], choose(np.arange(self.size).reshape(self.shape)), fill)

    def reshape(self, *shape):
        return self._moved(lambda i: i.reshape(*shape))

    def permute(self, *axes):
        return self._moved(lambda i: i.transpose(*axes))

    def expand(self, *shape):
        return self._moved(lambda i: np.broadcast_to(i, shape))

    def pad(self, widths, value=0):
        need(self.dtype != "bool", "a number beside bools")
        return self._moved(lambda i: np.pad(i, widths, constant_values=-1), value)

    def flip(self, axis):
        return self._moved(lambda i: np.flip(i, axis))

    def roll(self, shift, axis):
        return self._moved(lambda i: np.roll(i, shift, axis))

    def unsqueeze(self, axis):
        return self._moved(lambda i: np.expand_dims(i, axis))

    def tile(self, *counts):
        return self._moved(lambda i: np.tile(i, counts))

    def tril(self, diagonal=0):
        return self._moved(lambda i: np.where(np.tri(*i.shape[-2:], diagonal, bool), i, -1))

    def triu(self, diagonal=0):
        return self._moved(lambda i: np.where(np.tri(*i.shape[-2:], diagonal - 1, bool), -1, i))

    def take(self, indices, axis):
        return self._moved(lambda i: np.take(i, indices.v, axis))

    def gather(self, axis, indices):
        return self._moved(lambda i: np.take_along_axis(i, indices.v, axis))

    T = property(lambda self: self._moved(np.transpose))
    mT = property(lambda self: self._moved(lambda i: i.swapaxes(-1, -2)))

    def chunk(self, count, axis=0):
        n = -(-self.shape[axis] // count) or 1
        cuts = range(n, self.shape[axis], n)
        return [moved([self], part) for part in np.split(np.arange(self.size).reshape(self.shape), cuts, axis)]


def need(condition, what):
    if not condition:
        raise Ambiguous(what)


def rounded(v, dtype, e=0.0, ulps=1, parents=()):
    """A value that a step makes: off by e, and rounded."""
    if dtype not in UNIT:
        return Bounded(v, dtype)
    size = abs(v)
    finite = np.where(size < math.inf, size, 0)
    need(dtype != "float16" or finite.max(initial=0) < 60000, "beyond the type")
    return Bounded(v, dtype, e + ulps * (UNIT[dtype] * (finite + e) + LEAST[dtype]), parents)


def constant(x, like):
    """A Python number in the type of a value beside it; a float beside integers makes both float32."""
    need(like.dtype != "bool", "a number beside bools")
    if not like.is_float and isinstance(x, float):
        return constant(x, Bounded(0, "float32"))
    exact = not like.is_float or x in (0, 1, -1) or float(x).is_integer() and abs(x) <= 256 or abs(x) == math.inf
    return Bounded(x, like.dtype, 0 if exact else UNIT[like.dtype] * abs(x))


def pair(a, b):
    """Both, in one type."""
    if not isinstance(b, Bounded):
        b = constant(b, a)
        return a if b.dtype == a.dtype else a.cast(b.dtype), b
    if a.dtype != b.dtype:
        need(a.is_float == b.is_float and "bool" not in (a.dtype, b.dtype), "of two kinds")
        name = max(a.dtype, b.dtype, key=lambda n: -UNIT[n]) if a.is_float else np.promote_types(a.dtype, b.dtype).name
        name = "float32" if {a.dtype, b.dtype} == set(NARROW) else name
        need(name in UNIT or not name.startswith("float"), "of two kinds")
        a, b = a.cast(name), b.cast(name)
    return a, b


def untracked(x):
    return Bounded(x.v, x.dtype, x.e)


def decided(a, b, function):
    need(np.all(abs(a.v - b.v) > a.e + b.e), "the slope where two are nearly equal")
    return Bounded(function(a.v, b.v), "bool")


def summed_to(g, shape):
    """The derivative by what was broadcast."""
    if g.shape == tuple(shape):
        return g
    lead = g.ndim - len(shape)
    axes = (*range(lead), *(lead + i for i, n in enumerate(shape) if n == 1 and g.shape[lead + i] != 1))
    return g.sum(axes).reshape(shape)


def moved(xs, at, fill=0):
    """Elements at places of what the flat arrays make together; -1: fill."""
    need(all(x.dtype == xs[0].dtype for x in xs), "of several types")
    flat = np.concatenate([*(x.v.reshape(-1) for x in xs), np.array([fill], xs[0].v.dtype)])
    e = np.concatenate([*(x.e.reshape(-1) for x in xs), [0.0]])
    parents, start = [], 0
    for x in xs:
        inside = np.where((at >= start) & (at < start + x.size), at - start, -1)
        parents.append((x, lambda g, inside=inside, shape=x.shape: moved_back(g, inside, shape)))
        start += x.size
    return Bounded(flat[at], xs[0].dtype, e[at], parents if xs[0].is_float else ())


def moved_back(g, at, shape):
    """The sum of all g that a place was moved to."""
    n = int(np.prod(shape))
    add = lambda w: np.bincount(at.reshape(-1) + 1, w.reshape(-1), n + 1)[1:].reshape(shape)  # noqa: E731
    many = add(np.ones(at.shape)).max(initial=0)
    return rounded(
        add(g.v),
        g.dtype,
        add(g.e) + (many - 1) * UNIT[g.dtype] * add(abs(g.v) + g.e) if many > 1 else add(g.e),
        many > 1,
        [(g, lambda h: moved([h], at))],
    )


def where(condition, a, b):
    a, b = (
        (a, constant(b, a))
        if isinstance(a, Bounded) and not isinstance(b, Bounded)
        else (a, b)
        if isinstance(a, Bounded)
        else (constant(a, b), b)
    )
    a, b = pair(a, b)
    c = condition.v
    off = Bounded(0, a.dtype)
    parents = [
        (a, lambda g: summed_to(where(condition, g, off), a.shape)),
        (b, lambda g: summed_to(where(condition, off, g), b.shape)),
    ]
    return Bounded(np.where(c, a.v, b.v), a.dtype, np.where(c, a.e, b.e), parents)


def cat(xs, axis=0):
    ends = np.cumsum([x.size for x in xs])
    return moved(
        xs, np.concatenate([np.arange(x.size).reshape(x.shape) + end - x.size for x, end in zip(xs, ends)], axis)
    )


def stack(xs, axis=0):
    return cat([x.unsqueeze(axis) for x in xs], axis)
