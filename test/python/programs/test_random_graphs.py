"""Random graphs of integer tensors, several results at once, against NumPy: exact whatever the schedule is, with what
fuses and without.
"""

import numpy as np
import pytest
import strata
from strata import Tensor

LIMIT = 4000  # elements of a value
SHAPES = [(4, 6), (6,), (2, 3, 4), (1, 5), (), (7, 1, 3)]
EDGES = [(0,), (1,), (1, 1), (3, 0), (0, 4), (2, 1, 3), (1, 0, 5), (4,)]
NARROW = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]


class Graph:
    """Pairs of a lazy tensor and its NumPy value; each step takes some and adds one. Types are integers that no two
    promote to floats.
    """

    def __init__(self, seed, fuses=True, shapes=SHAPES, types=("int64",)):
        self.fuses = fuses
        self.rng = np.random.default_rng(seed)
        self.values = []
        for i in self.rng.choice(len(shapes), 3, replace=False):
            dtype = np.dtype(str(self.rng.choice(types)))
            x = self.rng.integers(-9, 10, shapes[i]).astype(dtype)
            self.values.append((Tensor(x), x))

    def pick(self, at_least=0):
        fit = [v for v in self.values if v[1].ndim >= at_least]
        return fit[self.rng.integers(len(fit))] if fit else None

    def axis(self, x):
        return int(self.rng.integers(x.ndim))

    def step(self):
        kind = self.rng.choice([n for n in dir(self) if n.startswith("op_")])
        made = getattr(self, kind)()
        if made is not None and made[1].size <= LIMIT:
            t, x = made
            x = np.asarray(x)
            assert t.shape == x.shape, (kind, t.shape, x.shape)
            assert str(t.dtype) == f"dtypes.{x.dtype.name}", (kind, t.dtype, x.dtype)
            self.values.append((t if self.fuses else t.contiguous(), x))

    def op_binary(self):
        (t, x), (u, y) = self.pick(), self.pick()
        try:
            np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            return None
        which = self.rng.integers(5)
        if which == 0:
            return t + u, x + y
        if which == 1:
            return t * u, x * y
        if which == 2:
            return t.maximum(u), np.maximum(x, y)
        if which == 3:
            return strata.where(t < u, t, u - 1), np.where(x < y, x, y - 1)
        return (t - u) ^ 3, (x - y) ^ 3

    def op_unary(self):
        t, x = self.pick()
        n = int(self.rng.integers(1, 5))
        which = self.rng.integers(4)
        if which == 0:
            return t // n, x // n
        if which == 1:
            return t % n - 1, x % n - 1
        return (-t + n, -x + n) if which == 2 else (abs(t), abs(x))

    def op_reduce(self):
        got = self.pick(1)
        if not got:
            return None
        t, x = got
        axis, keep = self.axis(x), bool(self.rng.integers(2))
        name = str(self.rng.choice(["sum", "max", "min", "sum"])) if x.shape[axis] else "sum"
        return getattr(t, name)(axis, keepdims=keep).cast(t.dtype), getattr(x, name)(axis=axis, keepdims=keep).astype(
            x.dtype
        )

    def op_several(self):
        """Several functions of one operand, so that they can be one kernel; one of them goes on."""
        got = self.pick(1)
        if not got:
            return None
        t, x = got
        axis = self.axis(x)
        if not x.shape[axis]:
            return None
        low, high, total = (
            x.min(axis, keepdims=True),
            x.max(axis, keepdims=True),
            x.sum(axis, keepdims=True).astype(x.dtype),
        )
        sums = t.sum(axis, keepdims=True).cast(t.dtype)
        made = [
            (t.min(axis, keepdims=True), low),
            (t.max(axis, keepdims=True), high),
            (sums, total),
            (t - t.max(axis, keepdims=True), x - high),
            (t * 2 - sums, x * 2 - total),
        ]
        self.values += [made[i] for i in self.rng.choice(len(made), 2, replace=False)]
        return made[self.rng.integers(len(made))]

    def op_position(self):
        got = self.pick(1)
        if not got:
            return None
        t, x = got
        axis = self.axis(x)
        return (t.argmax(axis), x.argmax(axis)) if x.shape[axis] else None

    def op_scan(self):
        got = self.pick(1)
        if not got:
            return None
        t, x = got
        axis = self.axis(x)
        which = self.rng.integers(3)
        if which == 0:
            return t.cumsum(axis).cast(t.dtype), x.cumsum(axis).astype(x.dtype)
        if which == 1:
            return t.cummax(axis), np.maximum.accumulate(x, axis)
        return t.cummin(axis), np.minimum.accumulate(x, axis)

    def op_matmul(self):
        got = self.pick(2)
        if not got:
            return None
        t, x = got
        return t % 5 @ (t.mT % 3), (x % 5) @ (x.swapaxes(-1, -2) % 3)

    def op_permute(self):
        t, x = self.pick()
        order = [int(a) for a in self.rng.permutation(x.ndim)]
        return (t.permute(order), x.transpose(order)) if order else None

    def op_pad(self):
        got = self.pick(1)
        if not got:
            return None
        t, x = got
        widths = [(int(a), int(b)) for a, b in self.rng.integers(0, 2, (x.ndim, 2))]
        value = int(self.rng.integers(0 if x.dtype.kind == "u" else -2, 3))
        return t.pad(widths, value), np.pad(x, widths, constant_values=value)

    def op_slice(self):
        got = self.pick(1)
        if not got:
            return None
        t, x = got
        axis = self.axis(x)
        key = [slice(None)] * x.ndim
        key[axis] = (
            slice(None, None, -1)
            if self.rng.integers(2)
            else slice(int(self.rng.integers(0, max(x.shape[axis], 1))), None, int(self.rng.integers(1, 3)))
        )
        return t[tuple(key)], x[tuple(key)]

    def op_take(self):
        got = self.pick(1)
        if not got:
            return None
        (t, x), (u, y) = got, self.pick()
        axis = self.axis(x)
        if not x.shape[axis]:
            return None
        u, y = u.cast("int64"), y.astype(np.int64)
        return t.take(u % x.shape[axis], axis), np.take(x, y % x.shape[axis], axis)

    def op_reshape(self):
        t, x = self.pick()
        return t.reshape(-1), x.reshape(-1)

    def op_expand(self):
        t, x = self.pick()
        n = int(self.rng.integers(1, 4))
        return t.expand((n, *x.shape)), np.broadcast_to(x, (n, *x.shape))

    def op_join(self):
        got = self.pick(1)
        if not got:
            return None
        t, x = got
        axis = self.axis(x)
        return strata.cat([t, t * 2, t.flip(axis)], axis), np.concatenate([x, x * 2, np.flip(x, axis)], axis)

    def op_contiguous(self):
        t, x = self.pick()
        return t.contiguous(), x

    def op_realize(self):
        t, x = self.pick()
        t.realize()
        return None


