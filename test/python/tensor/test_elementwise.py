"""Every function of one number, every type, against NumPy in a wider type; others are in test_elementwise_pairs.py.

Limits are in units of the last place (ulp) of the result's type. 0: the operation is exact or correctly rounded.
"""

import math

import numpy as np
import pytest
import strata
from formats import (
    ALL,
    BOOL,
    FLOATS,
    INTEGERS,
    LISTED,
    array,
    dtype_of,
    rounded,
    special_values,
    tensor,
    ulps,
)
from strata import dtypes

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
EXACT = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": sign,
    "square": lambda x: x * x,
    "relu": lambda x: np.maximum(x, 0),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
}
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
    cases = "; ".join(
        f"{', '.join(str(v[i]) for v in inputs)} -> {got[i]!r}, expected {expected[i]!r} ({gap[i]} ulp)" for i in worst
    )
    return f"{op} of {name}: {bad.sum()} wrong of {bad.size}: {cases}"


def check(rows):
    """rows: (label, type, inputs, result tensor, expected, ulps, slack). Computes all at once, compares each."""
    strata.realize([row[3] for row in rows])
    problems = [
        report(label, name, inputs, array(t), expected, allowed, slack)
        for label, name, inputs, t, expected, allowed, slack in rows
    ]
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
            assert (np.signbit(got) == np.signbit(getattr(np, op if op != "round" else "rint")(x))).all(), (
                op,
                name,
                got,
            )
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
            slack = (
                np.where(np.isfinite(held), eps * np.abs(held.astype(np.float64)), 0)
                if op in CANCELS
                else np.zeros(x.shape)
            )
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
        rows.append(
            (op, name, [x], t, getattr(np, op)(x.astype(bool) if op == "logical_not" else x.astype(np.float64)), 0, 0)
        )
    check(rows)


def test_bitwise_invert(rng):
    rows = []
    for name in BOOL + INTEGERS:
        x = special_values(name, rng)
        rows.append(("bitwise_invert", name, [x], ~tensor(name, x), ~x, 0, 0))
    check(rows)


@pytest.mark.parametrize(
    "op, name", [("neg", "boolean"), ("abs", "boolean"), ("bitwise_invert", "float32"), ("floor", "boolean")]
)
def test_types_an_operation_does_not_take(op, name):
    with pytest.raises(strata.DTypeError, match=rf"\[{op}\].*{name}"):
        getattr(tensor(name, [0, 1]), op)()
