"""Random arguments for functions that NumPy has too: arrays, and tensors of the same values by views of every kind.
Also the comparison of results.
"""

import math

import numpy as np
import strata
from hypothesis import strategies as st
from strata import Tensor

TYPES = {
    "b": ["bool"],
    "i": ["int8", "int16", "int32", "int64"],
    "u": ["uint8", "uint16", "uint32", "uint64"],
    "f": ["float16", "float32", "float64"],
    "c": ["complex64", "complex128"],
}
TOLERANCE = {"float16": 6e-3, "float32": 3e-5, "float64": 1e-10, "complex64": 6e-5, "complex128": 1e-10}
WIDER = {
    "float16": "float64",
    "float32": "float64",
    "float64": "longdouble",
    "complex64": "complex128",
    "complex128": "clongdouble",
}
ALL, REAL, NUMBERS = "biufc", "biuf", "iuf"


class Refused(Exception):
    """The call that NumPy refuses."""


def wide(x):
    return x.astype(WIDER.get(x.dtype.name, x.dtype))


def floats(x):
    """As a function takes it whose values are floats, whatever its argument is."""
    return x.astype(float) if x.dtype.kind in "biu" else wide(x)


class Draw:
    """Random arguments: an array and the tensor of the same values are drawn together. `asked`: the kinds of types that
    may come, and "empty", "axis" and "view" where they may. kind: whatever a row asks for, it gets types of this
    kind.
    """

    def __init__(self, data, kind=None):
        self.data, self.kind, self.asked = data, kind, set()
        self.rng = np.random.default_rng(self(st.integers(0, 2**16)))

    def __call__(self, strategy):
        return self.data.draw(strategy)

    def among(self, *choices):
        return self(st.sampled_from(choices))

    def type(self, kinds, but=()):
        self.asked |= set(kinds)
        return self.among(*[name for kind in self.kind or kinds for name in TYPES[kind] if name not in but])

    def size(self, most=4):
        self.asked.add("empty")
        return self(st.integers(0 if self.among(*[False] * 5, True) else 1, most))

    def shape(self, least=0, most=3, empty=True):
        self.asked |= {"empty"} if empty else set()
        return tuple(
            self(
                st.lists(
                    st.integers(0 if empty and self.among(*[False] * 5, True) else 1, 4), min_size=least, max_size=most
                )
            )
        )

    def values(self, dtype, shape, low, high):
        kind = np.dtype(dtype).kind
        if kind == "b":
            return self.rng.integers(0, 2, shape).astype(bool)
        if kind in "iu":
            return self.rng.integers(
                max(math.ceil(low), 0) if kind == "u" else math.ceil(low),
                max(math.floor(high), math.ceil(low)) + 1,
                shape,
            ).astype(dtype)
        quarters = lambda: low + (high - low) * self.rng.integers(0, 33, shape) / 32  # noqa: E731
        return (quarters() + 1j * quarters() if kind == "c" else quarters()).astype(dtype)

    def array(self, kinds=REAL, shape=None, low=-4, high=4, dtype=None, least=0, most=3, empty=True):
        """(array, tensor), by a view of another one."""
        self.asked.add("view")
        shape = self.shape(least, most, empty) if shape is None else tuple(shape)
        dtype = dtype or self.type(kinds)
        how = self.among("plain", "transposed", "strided", "reversed", "cut", "repeated") if shape else "plain"
        view = {
            "plain": lambda v: v, "transposed": lambda v: v.T, "strided": lambda v: v[..., 1::2],
            "reversed": lambda v: v[::-1], "cut": lambda v: v[1:-2],
            "repeated": lambda v: np.broadcast_to(v, shape) if isinstance(v, np.ndarray) else v.expand(shape),
        }[how]  # fmt: skip
        below = (
            {
                "transposed": shape[::-1],
                "strided": (*shape[:-1], 2 * shape[-1] + 1),
                "cut": (shape[0] + 3, *shape[1:]),
                "repeated": (1, *shape[1:]),
            }.get(how, shape)
            if shape
            else shape
        )
        base = self.values(dtype, below, low, high)
        t = Tensor(base)
        t = t.realize() if self.among(True, False) else t
        return view(base), view(t)

    def axis(self, x, none=True):
        self.asked.add("axis")
        if x.ndim == 0 and not none:
            raise Refused("no axis to draw")
        return self.among(*([None] if none else []), *range(-x.ndim, x.ndim)) if x.ndim else None

    def axes(self, x):
        self.asked.add("axis")
        many = self(st.lists(st.integers(0, x.ndim - 1), unique=True, min_size=1)) if x.ndim else []
        return self.among(None, self.axis(x), tuple(many)) if many else None


def both(got, want):
    """(what the first gives, what the second gives), errors too."""
    out = []
    for f in (got, want):
        try:
            out.append(f())
        except (strata.Error, ValueError, IndexError, TypeError, ZeroDivisionError, np.linalg.LinAlgError) as e:
            out.append(e)
    return out


def compare(got, want, exact=False):
    if isinstance(want, Exception) or isinstance(got, Exception):
        assert isinstance(want, Exception) and isinstance(got, Exception), f"{got!r} for NumPy's {want!r}"
        return
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            compare(g, w, exact)
        return
    want, array = np.asarray(want), got.numpy()
    assert array.shape == want.shape, f"shape {array.shape}, NumPy's {want.shape}"
    kinds = {"i": "i", "u": "i", "b": "b", "f": "f", "c": "c"}
    assert kinds[array.dtype.kind] == kinds[want.dtype.kind], f"{array.dtype} for NumPy's {want.dtype}"
    tolerance = 0 if exact else TOLERANCE.get(array.dtype.name, 0)
    if array.dtype.kind in "biu":
        np.testing.assert_array_equal(array, want)
    else:
        np.testing.assert_allclose(array, want.astype(array.dtype), rtol=tolerance, atol=tolerance)