def check_random_graph(seed, fuses=True, most=6, **kinds):
    g = Graph(seed, fuses, **kinds)
    for _ in range(14):
        g.step()
    results = g.values[3:]
    wanted = [results[i] for i in np.random.default_rng(seed).permutation(len(results))[:most]]
    strata.realize([t for t, _ in wanted])
    for t, x in wanted:
        np.testing.assert_array_equal(t.numpy(), x, err_msg=f"seed {seed}")


@pytest.mark.parametrize("fuses", [True, False])
@pytest.mark.parametrize("seed", range(16))
def test_a_random_graph(seed, fuses):
    check_random_graph(seed, fuses)


@pytest.mark.parametrize("kinds", [{"types": NARROW}, {"shapes": EDGES}], ids=["narrow", "edges"])
@pytest.mark.parametrize("seed", range(36, 44))
def test_a_random_graph_of_narrow_types_and_axes_of_none_and_one(seed, kinds):
    check_random_graph(seed, seed % 4 != 0, **kinds)


def test_a_join_of_many_tensors():
    parts = [np.full(3, i) for i in range(60)]
    tensors = [Tensor(p).realize() for p in parts]
    np.testing.assert_array_equal(strata.cat(tensors).numpy(), np.concatenate(parts))
    total = tensors[0]
    for t in tensors[1:]:
        total = total + t
    np.testing.assert_array_equal(total.numpy(), np.sum(parts, 0))
