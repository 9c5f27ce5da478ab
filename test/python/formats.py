"""Element types in NumPy: what a type can hold, rounding to it, distance in it, and tensors of it and back.

The types that NumPy lacks (bfloat16, fp8) are modelled by the list of all their values. A number is rounded to the
nearest entry, a tie to the even code.
"""

from functools import cache

import numpy as np
from strata import Tensor, dtypes

BOOL = ["boolean"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
# name: exponent bits, mantissa bits, bias, meaning of the largest codes
LISTED = {
    "fp8e4m3": (4, 3, 7, "finite"),
    "fp8e5m2": (5, 2, 15, "ieee"),
    "fp8e4m3fnuz": (4, 3, 8, "fnuz"),
    "fp8e5m2fnuz": (5, 2, 16, "fnuz"),
    "bfloat16": (8, 7, 127, "ieee"),
}
NATIVE_FLOATS = ["float16", "float32", "float64"]
FLOATS = [*LISTED, *NATIVE_FLOATS]
ALL = BOOL + INTEGERS + FLOATS


def dtype_of(name):
    return getattr(dtypes, name)


def native(name):
    """NumPy's type, or None."""
    return None if name in LISTED else np.dtype("bool" if name == "boolean" else name)


def code_type(name):
    """The unsigned type as wide as a float type."""
    width = native(name).itemsize if native(name) else 1 if name.startswith("fp8") else 2
    return np.dtype(f"uint{8 * width}")


@cache
def values_of(name):
    """The value of every code of a listed type, as float64."""
    exponent_bits, mantissa_bits, bias, specials = LISTED[name]
    bits = 1 + exponent_bits + mantissa_bits
    out = []
    for code in range(1 << bits):
        sign, magnitude = code >> (bits - 1), code & ((1 << (bits - 1)) - 1)
        exponent, mantissa = magnitude >> mantissa_bits, magnitude & ((1 << mantissa_bits) - 1)
        top = (1 << exponent_bits) - 1
        if exponent == 0:
            value = mantissa * 2.0 ** (1 - bias - mantissa_bits)
        else:
            value = (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)
        if specials == "ieee" and exponent == top:
            value = np.nan if mantissa else np.inf
        if specials == "finite" and magnitude == (1 << (bits - 1)) - 1:
            value = np.nan
        if specials == "fnuz" and sign and magnitude == 0:
            value = np.nan
            sign = 0
        out.append(-value if sign else value)
    return np.array(out)


@cache
def finite_magnitudes(name):
    values = values_of(name)
    half = values[: len(values) // 2]
    return half[np.isfinite(half)]


def encode(name, x):
    """Codes of the values nearest to x (float64)."""
    x = np.asarray(x, np.float64)
    specials = LISTED[name][3]
    known = finite_magnitudes(name)
    sign = 1 << (8 * code_type(name).itemsize - 1)
    steps = np.append(known, known[-1] + (known[-1] - known[-2]))  # one more: what overflows
    magnitude = np.minimum(np.abs(np.nan_to_num(x, nan=0.0)), steps[-1])
    above = np.clip(np.searchsorted(steps, magnitude), 1, len(steps) - 1)
    to_below, to_above = magnitude - steps[above - 1], steps[above] - magnitude
    code = np.where((to_above < to_below) | ((to_above == to_below) & (above % 2 == 0)), above, above - 1)
    largest = len(known) - 1
    overflow = {"ieee": largest + 1, "finite": sign - 1, "fnuz": sign}[specials]
    nan = {"ieee": largest + 2, "finite": sign - 1, "fnuz": sign}[specials]
    code = np.where(code > largest, overflow, code)
    code = np.where(np.isnan(x), nan, code)
    negative = np.signbit(x) & ~((code == 0) & (specials == "fnuz")) & (code != sign)
    return np.where(negative, code | sign, code).astype(code_type(name))


def rounded(name, x):
    """x in the type: an array of NumPy's type, or float64 that holds values of the type exactly."""
    if name in LISTED:
        return values_of(name)[encode(name, x)]
    return np.asarray(x).astype(native(name))


def tensor(name, x):
    """A tensor of the type with the values nearest to x."""
    if name in LISTED:
        return Tensor(encode(name, x)).bitcast(dtype_of(name))
    return Tensor(np.asarray(x).astype(native(name)))


def array(t):
    """The values of a tensor: NumPy's type, or float64 for the listed types."""
    name = t.dtype.name
    if name in LISTED:
        return values_of(name)[t.bitcast(dtypes.uint8 if name.startswith("fp8") else dtypes.uint16).numpy()]
    return t.numpy()


def ordered(name, x):
    """Positions of values on the type's line, so that neighbours differ by 1 and both zeros are 0."""
    code = encode(name, x) if name in LISTED else np.asarray(x, native(name)).view(code_type(name))
    bits = 8 * code.dtype.itemsize
    magnitude = (code & code.dtype.type((1 << (bits - 1)) - 1)).astype(object)
    return np.where(code >> code.dtype.type(bits - 1), -magnitude, magnitude)


def ulps(name, got, expected):
    """Distance in units of the last place; 0 where both are NaN, huge where one is."""
    far = 1 << 70
    gap = np.abs(ordered(name, got) - ordered(name, expected))
    gap = np.where(np.isnan(got) != np.isnan(expected), far, gap)
    return np.where(np.isnan(got) & np.isnan(expected), 0, gap)


def special_values(name, rng, count=40):
    """Values of a type where things go wrong, and random ones."""
    if name == "boolean":
        return np.array([False, True] * 4)
    if name in INTEGERS:
        info = np.iinfo(name)
        edge = [0, 1, 2, 3, 5, 7, 31, 100, info.max, info.max - 1, info.min, info.min + 1, info.max // 2, info.max // 3]
        edge += [-1, -2, -3, -7, -100] if info.min else []
        return np.concatenate(
            [
                np.array(edge, name),
                rng.integers(info.min, info.max, count, dtype=name, endpoint=True),
                rng.integers(0, 50, 10).astype(name),
            ]
        )
    if name in LISTED:
        codes = np.arange(len(values_of(name)), dtype=np.int64)
        if len(codes) > 256:
            edge = [0, 1, 2, 0x7F, 0x80, 0x81, 0x3F80, 0x3F81, 0x7F7F, 0x7F80, 0x7FC0]
            codes = np.concatenate([edge, np.array(edge) | 0x8000, rng.integers(0, 1 << 16, count)])
        values = values_of(name)[codes]
        return np.concatenate([values, rounded(name, rng.standard_normal(count) * 2)])
    info = np.finfo(name)
    edge = [
        0.0,
        1.0,
        0.5,
        1.5,
        2.5,
        3.5,
        0.1,
        3.7,
        100.0,
        info.max,
        info.tiny,
        info.smallest_subnormal,
        3 * info.smallest_subnormal,
        info.tiny / 2,
        1 + info.eps,
        1 - info.eps / 2,
        np.inf,
        10.0,
        20.0,
        1e-3,
        np.pi / 2,
        7.0,
        8.0,
    ]
    edge = np.array(edge, name)
    spread = rng.standard_normal(count) * 2.0 ** rng.uniform(-10, 6, count)
    return np.concatenate([edge, -edge, [np.nan], spread, rng.standard_normal(count)]).astype(name)
