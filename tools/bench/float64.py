"""The operations of programs on NumPy arrays of float64, with reverse-mode gradients: what values are compared with."""

import numpy as np


def summed_to(g, shape):
    """Sums what broadcasting repeated."""
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1), keepdims=True)


class Real:
    """An array and how the gradient of a result reaches what it was made of: (source, function of the gradient)."""

    __array_priority__ = 1000  # an array on the left leaves the operation to this class

    def __init__(self, value, sources=()):
        self.value, self.sources = np.asarray(value), sources

    shape = property(lambda self: self.value.shape)
    mT = property(lambda self: self.permute(*range(self.value.ndim - 2), -1, -2))
    T = property(lambda self: self.permute(*reversed(range(self.value.ndim))))

    def of_one(self, value, back):
        return Real(value, [(self, back)])

    def of_two(self, other, value, by_self, by_other):
        """An elementwise operation of two operands that broadcast."""
        other = real(other)
        return Real(
            value(self.value, other.value),
            [
                (self, lambda g: summed_to(by_self(g, self.value, other.value), self.shape)),
                (other, lambda g: summed_to(by_other(g, self.value, other.value), other.shape)),
            ],
        )

    def __add__(self, other):
        return self.of_two(other, np.add, lambda g, a, b: g, lambda g, a, b: g)

    def __sub__(self, other):
        return self.of_two(other, np.subtract, lambda g, a, b: g, lambda g, a, b: -g)

    def __mul__(self, other):
        return self.of_two(other, np.multiply, lambda g, a, b: g * b, lambda g, a, b: g * a)

    def __truediv__(self, other):
        return self.of_two(other, np.divide, lambda g, a, b: g / b, lambda g, a, b: -g * a / (b * b))

    def __rsub__(self, other):
        return real(other) - self

    def __rtruediv__(self, other):
        return real(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self * -1.0

    def __matmul__(self, other):
        return Real(
            self.value @ other.value,
            [
                (self, lambda g: summed_to(g @ other.value.swapaxes(-1, -2), self.shape)),
                (other, lambda g: summed_to(self.value.swapaxes(-1, -2) @ g, other.shape)),
            ],
        )

    def __getitem__(self, places):
        if isinstance(places, Real):
            places = places.value

        def back(g):
            out = np.zeros(self.shape)
            np.add.at(out, places, g)
            return out

        return self.of_one(self.value[places], back)

    def permute(self, *order):
        back = np.argsort(np.arange(len(order))[list(order)])
        return self.of_one(self.value.transpose(order), lambda g: g.transpose(back))

    def reshape(self, *shape):
        return self.of_one(self.value.reshape(shape), lambda g: g.reshape(self.shape))

    def sum(self, axis=None, keepdims=False):
        value = self.value.sum(axis, keepdims=True)
        return self.of_one(
            value if keepdims else value.squeeze(axis), lambda g: np.broadcast_to(g.reshape(value.shape), self.shape)
        )

    def mean(self, axis=None, keepdims=False):
        out = self.sum(axis, keepdims)
        return out * (out.value.size / self.value.size)

    def exp(self):
        value = np.exp(self.value)
        return self.of_one(value, lambda g: g * value)

    def log(self):
        return self.of_one(np.log(self.value), lambda g: g / self.value)

    def sqrt(self):
        value = np.sqrt(self.value)
        return self.of_one(value, lambda g: g * 0.5 / value)

    def tanh(self):
        value = np.tanh(self.value)
        return self.of_one(value, lambda g: g * (1 - value * value))

    def relu(self):
        return self.of_one(np.maximum(self.value, 0), lambda g: g * (self.value > 0))

    def cumsum(self, axis):
        return Real(np.cumsum(self.value, axis))

    def repeat_interleave(self, times, axis):
        split = (*self.shape[: axis + 1], times, *self.shape[axis + 1 :])
        return self.of_one(np.repeat(self.value, times, axis), lambda g: g.reshape(split).sum(axis + 1))


def real(x):
    return x if isinstance(x, Real) else Real(x)


def convolution(x, w, stride, padding, groups):
    """Cross-correlation of (n, c, h, w) by (out, c / groups, y, x); padding: zeros around each of the two axes."""
    (n, c, *_), (out, of_group, *window) = x.shape, w.shape
    around = np.pad(x.value, ((0, 0), (0, 0), *((n, n) for n in padding)))
    under = np.lib.stride_tricks.sliding_window_view(around, window, axis=(2, 3))[:, :, ::stride, ::stride]
    places = under.shape[2:4]
    split = under.reshape(n, groups, of_group, *places, *window)
    weights = w.value.reshape(groups, out // groups, of_group, *window)

    def by_x(g):
        g, gathered = g.reshape(n, groups, out // groups, *places), np.zeros(around.shape)
        for i, j in np.ndindex(*window):
            part = np.einsum("ngohw,goc->ngchw", g, weights[..., i, j]).reshape(n, c, *places)
            gathered[:, :, i : i + stride * places[0] : stride, j : j + stride * places[1] : stride] += part
        return gathered[:, :, padding[0] : padding[0] + x.shape[2], padding[1] : padding[1] + x.shape[3]]

    def by_w(g):
        return np.einsum("ngohw,ngchwij->gocij", g.reshape(n, groups, out // groups, *places), split).reshape(w.shape)

    value = np.einsum("ngchwij,gocij->ngohw", split, weights).reshape(n, out, *places)
    return Real(value, [(x, by_x), (w, by_w)])


class Float64:
    """The operations that programs take from their first argument `o`."""

    def silu(self, x):
        return x / (1 + (-x).exp())

    def gelu(self, x):
        return x * 0.5 * (((x + x * x * x * 0.044715) * 0.7978845608028654).tanh() + 1)

    def relu(self, x):
        return x.relu()

    def float32(self, x):
        return x

    def like(self, x, other):
        return x

    def softmax(self, x):
        e = (x - x.value.max(-1, keepdims=True)).exp()
        return e / e.sum(-1, True)

    def rmsnorm(self, x, weight):
        return x / ((x * x).mean(-1, True) + 1e-6).sqrt() * weight

    def layernorm(self, x, weight, bias):
        x = x - x.mean(-1, True)
        return x / ((x * x).mean(-1, True) + 1e-5).sqrt() * weight + bias

    def attention(self, q, k, v, causal=False, window=0):
        scores = q @ k.mT * q.shape[-1] ** -0.5
        i, j = np.ogrid[: q.shape[-2], : k.shape[-2]]
        hidden = (j > i if causal or window else j < 0) | ((j <= i - window) if window else j < 0)
        return self.softmax(scores + np.where(hidden, -1e30, 0.0)) @ v

    def conv2d(self, x, w, stride=1, padding=0, groups=1):
        return convolution(x, w, stride, (padding, padding), groups)

    def conv1d(self, x, w):
        (b, c, t), (out, _, window) = x.shape, w.shape
        y = convolution(x.reshape(b, c, 1, t), w.reshape(out, c, 1, window), 1, (0, 1), 1)
        return y.reshape(b, out, t)

    def cross_entropy(self, logits, ids):
        shifted = logits - logits.value.max(-1, keepdims=True)
        return (shifted.exp().sum(-1).log() - shifted[np.arange(len(ids.value)), ids.value]).mean()

    def embedding(self, ids, weight):
        return weight[ids.value]

    def cat(self, parts, axis):
        sizes = np.cumsum([0] + [p.shape[axis] for p in parts])
        rows = [(p, lambda g, a=a, b=b: np.take(g, range(a, b), axis)) for p, a, b in zip(parts, sizes, sizes[1:])]
        return Real(np.concatenate([p.value for p in parts], axis), rows)

    def sort(self, x):
        return Real(np.sort(x.value, -1))

    def topk(self, x, k):
        return Real(-np.sort(-x.value, -1)[..., :k])

    def unique(self, x):
        return Real(np.unique(x.value))

    def histogram(self, ids, classes):
        return Real(np.bincount(ids.value, minlength=classes))

    def write(self, cache, place, value):
        """The cache with the value at a place of its axis 2."""
        return self.cat([cache[:, :, :place], value, cache[:, :, place + value.shape[2] :]], 2)

    def assign(self, tensor, value):
        return value

    def gradients(self, loss, leaves):
        order, seen = [], set()

        def visit(x):
            if id(x) not in seen:
                seen.add(id(x))
                for source, _ in x.sources:
                    visit(source)
                order.append(x)

        visit(loss)
        found = {id(loss): np.ones(loss.shape)}
        for x in reversed(order):
            g = found.get(id(x))
            for source, back in x.sources if g is not None else ():
                found[id(source)] = found.get(id(source), 0) + back(g)
        return [Real(found[id(leaf)]) for leaf in leaves]
