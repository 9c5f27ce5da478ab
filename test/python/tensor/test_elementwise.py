"""Every row of ops/elementwise.def, every type, against NumPy in a wider type.

Limits are in units of the last place (ulp) of the result's type. 0: the operation is exact or correctly rounded.
"""

import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strata
from formats import ALL, BOOL, FLOATS, INTEGERS, LISTED, SIGNED, array, dtype_of, native, rounded, special_values, tensor, ulps
from strata import Tensor, dtypes

erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])
LOG10_2, SQRT_2_PI = np.log10(np.longdouble(2)), np.sqrt(np.longdouble(2) / np.longdouble("3.14159265358979323846"))


def wide(name, x):
    """A type in which a reference for `name` is computed: more than twice the bits where there are such."""
    return np.asarray(x).astype(np.longdouble if name == "float64" else np.float64)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return (x * 0.5 * erfc(np.asarray(-x * np.sqrt(0.5), np.float64))).astype(x.dtype)


def gelu_tanh(x):
    inner = x * (1 + x * x * 0.044715) * SQRT_2_PI.astype(x.dtype)
    return x / (1 + np.exp(-2 * inner))  # x / 2 (1 + tanh inner) without its cancellation


def with_its_limit(f):
    """x times a step, which is -infinity times 0 at the end, and 0 on the way to it."""
    return lambda x: np.where(x == -np.inf, x.dtype.type(-0.0), f(x))


def sign(x):
    return np.where(np.isnan(x), x, np.sign(x))


