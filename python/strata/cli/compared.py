"""Values of two devices side by side: how far they differ, and whether that is a mismatch."""

import hashlib
import math

import numpy as np

import strata

RTOL = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2, "complex128": 1e-12, "complex64": 1e-5}
RTOL_FP8 = {"fp8e4m3": 0.125, "fp8e5m2": 0.25}  # a step between neighbours


class Limits:
    """Differences that are none: of all types as asked for, else by type."""

    def __init__(self, rtol=None, atol=None):
        self.asked, self.atol = rtol, atol or 0.0

    def rtol(self, dtype):
        if self.asked is not None:
            return self.asked
        return RTOL.get(dtype, RTOL_FP8.get(dtype.removesuffix("fnuz"), 0.0))


def bits_of(tensor):
    """The elements as an array; where NumPy has no such type, as integers of its size."""
    if tensor.dtype.numpy_name:
        return tensor.numpy()
    return tensor.bitcast({1: "uint8", 2: "uint16"}[tensor.dtype.itemsize]).numpy()


def flattened(value, name="result"):
    """The tensors, arrays and numbers of a result, by name."""
    if isinstance(value, dict):
        items = [(f"{name}[{key!r}]", one) for key, one in value.items()]
    elif isinstance(value, (tuple, list)):
        items = [(f"{name}[{i}]", one) for i, one in enumerate(value)]
    else:
        return {} if value is None else {name: value}
    return {path: leaf for key, one in items for path, leaf in flattened(one, key).items()}


BESIDE = ("max_abs", "max_rel", "max_ulp", "where")  # of an output beside the reference's


def elements_of(name, value):
    """An output that is no tensor, as an array. TypeError for one that has no numbers."""
    array = np.asarray(value) if isinstance(value, (bool, int, float, complex, np.ndarray, np.generic)) else None
    if (
        array is None
        or array.dtype.kind not in "biufc"
        or array.dtype.itemsize > (16 if array.dtype.kind == "c" else 8)
    ):
        kind = type(value).__name__ if array is None else f"{type(value).__name__} of {array.dtype}"
        raise TypeError(
            f"{name} is a value of type {kind}: outputs are tensors, NumPy arrays and numbers, and tuples, lists and "
            f"dicts of those"
        )
    return array


class Value:
    """One output: its bits, and its elements as numbers that hold them exactly."""

    def __init__(self, name, value):
        self.name = name
        if isinstance(value, strata.Tensor):
            self.dtype, self.bits = value.dtype.name, bits_of(value)
            if value.dtype.numpy_name:
                self.numbers = self.bits
            else:  # the interpreter widens it, which is exact
                kept = strata.Tensor(self.bits, device="interp").bitcast(value.dtype)
                self.numbers = kept.cast("float32").numpy()
        else:
            self.bits = self.numbers = elements_of(name, value)
            self.dtype = self.bits.dtype.name
        self.is_float = self.numbers.dtype.kind in "fc"

    def describe(self):
        digest = hashlib.sha256(np.ascontiguousarray(self.bits).tobytes()).hexdigest()
        row = {"name": self.name, "dtype": self.dtype, "shape": list(self.bits.shape), "sha256": digest}
        return row | dict.fromkeys(BESIDE)


def ordered(value):
    """Bits of floats as integers in the order of the floats: neighbours differ by one."""
    bits = value.bits.view(f"u{value.bits.dtype.itemsize}")
    top = np.uint64(1 << (8 * bits.dtype.itemsize - 1))
    wide = bits.astype("uint64")
    return np.where(wide & top, top - (wide & (top - np.uint64(1))), wide + top)


def ulps(value, other, counted):
    if not value.is_float or value.numbers.dtype.kind == "c" or not counted.any():
        return None
    a, b = ordered(value)[counted], ordered(other)[counted]
    return int(np.where(a > b, a - b, b - a).max())


def differences(value, other, limits):
    """(where they are no match, distances) of two outputs of one shape and type."""
    a, b = value.numbers, other.numbers
    if not value.is_float:
        with np.errstate(over="ignore"):
            wide = [np.asarray(each, dtype=object) for each in (np.where(a > b, a, b), np.where(a > b, b, a))]
        return a != b, np.asarray(wide[0] - wide[1], dtype="float64")
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(all="ignore"):
        distance = np.where(same, 0.0, np.where(finite, np.abs(a.astype(wide_of(a)) - b.astype(wide_of(b))), np.inf))
    largest = np.abs(b[np.isfinite(b)]).max(initial=0.0)
    return distance > limits.atol + limits.rtol(value.dtype) * float(largest), distance


def wide_of(array):
    return "complex128" if array.dtype.kind == "c" else "float64"


def compared(value, other, limits):
    """The description of an output beside the reference's, and whether they are equal."""
    row = value.describe()
    wrong, distance = differences(value, other, limits)
    if not distance.size or not distance.any():
        return row | {"max_abs": 0.0, "max_rel": 0.0, "max_ulp": 0}, True
    size = np.abs(other.numbers.astype(wide_of(other.numbers)))
    with np.errstate(all="ignore"):
        relative = np.where((size > 0) & np.isfinite(size), distance / size, np.where(distance > 0, np.inf, 0.0))
    place = np.argmax(wrong.ravel()) if wrong.any() else np.argmax(distance.ravel())
    counted = np.isfinite(distance)
    row["max_abs"], row["max_rel"] = (plain(x.max()) for x in (distance, relative))
    row["max_ulp"] = ulps(value, other, counted)
    row["where"] = [int(i) for i in np.unravel_index(place, distance.shape)]
    return row, not wrong.any()


def plain(number):
    """A number that JSON has; no bound is a text."""
    return float(number) if math.isfinite(number) else "inf"


def compare(values, reference, limits):
    """(outputs, whether all are equal, why not where that is not in an output)."""
    names = [v.name for v in values], [v.name for v in reference]
    if names[0] != names[1]:
        return [v.describe() for v in values], False, f"the outputs are {names[0]}, those of the reference {names[1]}"
    outputs, equal = [], True
    for value, other in zip(values, reference):
        for what, mine, theirs in (
            ("dtype", value.dtype, other.dtype),
            ("shape", value.bits.shape, other.bits.shape),
        ):
            if mine != theirs:
                return [v.describe() for v in values], False, f"{value.name}: {what} {mine}, the reference's {theirs}"
        row, same = compared(value, other, limits)
        outputs.append(row)
        equal = equal and same
    return outputs, equal, None
