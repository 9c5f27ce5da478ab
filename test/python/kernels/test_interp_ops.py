"""Every elementwise row of ops.def over every element type, under the interpreter, against NumPy."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from strata import Tensor, uop

ROWS = Path(__file__).parents[3].joinpath("core/uop/ops.def").read_text()
OPS = re.findall(r"^ELEMENTWISE\( *(\w+),", ROWS, re.MULTILINE)
COUNT = 48

# Exponent bits, mantissa bits, and the largest number, of types that NumPy lacks; infinity beyond, or NaN.
NARROW = {
    "bfloat16": (8, 7, 255 * 2.0**120, np.inf),
    "fp8e4m3": (4, 3, 448.0, np.nan),
    "fp8e5m2": (5, 2, 57344.0, np.inf),
    "fp8e4m3fnuz": (4, 3, 240.0, np.nan),
    "fp8e5m2fnuz": (5, 2, 57344.0, np.nan),
}
FLOATS = ["float16", "float32", "float64", *NARROW]
INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]


def rounded(values, dtype):
    """float64 to the nearest number of a type, ties to even."""
    values = np.asarray(values, "float64")
    if dtype not in NARROW:
        with np.errstate(over="ignore"):
            return values.astype(dtype).astype("float64")
    exponents, mantissa, largest, beyond = NARROW[dtype]
    bias = 2 ** (exponents - 1) - (0 if dtype.endswith("fnuz") else 1)
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.floor(np.log2(np.abs(values))), 1 - bias)
        step = np.exp2(np.where(np.isfinite(exponent), exponent, 1 - bias) - mantissa)
        out = np.rint(values / step) * step
        out = np.where(np.abs(out) > largest, np.copysign(beyond, values) if beyond == np.inf else np.nan, out)
        return np.where(np.isnan(values), np.nan, np.where(np.isinf(values) & np.isnan(beyond), np.nan, out))


def erf(x):
    return np.vectorize(math.erf)(x)


def bit_count(x):
    bits = 8 * x.dtype.itemsize
    return np.array([(int(v) & (2**bits - 1)).bit_count() for v in x]).astype(x.dtype)


def zeros(x, text):
    """`text` of the bits, the highest first, as a number of zeros."""
    bits = 8 * x.dtype.itemsize
    return np.array([text(format(int(v) & (2**bits - 1), f"0{bits}b"), bits) for v in x]).astype(x.dtype)


def reverse(x):
    bits, kind = 8 * x.dtype.itemsize, np.dtype(f"u{x.dtype.itemsize}")
    turned = [int(format(int(v) & (2**bits - 1), f"0{bits}b")[::-1], 2) for v in x]
    return np.array(turned, "uint64").astype(kind).view(x.dtype)


def truncated(x, y):
    """x / y toward zero, and 0 by 0."""
    safe = np.where(y == 0, 1, y).astype(object)
    wide = x.astype(object)
    out = [abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(wide, safe)]
    return np.where(y == 0, 0, np.array(out, object))


def wrapped(values, dtype):
    bits, signed = int(re.sub(r"\D", "", dtype)), not dtype.startswith("u")
    low = [int(v) % 2**bits for v in np.asarray(values, object).ravel()]
    return np.array([v - 2**bits if signed and v >= 2 ** (bits - 1) else v for v in low], dtype)


# Values of floats in float64; of integers without bounds.
FLOAT = {
    "neg": lambda a: -a,
    "recip": lambda a: 1 / a,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "exp2": np.exp2,
    "log2": np.log2,
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": erf,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "logistic": lambda a: 1 / (1 + np.exp(-a)),
    "ncdf": lambda a: np.vectorize(math.erfc)(-a * math.sqrt(0.5)) / 2,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "abs": np.abs,
    "detach": lambda a: a,
    "recompute": lambda a: a,
    "freeze": lambda a: a,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "fdiv": np.divide,
    "fmod": np.fmod,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
    "cmplt": np.less,
    "cmpeq": np.equal,
    "cmpne": np.not_equal,
    "fma": lambda a, b, c: (a.astype("longdouble") * b + c).astype("float64"),
}
INTEGER = {
    "neg": lambda a: -a.astype(object),
    "floor": lambda a: a,
    "ceil": lambda a: a,
    "trunc": lambda a: a,
    "rint": lambda a: a,
    "abs": lambda a: np.array([abs(int(v)) for v in a], object),
    "bit_not": np.invert,
    "popcount": bit_count,
    "leading_zeros": lambda a: zeros(a, lambda text, bits: len(text) - len(text.lstrip("0"))),
    "trailing_zeros": lambda a: zeros(a, lambda text, bits: len(text) - len(text.rstrip("0"))),
    "reverse_bits": reverse,
    "detach": lambda a: a,
    "recompute": lambda a: a,
    "freeze": lambda a: a,
    "add": lambda a, b: a.astype(object) + b,
    "sub": lambda a, b: a.astype(object) - b,
    "mul": lambda a, b: a.astype(object) * b,
    "idiv": truncated,
    "mod": lambda a, b: np.where(b == 0, 0, a.astype(object) - truncated(a, b) * b),
    "max": np.maximum,
    "min": np.minimum,
    "pow": lambda a, b: np.array([int(x) ** int(y) for x, y in zip(a, b)], object),
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor,
    "shl": lambda a, b: np.array([int(x) << int(y) for x, y in zip(a, b)], object),
    "shr": lambda a, b: a >> b,
    "cmplt": np.less,
    "cmpeq": np.equal,
    "cmpne": np.not_equal,
    "bounded": lambda a, b, c: np.where((a < 0) & (b > 0), a + b, a),
    "fma": lambda a, b, c: a.astype(object) * b + c,
}
BOOL = {
    "logical_not": np.logical_not,
    "bit_not": np.logical_not,
    "detach": lambda a: a,
    "recompute": lambda a: a,
    "freeze": lambda a: a,
    "bit_and": np.logical_and,
    "bit_or": np.logical_or,
    "bit_xor": np.logical_xor,
    "cmpeq": np.equal,
    "cmpne": np.not_equal,
}
NAMES = {"bool": "boolean"}  # in graphs
TYPED = ("cast", "bitcast", "where")  # whose sources are of several types: tests of their own


def run(op, result, types, arrays):
    """The op over arrays of some types, as the graph of a kernel under the interpreter."""
    types, result = [NAMES.get(t, t) for t in types], NAMES.get(result, result)
    given = [tensor(a, t) for a, t in zip(arrays, types)]
    nodes = [{"op": "range", "dtype": "index", "sources": [], "argument": f"r0 {COUNT} global"}]

    def add(name, dtype, sources, argument=None):
        nodes.append({"op": name, "dtype": dtype, "sources": sources} | ({"argument": argument} if argument else {}))
        return len(nodes) - 1

    loads = []
    for slot, dtype in enumerate(types, 1):
        memory = add("param", dtype, [], f"global {slot} size={COUNT}")
        loads.append(add("load", dtype, [add("index", dtype, [memory, 0])]))
    value = add(op, result, loads)
    place = add("index", result, [add("param", result, [], f"global 0 size={COUNT}"), 0])
    effect = add("end", "none", [add("store", "none", [place, value]), 0])
    add("sink", "none", [effect], "k")
    graph = uop.from_json(json.dumps({"nodes": nodes}))
    out = Tensor.zeros(COUNT, device="interp").cast(result).realize()
    return uop._interpret_kernel(graph, [out, *given], None, "gfx1100", False)[0]


def tensor(array, dtype):
    if dtype == "boolean":
        return Tensor(np.asarray(array, bool), device="interp")
    if dtype in (*INTEGERS, "float16", "float32", "float64"):
        return Tensor(np.asarray(array, dtype), device="interp")
    return Tensor(np.asarray(array, "float32"), device="interp").cast(dtype)


def numbers(dtype, seed):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, COUNT).astype(bool)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        some = rng.integers(info.min, info.max, COUNT, dtype=dtype, endpoint=True)
        some[:6] = [info.min, info.max, 0, 1, 2, info.max // 3]
        return np.roll(some, seed)
    some = rng.standard_normal(COUNT) * 4
    some[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5]
    return rounded(np.roll(some, 3 * seed), dtype)


def as_float64(t):
    return t.cast("float64").numpy()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", sorted(FLOAT))
def test_floats(op, dtype):
    reference = FLOAT[op]
    count = 1 if op in uop_arity(1) else 3 if op == "fma" else 2
    given = [numbers(dtype, seed) for seed in range(count)]
    compares = op.startswith("cmp")
    with np.errstate(all="ignore"):
        exact = reference(*given)
        want = exact if compares else rounded(exact, dtype)
    got = run(op, "bool" if compares else dtype, [dtype] * count, given)
    if compares:
        return np.testing.assert_array_equal(got.numpy(), want)
    if op == "fma" and dtype == "float64":
        return np.testing.assert_allclose(as_float64(got), want, rtol=1e-15)
    limit = {"float64": 4e-16, "float32": 1.2e-7}.get(dtype, 0) if op in TRANSCENDENTAL else 0  # of two libraries
    if (op, dtype) == ("ncdf", "float64"):
        limit = 1e-13  # the argument is rounded once more here
    np.testing.assert_allclose(as_float64(got), want, rtol=limit, atol=limit * 1e-8)


TRANSCENDENTAL = {
    "pow",
    "sin",
    "cos",
    "exp",
    "exp2",
    "log",
    "log2",
    "tanh",
    "erf",
    "expm1",
    "log1p",
    "logistic",
    "ncdf",
}


def uop_arity(count):
    return set(re.findall(rf"^ELEMENTWISE\( *(\w+), *{count},", ROWS, re.MULTILINE))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", sorted(INTEGER))
def test_integers(op, dtype):
    count = 1 if op in uop_arity(1) else 3 if op in uop_arity(3) else 2
    given = [numbers(dtype, seed) for seed in range(count)]
    bits = 8 * given[0].dtype.itemsize
    if op in ("shl", "shr"):
        given[1] = (np.arange(COUNT) % bits).astype(dtype)
    if op == "pow":
        given[1] = (np.arange(COUNT) % 5).astype(dtype)
    if op == "bounded":
        given = [(np.arange(COUNT) % 7).astype(dtype), np.full(COUNT, 7, dtype), np.zeros(COUNT, dtype)]
        given[0][:3] = given[0][:3] if dtype.startswith("u") else [-1, -7, -2]
    with np.errstate(all="ignore"):
        want = INTEGER[op](*given)
    compares = op.startswith("cmp")
    got = run(op, "bool" if compares else dtype, [dtype] * count, given).numpy()
    np.testing.assert_array_equal(got, want if compares else wrapped(want, dtype))


@pytest.mark.parametrize("op", sorted(BOOL))
def test_bools(op):
    count = 1 if op in uop_arity(1) else 2
    given = [numbers("bool", seed) for seed in range(count)]
    np.testing.assert_array_equal(run(op, "bool", ["bool"] * count, given).numpy(), BOOL[op](*given))


@pytest.mark.parametrize("source", ["bool", *INTEGERS, *FLOATS])
def test_casts_to_every_type(source):
    given = numbers(source, 1)
    for target in ["bool", *INTEGERS, *FLOATS]:
        got = run("cast", target, [source], [given])
        if target == "bool":
            want = given != 0
        elif target in INTEGERS and source in FLOATS:
            info = np.iinfo(target)
            whole = [
                0 if math.isnan(v) else info.max if v == math.inf else info.min if v == -math.inf else int(v)
                for v in given
            ]
            want = np.array([min(max(v, info.min), info.max) for v in whole], target)
        elif target in INTEGERS:
            want = wrapped(given, target)
        else:
            want = rounded(given, target)
            np.testing.assert_array_equal(as_float64(got), want, err_msg=target)
            continue
        np.testing.assert_array_equal(got.numpy(), want, err_msg=target)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", *INTEGERS])
def test_bitcast_and_where(dtype):
    a, b, choice = numbers(dtype, 0), numbers(dtype, 1), numbers("bool", 2)
    got = run("where", dtype, ["bool", dtype, dtype], [choice, a, b]).numpy()
    np.testing.assert_array_equal(got, np.where(choice, a, b))
    array = np.asarray(a, dtype)
    kind = f"uint{8 * array.dtype.itemsize}"
    finite = np.nan_to_num(array) if array.dtype.kind == "f" else array
    np.testing.assert_array_equal(run("bitcast", kind, [dtype], [finite]).numpy(), finite.view(kind))


def test_every_row_has_a_reference_here():
    assert set(OPS) == {*FLOAT, *INTEGER, *BOOL, *TYPED}