# name: (reference, types it takes, ulps of float32, of float64, of float16)
NUMBERS = INTEGERS + FLOATS
EXACT = {"neg": np.negative, "abs": np.abs, "sign": sign, "square": lambda x: x * x, "relu": lambda x: np.maximum(x, 0),
         "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint}
# Limits: the error that OCML (the device math library) states or OpenCL allows for the function, whichever is tighter,
# plus the roundings of a composition.
FUNCTIONS = {
    "reciprocal": (lambda x: 1 / x, 0, 1, 0),
    "sqrt": (np.sqrt, 0, 1, 0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2, 2, 1),
    "exp": (np.exp, 2, 1, 1),
    "exp2": (np.exp2, 2, 1, 1),
    "log": (np.log, 2, 1, 1),
    "log2": (np.log2, 2, 1, 1),
    "log10": (np.log10, 4, 3, 1),
    "sin": (np.sin, 2, 2, 2),
    "cos": (np.cos, 2, 2, 2),
    "tan": (np.tan, 5, 5, 1),
    "tanh": (np.tanh, 3, 3, 2),
    "erf": (lambda x: erf(np.asarray(x, np.float64)), 3, 4, 2),
    "sigmoid": (sigmoid, 4, 4, 1),
    "silu": (with_its_limit(lambda x: x * sigmoid(x)), 5, 5, 1),
    "gelu": (with_its_limit(gelu), 4, 6, 1),
    "gelu_tanh": (with_its_limit(gelu_tanh), 4, 6, 1),
}
# 1 + e with e near -1: what cancels is an error of a few ulp of 1, times x.
CANCELS = {"gelu", "gelu_tanh"}
# exp(-x) overflows where the result would be subnormal.
FLUSHES = {"sigmoid", "silu", "gelu_tanh", "gelu"}


def result_type_of(op, name):
    if op in FUNCTIONS and name not in FLOATS:
        return "float32"
    return name


def limit(op, name):
    """Ulps allowed, by the type of the result."""
    if op not in FUNCTIONS:
        return 0
    f32, f64, f16 = FUNCTIONS[op][1:]
    if name in LISTED:  # computed as float32, rounded once: off by one only when float32's error crosses a tie
        return min(f32, 1)
    return {"float32": f32, "float64": f64, "float16": f16}[name]


def report(op, name, inputs, got, expected, allowed, slack=0.0):
    """'' or a line that shows the worst differences."""
    if got.dtype == bool or np.issubdtype(got.dtype, np.integer):
        bad = got != expected
        gap = bad.astype(int)
    else:
        gap = ulps(name, got, expected)
        with np.errstate(all="ignore"):
            close = np.abs(got.astype(np.float64) - expected.astype(np.float64)) <= slack
        bad = (gap > allowed) & ~close
    if not bad.any():
        return ""
    worst = np.flatnonzero(bad)[np.argsort(-gap[bad].astype(float))][:4]
    cases = "; ".join(f"{', '.join(str(v[i]) for v in inputs)} -> {got[i]!r}, expected {expected[i]!r} ({gap[i]} ulp)" for i in worst)
    return f"{op} of {name}: {bad.sum()} wrong of {bad.size}: {cases}"


def check(rows):
    """rows: (label, type, inputs, result tensor, expected, ulps, slack). Computes all at once, compares each."""
    strata.realize([row[3] for row in rows])
    problems = [report(label, name, inputs, array(t), expected, allowed, slack)
                for label, name, inputs, t, expected, allowed, slack in rows]
    assert not any(problems), "\n".join(p for p in problems if p)


@pytest.mark.parametrize("op", EXACT)
def test_exact_functions_of_numbers(op, rng):
    rows = []
    for name in NUMBERS:
        x = special_values(name, rng)
        t = getattr(tensor(name, x), op)()
        assert t.dtype == dtype_of(name)
        with np.errstate(all="ignore"):
            if name in FLOATS:
                expected = rounded(name, EXACT[op](wide(name, x) if name != "float64" else x))
            else:
                expected = EXACT[op](x) if op in ("neg", "abs", "sign", "square", "relu") else x
        rows.append((op, name, [x], t, np.asarray(expected), 0, 0.0))
    check(rows)


def test_signs_of_zero_and_nan_survive(rng):
    for name in ("float16", "float32", "float64", "bfloat16", "fp8e4m3", "fp8e5m2"):
        x = np.array([0.0, -0.0, 1.0, -1.0, -0.25, 0.25])
        t = tensor(name, x)
        for op in ("floor", "ceil", "trunc", "round"):
            got = array(getattr(t, op)())
            assert (np.signbit(got) == np.signbit(getattr(np, op if op != "round" else "rint")(x))).all(), (op, name, got)
        assert (np.signbit(array(-t)) == ~np.signbit(x)).all()
        assert not np.signbit(array(abs(t))).any()


@pytest.mark.parametrize("op", FUNCTIONS)
def test_functions(op, rng):
    rows = []
    for name in ALL:
        x = special_values(name, rng)
        t = getattr(tensor(name, x), op)()
        out = result_type_of(op, name)
        assert t.dtype == dtype_of(out)
        with np.errstate(all="ignore"):
            held = x if name in FLOATS else x.astype(np.float32)
            w = wide(out, held)
            expected = rounded(out, FUNCTIONS[op][0](w))
            eps = 2.0**-22 if out in LISTED else 4 * float(np.finfo(out).eps)
            slack = np.where(np.isfinite(held), eps * np.abs(held.astype(np.float64)), 0) if op in CANCELS else np.zeros(x.shape)
            if op in FLUSHES:
                slack = slack + float(np.finfo("float32" if out in LISTED else out).tiny)
        rows.append((op, out, [x], t, np.asarray(expected), limit(op, out), slack))
    check(rows)


@pytest.mark.parametrize("op", ["isnan", "isinf", "isfinite", "logical_not"])
def test_questions(op, rng):
    rows = []
    for name in ALL:
        x = special_values(name, rng)
        t = getattr(tensor(name, x), op)()
        assert t.dtype == dtypes.boolean
        rows.append((op, name, [x], t, getattr(np, op)(x.astype(bool) if op == "logical_not" else x.astype(np.float64)), 0, 0))
    check(rows)


def test_bitwise_invert(rng):
    rows = []
    for name in BOOL + INTEGERS:
        x = special_values(name, rng)
        rows.append(("bitwise_invert", name, [x], ~tensor(name, x), ~x, 0, 0))
    check(rows)


@pytest.mark.parametrize("op, name", [("neg", "boolean"), ("abs", "boolean"), ("bitwise_invert", "float32"), ("floor", "boolean")])
def test_types_an_operation_does_not_take(op, name):
    with pytest.raises(strata.DTypeError, match=rf"\[{op}\].*{name}"):
        getattr(tensor(name, [0, 1]), op)()


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


ARITHMETIC = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "maximum": np.maximum, "minimum": np.minimum}


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
    whole = np.array([(6, 2), (-6, 2), (6, -2), (-6, -2), (0, 3), (7, 2), (-7, 2), (7, -2), (1, 3), (-1, 3), (4, 0.5), (-0.5, 4)], float)
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
    special = [(0, 0), (0, -1), (-0.0, -1), (-0.0, -3), (0, 2), (1, np.nan), (np.nan, 0), (np.nan, 1), (-1, 2), (-1.5, 3), (-2, 0.5), (2, -1), (4, 0.5)]
    infinite = [(np.inf, 2), (np.inf, -2), (-np.inf, 3), (-np.inf, 2), (2, np.inf), (0.5, np.inf), (0.5, -np.inf), (-1, np.inf)]
    for name in FLOATS:
        both = np.concatenate([np.stack([np.abs(rng.standard_normal(100)), rng.standard_normal(100) * 3], 1), special,
                               infinite if name in NATIVE_WITH_INFINITY else []][: 3 if name in NATIVE_WITH_INFINITY else 2])
        a, b = rounded(name, both[:, 0]), rounded(name, both[:, 1])
        x = tensor(name, a)
        with np.errstate(all="ignore"):
            rows.append(("pow", name, [a, b], x ** tensor(name, b), rounded(name, np.power(wide(name, a), wide(name, b))), POWER_ULPS.get(name, 1), 0))
            for n in (0, 1, 2, 3, -1, 2.5):
                allowed = {0: 0, 1: 0, 2: 0, 3: 1, -1: 0 if name != "float64" else 1}.get(n, POWER_ULPS.get(name, 1))
                rows.append((f"** {n}", name, [a], x**n, rounded(name, np.power(wide(name, a), n)), allowed, 0))
    check(rows)


COMPARISONS = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}


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
        rows.append(("where", name, [a, b], strata.where(Tensor(condition), tensor(name, a), tensor(name, b)), np.where(condition, a, b), 0, 0))
    for name in NUMBERS:
        x = special_values(name, rng)
        expected = np.where(np.isnan(x), x, np.clip(x, 1, 5)) if name in FLOATS else np.clip(x, 1, 5)
        rows.append(("clamp", name, [x], tensor(name, x).clamp(1, 5), expected, 0, 0))
        rows.append(("clip", name, [x], tensor(name, x).clip(min=2), np.maximum(x, native(name).type(2) if native(name) else 2.0), 0, 0))
    check(rows)


@given(st.lists(st.floats(width=32, allow_nan=True), min_size=1, max_size=20), st.sampled_from(["neg", "abs", "floor", "trunc", "round", "isnan", "square"]))
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
