"""NumPy's result of a call of the API fuzzer (api_calls.py): functions that both have, over the arrays of the
tensors.
"""

import operator
import warnings

import numpy as np
from strata import Tensor

# NumPy's results: of functions that both have, over the arrays of the tensors.
ONE_TO_ONE = {"neg": np.negative, "abs": np.abs, "square": np.square, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "round": np.rint, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
    "logical_not": np.logical_not, "bitwise_invert": np.invert, "maximum": np.maximum,
    "minimum": np.minimum, "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean,
    "any": np.any, "all": np.all, "argmax": np.argmax, "argmin": np.argmin, "tril": np.tril, "triu": np.triu,
    "roll": np.roll, "flip": np.flip, "transpose": np.swapaxes, "take": np.take,
    "repeat": np.repeat, "logical_and": np.logical_and, "logical_or": np.logical_or,
    "logical_xor": np.logical_xor, "unsqueeze": np.expand_dims, "movedim": np.moveaxis, "clamp": np.clip,
    "clip": np.clip, "remainder": np.remainder, "floor_divide": np.floor_divide}  # fmt: skip
for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "getitem",
):
    ONE_TO_ONE[f"__{_name}__"] = getattr(operator, f"__{_name}__")
REDUCES = {
    "sum",
    "prod",
    "max",
    "min",
    "mean",
    "any",
    "all",
    "argmax",
    "argmin",
}  # (axis, keepdims); other parameters follow NumPy's axis
DIVIDES = {"remainder", "floor_divide", "__floordiv__", "__mod__", "__truediv__"}


def plain(value):
    if isinstance(value, Tensor):
        return value.numpy()
    if (
        isinstance(value, list)
        and value
        and all(isinstance(v, (int, float)) for v in value)
        and any(isinstance(v, float) for v in value)
    ):
        return np.asarray(value, np.float32)  # as Strata takes Python's floats
    return type(value)(map(plain, value)) if isinstance(value, (list, tuple)) else value


def is_floating(value):
    return isinstance(value, (float, np.floating)) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def expected(name, given, named, dtype):
    """NumPy's result, or None where it has none or another meaning; integers that meet floats count in `dtype`,
    Strata's floating type of the result.
    """
    if name not in ONE_TO_ONE or named.keys() & {"dtype"} or any(v is None for v in named.values()):
        return None
    values, named = [plain(v) for v in given], {k: plain(v) for k, v in named.items()}
    if not any(isinstance(v, np.ndarray) for v in values):  # numbers alone are of the default types
        with np.errstate(over="ignore"):
            values = [np.float32(v) if isinstance(v, float) else v for v in values]
    if np.dtype(dtype).kind == "f" and any(map(is_floating, [*values, *named.values()])):
        values = [v.astype(dtype) if isinstance(v, np.ndarray) and v.dtype.kind in "iu" else v for v in values]
    if name in REDUCES - {"any", "all"} and values[0].dtype == bool:
        return None
    if name in REDUCES and len(values) == 3:
        named["keepdims"] = bool(values.pop())
    if name == "transpose" and len(values) + len(named) < 3:
        return None
    if name in DIVIDES and len(values) > 1 and (np.asarray(values[1]) == 0).any():
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(ONE_TO_ONE[name](*values, **named))
    except Exception:
        return None


def differs(got, want):
    """'' or how Strata's result is not NumPy's. Types may be narrower: numbers take the type of the tensor they
    meet.
    """
    if got.shape != want.shape:
        return f"shape {got.shape}, NumPy {want.shape}"
    if got.dtype.kind == "f" or want.dtype.kind == "f":
        with np.errstate(all="ignore"):
            close = np.isclose(
                got.astype(np.float64),
                want.astype(got.dtype if got.dtype.kind == "f" else np.float64).astype(np.float64),
                rtol=1e-2 if got.dtype == np.float16 else 1e-5,
                atol=1e-6,
                equal_nan=True,
            )
        return "" if close.all() else f"{got}, NumPy {want}"
    return (
        ""
        if (got == want.astype(got.dtype)).all() and (want.dtype.kind == "b") == (got.dtype.kind == "b")
        else f"{got}, NumPy {want}"
    )
