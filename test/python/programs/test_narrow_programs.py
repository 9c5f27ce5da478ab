"""Random programs of narrow types against NumPy: exact, whatever the schedule, the instructions and the order of sums
are.

Integers wrap. Floats hold small integers, and are brought back to them after each step, so that each step is exact.
STRATA_FUZZ_SECONDS: how long programs are made beyond the first ones; STRATA_FUZZ_SEED: where they start.
"""

import os
import time

import numpy as np
import pytest
import strata
from formats import LISTED, array, dtype_of, rounded, tensor

LIMITS = {
    "int8": 128,
    "uint8": 256,
    "int16": 300,
    "uint16": 300,
    "float16": 16,
    "bfloat16": 8,
    "fp8e4m3": 4,
    "fp8e5m2": 2,
}
SIZES = [1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 48, 64]


def is_float(name):
    return "float" in name or "fp8" in name


class Program:
    """A lazy tensor of a narrow type beside its value: NumPy's integers, or float64 of a float type's values."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.name = str(self.rng.choice(list(LIMITS)))
        self.shape = tuple(int(n) for n in self.rng.choice(SIZES, self.rng.integers(1, 4)))
        while np.prod(self.shape) > 20000:
            self.shape = self.shape[:-1]
        self.t, self.v = self.fresh(self.shape)

    def fresh(self, shape):
        limit = LIMITS[self.name]
        low = 0 if self.name.startswith("uint") else -limit
        v = self.in_type(self.rng.integers(low, limit, shape))
        return tensor(self.name, v), v

    def in_type(self, x):
        """Exact results in the type: integers wrap, floats are of the type already."""
        if not is_float(self.name):
            return np.asarray(x).astype(self.name)
        v = np.asarray(rounded(self.name, x), np.float64)
        np.testing.assert_array_equal(v, x, err_msg=f"a program of {self.name} left what the type holds")
        return v

    def take(self, t, v):
        """Goes on with these. Floats are brought back to their limits."""
        if is_float(self.name):
            limit = LIMITS[self.name]
            t, v = t.minimum(limit).maximum(-limit), np.clip(v, -limit, limit)
        self.t, self.v = t, self.in_type(v)
        assert self.t.dtype == dtype_of(self.name), (self.t.dtype, self.name)
        assert self.t.shape == self.v.shape

    def wide(self, v):
        """A wider type, of enough bits for a step."""
        return np.asarray(v, np.float64 if is_float(self.name) else np.int64)

    def axis(self):
        return int(self.rng.integers(self.v.ndim))

    def op_arithmetic(self):
        u, w = self.fresh(self.v.shape) if self.rng.integers(2) else (self.t, self.v)
        v, w = self.wide(self.v), self.wide(w)
        which = self.rng.integers(3)
        if which == 0:
            return self.take(self.t + u, v + w)
        if which == 1:
            return self.take(self.t - u, v - w)
        return self.take(self.t * u, v * w)

    def op_choice(self):
        u, w = self.fresh(self.v.shape)
        which = self.rng.integers(3)
        if which == 0:
            return self.take(self.t.maximum(u), np.maximum(self.v, w))
        if which == 1:
            return self.take(strata.where(self.t < u, self.t, u), np.where(self.v < w, self.v, w))
        return self.take(strata.where(self.t == u, u * 0 + 1, self.t), np.where(self.v == w, 1, self.v))

    def op_division(self):
        if is_float(self.name):
            return
        n = int(self.rng.integers(2, 12))
        if self.rng.integers(2):
            return self.take(self.t // n, self.v // self.v.dtype.type(n))
        return self.take(self.t % n, self.v % self.v.dtype.type(n))

    def op_bits(self):
        if is_float(self.name):
            return
        by = int(self.rng.integers(1, 8))
        which = self.rng.integers(3)
        if which == 0:
            return self.take(self.t << by, self.wide(self.v) << by)
        if which == 1:
            return self.take(self.t >> by, self.v >> self.v.dtype.type(by))
        return self.take(
            (self.t ^ by) & (self.t | 3), (self.v ^ self.v.dtype.type(by)) & (self.v | self.v.dtype.type(3))
        )

    def op_cast(self):
        name = str(self.rng.choice(list(LIMITS)))
        t, v = self.t, self.wide(self.v)
        if is_float(name):
            limit = min(LIMITS[name], LIMITS[self.name] - 1)
            t, v = t.minimum(limit), np.minimum(v, limit)
            if not self.name.startswith("uint"):
                t, v = t.maximum(-limit), np.maximum(v, -limit)
        elif is_float(self.name) and name.startswith("uint"):
            t, v = abs(t), abs(v)
        self.name = name
        self.take(t.cast(dtype_of(name)), v)

    def op_sum(self):
        axis = self.axis()
        if not is_float(self.name):
            return self.take(
                self.t.sum(axis, keepdims=True).cast(dtype_of(self.name)), self.wide(self.v).sum(axis, keepdims=True)
            )
        return self.take(
            self.t.cast("float32").sum(axis, keepdims=True).minimum(8).maximum(-8).cast(dtype_of(self.name)),
            np.clip(self.v.sum(axis, keepdims=True), -8, 8),
        )

    def op_extreme(self):
        axis = self.axis()
        if self.rng.integers(2):
            return self.take(self.t.max(axis, keepdims=True), self.v.max(axis, keepdims=True))
        return self.take(self.t.min(axis, keepdims=True), self.v.min(axis, keepdims=True))

    def op_position(self):
        axis = self.axis()
        self.t, self.v = self.t.argmax(axis), self.v.argmax(axis)
        self.name = "int8"
        self.take(self.t.cast("int8"), self.v)

    def op_product(self):
        """The product of a matrix and one of as many rows as it has columns. Matrix instructions cut off less than half
        (`emulator.fidelity`).
        """
        if self.v.ndim < 2:
            return
        n = int(self.rng.choice(SIZES))
        u, w = self.fresh((self.v.shape[-1], n))
        v = self.wide(self.v) @ self.wide(w)
        if not is_float(self.name):
            if self.rng.integers(2):
                return self.take(self.t @ u, v)
            return self.take((self.t.cast("int32") @ u.cast("int32")).cast(dtype_of(self.name)), v)
        wide = (self.t.cast("float32") @ u.cast("float32")).round()
        if self.name == "float16" and self.rng.integers(2) and abs(v).max(initial=0) <= 2048:
            return self.take((self.t @ u).round(), v)
        self.take(wide.minimum(8).maximum(-8).cast(dtype_of(self.name)), np.clip(v, -8, 8))

    def op_movement(self):
        axis = self.axis()
        which = self.rng.integers(5)
        if which == 0:
            order = [int(a) for a in self.rng.permutation(self.v.ndim)]
            return self.take(self.t.permute(order), self.v.transpose(order))
        if which == 1:
            return self.take(self.t.flip(axis), np.flip(self.v, axis))
        if which == 2:
            widths = [(int(a), int(b)) for a, b in self.rng.integers(0, 3, (self.v.ndim, 2))]
            return self.take(self.t.pad(widths, 1), np.pad(self.v, widths, constant_values=1))
        if which == 3:
            key = [slice(None)] * self.v.ndim
            key[axis] = slice(int(self.rng.integers(0, self.v.shape[axis])), None, int(self.rng.integers(1, 4)))
            return self.take(self.t[tuple(key)], self.v[tuple(key)])
        self.take(self.t.contiguous(), self.v)

    def run(self):
        kinds = [getattr(self, n) for n in dir(self) if n.startswith("op_")]
        for _ in range(self.rng.integers(1, 7)):
            kinds[self.rng.integers(len(kinds))]()
            if self.v.ndim == 0 or self.v.size > 20000:
                break
            if self.rng.integers(6) == 0:
                self.t.realize()
        got = array(self.t)
        np.testing.assert_array_equal(np.asarray(got, self.v.dtype), self.v)


@pytest.mark.parametrize("name", LISTED)
@pytest.mark.parametrize("size", [3, 33, 1000])
def test_extremes_of_types_with_and_without_infinity(name, size):
    v = -1 - np.arange(4 * size).reshape(4, size) * 5 % 7.0
    for sign in (1, -1):
        t = tensor(name, sign * v)
        np.testing.assert_array_equal(array(t.max(1)), (sign * v).max(1))
        np.testing.assert_array_equal(array(t.min(1)), (sign * v).min(1))
        np.testing.assert_array_equal(t.argmax(1).numpy(), (sign * v).argmax(1))
        np.testing.assert_array_equal(t.argmin(1).numpy(), (sign * v).argmin(1))


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_programs_of_narrow_types_are_exact(first):
    for seed in range(first, first + 10):
        Program(seed).run()


def test_fuzz_of_more_programs():
    seed = int(os.environ.get("STRATA_FUZZ_SEED", "1000"))
    until, programs = time.monotonic() + float(os.environ.get("STRATA_FUZZ_SECONDS", "2")), 0
    while time.monotonic() < until or not programs:
        try:
            Program(seed + programs).run()
        except Exception as e:
            e.add_note(f"program {seed + programs}")
            raise
        programs += 1
    print(f"{programs} programs from seed {seed}")
