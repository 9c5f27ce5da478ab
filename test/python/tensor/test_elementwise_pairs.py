"""Functions of two and three numbers, every type, against NumPy in a wider type. Limits are in ulp, as in
test_elementwise.py.
"""

import operator

import numpy as np
import pytest
import strata
from formats import (
    ALL,
    BOOL,
    FLOATS,
    INTEGERS,
    LISTED,
    SIGNED,
    dtype_of,
    native,
    rounded,
    special_values,
    tensor,
)
from hypothesis import given, strategies as st
from strata import Tensor, dtypes
from test_elementwise import NUMBERS, check, wide

# Two operands


def pairs(name, rng):
    """Pairs of special and random values of a type."""
    x = special_values(name, rng)
    a = np.concatenate([x, x[::-1], x])
    b = np.concatenate([np.roll(x, 1), np.roll(x, 5), x])
    return a, b


def integer_power(a, b, name):
    info = np.iinfo(name)
    wrap = lambda v: (v - info.min) % (1 << info.bits) + info.min  # noqa: E731

    def one(x, n):
        if n >= 0:
            return wrap(pow(int(x), int(n), 1 << info.bits))
        return {1: 1, -1: 1 if n % 2 == 0 else -1}.get(int(x), 0)

    return np.array([one(x, n) for x, n in zip(a, b)], name)


ARITHMETIC = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


@pytest.mark.parametrize("op", ARITHMETIC)
def test_arithmetic(op, rng):
    rows = []
    for name in ALL:
        if name == "boolean" and op == "sub":
            continue
        a, b = pairs(name, rng)
        t = getattr(tensor(name, a), op)(tensor(name, b))
        assert t.dtype == dtype_of(name)
        with np.errstate(all="ignore"):
            if name in LISTED:
                expected = rounded(name, ARITHMETIC[op](a, b))
            else:
                expected = ARITHMETIC[op](a, b)
        rows.append((op, name, [a, b], t, expected, 0, 0))
    check(rows)


def test_true_division(rng):
    rows = []
    for name in ALL:
        a, b = pairs(name, rng)
        t = tensor(name, a) / tensor(name, b)
        out = name if name in FLOATS else "float32"
        assert t.dtype == dtype_of(out)
        with np.errstate(all="ignore"):
            if name in FLOATS:
                expected = rounded(out, wide("float32", a) / wide("float32", b)) if name in LISTED else a / b
            else:
                expected = a.astype(np.float32) / b.astype(np.float32)
        rows.append(("div", out, [a, b], t, expected, 1 if out == "float64" else 0, 0))
    check(rows)


def floor_pairs(name, rng):
    """Numerators and divisors with quotients that the type's mantissa holds; no integer division by 0."""
    if name in INTEGERS:
        a, b = pairs(name, rng)
        return a[b != 0], b[b != 0]
    limit = 6 if name in LISTED and name != "bfloat16" else 100
    a, b = rng.uniform(-limit, limit, 200), rng.uniform(0.5, 4, 200) * rng.choice([-1, 1], 200)
    whole = np.array(
        [(6, 2), (-6, 2), (6, -2), (-6, -2), (0, 3), (7, 2), (-7, 2), (7, -2), (1, 3), (-1, 3), (4, 0.5), (-0.5, 4)],
        float,
    )
    special = np.array([(1, 0), (-1, 0), (0, 0), (np.nan, 1), (1, np.nan)])
    if name in NATIVE_WITH_INFINITY:
        special = np.concatenate([special, [(np.inf, 2), (3, np.inf), (-3, np.inf), (3, -np.inf), (-np.inf, -np.inf)]])
    both = np.concatenate([np.stack([a, b], 1), whole, special])
    return rounded(name, both[:, 0]), rounded(name, both[:, 1])


NATIVE_WITH_INFINITY = ["float16", "float32", "float64", "bfloat16", "fp8e5m2"]


