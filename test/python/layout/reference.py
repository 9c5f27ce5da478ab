"""Layouts a second time: a layout is the list of its indices, in the order of integer coordinates."""

import random

from strata import layout as lo


def leaves(t):
    return [x for mode in t for x in leaves(mode)] if isinstance(t, tuple) else [t]


def product(t):
    out = 1
    for leaf in leaves(t):
        out *= leaf
    return out


def at(layout, c):
    """The index of an integer coordinate; the last leaf takes what is left."""
    sizes, strides, total = leaves(layout.shape), leaves(layout.stride), 0
    for i, (size, stride) in enumerate(zip(sizes, strides)):
        total += (c if i + 1 == len(sizes) else c % size) * stride
        c //= size
    return total


def indices(layout):
    return [at(layout, c) for c in range(product(layout.shape))]


def coordinates(shape):
    """All of them, of the shape's tree, in colexicographic order."""
    if not isinstance(shape, tuple):
        return list(range(shape))
    out = [()]
    for mode in reversed(shape):
        out = [(c, *rest) for rest in out for c in coordinates(mode)]
    return out


def dot(coordinate, stride):
    return sum(c * d for c, d in zip(leaves(coordinate), leaves(stride)))


class Random(random.Random):
    def tree(self, leaf, depth=2):
        modes = self.choice((1, 1, 2, 2, 3))
        out = tuple(self.tree(leaf, depth - 1) if depth and self.random() < 0.25 else leaf() for _ in range(modes))
        return out[0] if len(out) == 1 else out

    def shape(self, most=6):
        return self.tree(lambda: self.randint(1, most))

    def strides(self, shape):
        if isinstance(shape, tuple):
            return tuple(self.strides(mode) for mode in shape)
        return self.choice((0, 1, 1, 2, 3, 4, 6, 8, 12, 16, 24, -1))

    def layout(self):
        """A layout of any strides, or compact in some order, for which most of the algebra has a result."""
        if self.random() < 0.4:
            shape = self.shape()
            return lo.Layout(shape, self.strides(shape))
        shape = self.tree(lambda: 2 ** self.randint(0, 3), 1)
        order = tuple(self.randint(0, 3) for _ in shape) if isinstance(shape, tuple) else 0
        return lo.make_ordered_layout(shape, order)

    def compact(self, rank=None, most=3):
        shape = tuple(2 ** self.randint(0, most) for _ in range(rank or self.randint(1, 3)))
        return lo.make_ordered_layout(shape, tuple(self.randint(0, 3) for _ in shape))


def cases(count, seed=0):
    return [Random(seed * 1_000_003 + i) for i in range(count)]


def given(f, *args):
    """f(*args), None where it is a LayoutError that names its operation and operands."""
    try:
        return f(*args)
    except lo.LayoutError as error:
        assert error.operation and str(error).startswith(f"[{error.operation}] "), error
        assert all(str(operand) in str(error) for operand in error.operands)
        return None


def has_left_inverse(layout):
    """Is there a layout R with R(layout(c)) = c? Of each chain of sizes the strides are a system of equations."""
    points = indices(layout)
    most = max(map(abs, points)) + 1

    def chains(size):
        yield ()
        for prime in range(2, most // size + 1):
            if all(prime % p for p in range(2, prime)):
                for rest in chains(size * prime):
                    yield (prime, *rest)

    return any(_solvable(points, chain) for chain in chains(1))


def _solvable(points, chain):
    rows = []
    for c, point in enumerate(points):
        digits = []
        for size in chain:
            digits.append(point % size)
            point //= size
        rows.append([*digits, point, c])
    return _integers_solve(rows)


def _integers_solve(rows):
    """Have equations a0 x0 + ... = b, each [a0, ..., b], integers as a solution? By columns, as Euclid divides."""
    n, columns, known = len(rows[0]) - 1, list(range(len(rows[0]) - 1)), []
    rows = [list(row) for row in rows]
    for row in rows:
        while sum(bool(row[c]) for c in columns) > 1:
            pivot = min((c for c in columns if row[c]), key=lambda c: abs(row[c]))
            for c in columns:
                if c != pivot and row[c]:
                    q = row[c] // row[pivot]
                    for other in rows:
                        other[c] -= q * other[pivot]
        left = row[n] - sum(row[c] * x for c, x in known)
        pivot = next((c for c in columns if row[c]), None)
        if pivot is None:
            if left:
                return False
        elif left % row[pivot]:
            return False
        else:
            known.append((pivot, left // row[pivot]))
            columns.remove(pivot)
    return True