def test_floor_division_and_remainder(rng):
    rows = []
    for name in NUMBERS:
        a, b = floor_pairs(name, rng)
        x, y = tensor(name, a), tensor(name, b)
        with np.errstate(all="ignore"):
            quotient, remainder = np.floor_divide(a, b), np.remainder(a, b)
            if name in LISTED:
                quotient, remainder = rounded(name, quotient), rounded(name, remainder)
        rows.append(("floor_divide", name, [a, b], x // y, quotient, 0, 0))
        rows.append(("remainder", name, [a, b], x % y, remainder, 0, 0))
    check(rows)


def test_division_of_integers_by_known_numbers(rng):
    rows = []
    for name in INTEGERS:
        x = special_values(name, rng)
        for n in [1, 2, 3, 7, 8, 100] + ([-1, -2, -3, -8] if name in SIGNED else []):
            rows.append((f"// {n}", name, [x], tensor(name, x) // n, x // np.array(n, name), 0, 0))
            rows.append((f"% {n}", name, [x], tensor(name, x) % n, x % np.array(n, name), 0, 0))
    check(rows)


def test_integer_powers_wrap(rng):
    rows = []
    for name in INTEGERS:
        a = special_values(name, rng)
        b = np.concatenate([np.arange(11), [63, 64, 100], [-1, -2, -3] if name in SIGNED else []]).astype(name)
        a, b = np.repeat(a, len(b)), np.tile(b, len(a))
        rows.append(("pow", name, [a, b], tensor(name, a) ** tensor(name, b), integer_power(a, b, name), 0, 0))
        for n in (0, 1, 2, 3, 5, 10):
            rows.append((f"** {n}", name, [a], tensor(name, a) ** n, integer_power(a, np.full(a.shape, n), name), 0, 0))
    check(rows)
    with pytest.raises(strata.UsageError, match="cast to a float"):
        Tensor([2]) ** -1


# pow: OpenCL allows 16 ulp; OCML computes it in extended precision.
POWER_ULPS = {"float16": 1, "float32": 1, "float64": 2}


def test_float_powers(rng):
    rows = []
    special = [
        (0, 0),
        (0, -1),
        (-0.0, -1),
        (-0.0, -3),
        (0, 2),
        (1, np.nan),
        (np.nan, 0),
        (np.nan, 1),
        (-1, 2),
        (-1.5, 3),
        (-2, 0.5),
        (2, -1),
        (4, 0.5),
    ]
    infinite = [
        (np.inf, 2),
        (np.inf, -2),
        (-np.inf, 3),
        (-np.inf, 2),
        (2, np.inf),
        (0.5, np.inf),
        (0.5, -np.inf),
        (-1, np.inf),
    ]
    for name in FLOATS:
        both = np.concatenate(
            [
                np.stack([np.abs(rng.standard_normal(100)), rng.standard_normal(100) * 3], 1),
                special,
                infinite if name in NATIVE_WITH_INFINITY else [],
            ][: 3 if name in NATIVE_WITH_INFINITY else 2]
        )
        a, b = rounded(name, both[:, 0]), rounded(name, both[:, 1])
        x = tensor(name, a)
        with np.errstate(all="ignore"):
            rows.append(
                (
                    "pow",
                    name,
                    [a, b],
                    x ** tensor(name, b),
                    rounded(name, np.power(wide(name, a), wide(name, b))),
                    POWER_ULPS.get(name, 1),
                    0,
                )
            )
            for n in (0, 1, 2, 3, -1, 2.5):
                allowed = {0: 0, 1: 0, 2: 0, 3: 1, -1: 0 if name != "float64" else 1}.get(n, POWER_ULPS.get(name, 1))
                rows.append((f"** {n}", name, [a], x**n, rounded(name, np.power(wide(name, a), n)), allowed, 0))
    check(rows)


COMPARISONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons(op, rng):
    rows = []
    for name in ALL:
        a, b = pairs(name, rng)
        t = COMPARISONS[op](tensor(name, a), tensor(name, b))
        assert t.dtype == dtypes.boolean
        rows.append((op, name, [a, b], t, COMPARISONS[op](a, b), 0, 0))
    check(rows)


@pytest.mark.parametrize("op", ["logical_and", "logical_or", "logical_xor"])
def test_logic(op, rng):
    rows = []
    for name in ALL:
        a, b = pairs(name, rng)
        rows.append((op, name, [a, b], getattr(tensor(name, a), op)(tensor(name, b)), getattr(np, op)(a, b), 0, 0))
    check(rows)


@pytest.mark.parametrize("op", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bits(op, rng):
    rows = []
    for name in BOOL + INTEGERS:
        a, b = pairs(name, rng)
        rows.append((op, name, [a, b], getattr(tensor(name, a), op)(tensor(name, b)), getattr(np, op)(a, b), 0, 0))
    check(rows)


def test_shifts(rng):
    rows = []
    for name in INTEGERS:
        bits = np.iinfo(name).bits
        a = special_values(name, rng)
        b = np.array([0, 1, 3, bits - 1, bits, bits + 1, 100], name)
        a, b = np.repeat(a, len(b)), np.tile(b, len(a))
        rows.append(("<<", name, [a, b], tensor(name, a) << tensor(name, b), np.left_shift(a, b), 0, 0))
        rows.append((">>", name, [a, b], tensor(name, a) >> tensor(name, b), np.right_shift(a, b), 0, 0))
        for n in (0, 2, bits - 1):
            rows.append((f"<< {n}", name, [a], tensor(name, a) << n, np.left_shift(a, np.array(n, name)), 0, 0))
            rows.append((f">> {n}", name, [a], tensor(name, a) >> n, np.right_shift(a, np.array(n, name)), 0, 0))
    check(rows)


def test_where_and_clamp(rng):
    rows = []
    for name in ALL:
        a, b = pairs(name, rng)
        condition = rng.integers(0, 2, a.shape).astype(bool)
        rows.append(
            (
                "where",
                name,
                [a, b],
                strata.where(Tensor(condition), tensor(name, a), tensor(name, b)),
                np.where(condition, a, b),
                0,
                0,
            )
        )
    for name in NUMBERS:
        x = special_values(name, rng)
        expected = np.where(np.isnan(x), x, np.clip(x, 1, 5)) if name in FLOATS else np.clip(x, 1, 5)
        rows.append(("clamp", name, [x], tensor(name, x).clamp(1, 5), expected, 0, 0))
        rows.append(
            (
                "clip",
                name,
                [x],
                tensor(name, x).clip(min=2),
                np.maximum(x, native(name).type(2) if native(name) else 2.0),
                0,
                0,
            )
        )
    check(rows)


@given(
    st.lists(st.floats(width=32, allow_nan=True), min_size=1, max_size=20),
    st.sampled_from(["neg", "abs", "floor", "trunc", "round", "isnan", "square"]),
)
def test_any_floats(values, op):
    x = np.zeros(20, np.float32)
    x[: len(values)] = values
    expected = {"neg": np.negative, "round": np.rint}.get(op) or getattr(np, op)
    np.testing.assert_array_equal(getattr(Tensor(x), op)().numpy(), expected(x))


@given(st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1)), min_size=1, max_size=20))
def test_any_integer_division(values):
    pairs = np.ones((20, 2), np.int64)
    pairs[: len(values)] = values
    pairs[pairs[:, 1] == 0] = 1
    a, b = pairs.astype(np.int32).T
    q, r = Tensor(a) // Tensor(b), Tensor(a) % Tensor(b)
    np.testing.assert_array_equal(q.numpy(), a // b)
    np.testing.assert_array_equal(r.numpy(), a % b)
    assert ((q * Tensor(b) + r) == Tensor(a)).all().item()
