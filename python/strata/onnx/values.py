"""The values of a model: tensors, arrays that the host knows, and lists of tensors, which ONNX calls
sequences.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy

from .._strata import Tensor, Unsupported

OTHER_NAMES = {
    "float8_e4m3fn": "fp8e4m3",
    "float8_e5m2": "fp8e5m2",
    "float8_e4m3fnuz": "fp8e4m3fnuz",
    "float8_e5m2fnuz": "fp8e5m2fnuz",
}
OF_ML_DTYPES = {"bfloat16": "bfloat16"} | {
    mine: theirs for theirs, mine in OTHER_NAMES.items()
}  # which NumPy has from elsewhere

# Types that tensors do not have: what holds their values; of powers of two the exponent's bits.
POWERS = "float8_e8m0fnu"
NARROW = {
    "int4": "int8",
    "uint4": "uint8",
    "int2": "int8",
    "uint2": "uint8",
    "float4_e2m1fn": "float16",
    POWERS: "uint8",
}
NARROW_RANGE = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}


@dataclass(frozen=True)
class Narrow:
    """Values of a type of NARROW, one an element of the tensor that holds them."""

    tensor: Tensor
    kind: str

    @property
    def shape(self):
        return self.tensor.shape

    @property
    def ndim(self):
        return self.tensor.ndim


class Declared(NamedTuple):
    """The type that a model declares for an input or a result. sizes: None for those that are open."""

    element: int
    sizes: tuple
    is_sequence: bool

    @classmethod
    def of(cls, proto):
        proto = proto.optional_type.elem_type if proto.HasField("optional_type") else proto
        sizes = tuple(d.dim_value if d.HasField("dim_value") else None for d in proto.tensor_type.shape.dim)
        return cls(proto.tensor_type.elem_type, sizes, proto.HasField("sequence_type"))


def type_name(number):
    """Strata's name of a type by its number in TensorProto, or that of NARROW."""
    from onnx import helper

    try:
        name = helper.tensor_dtype_to_np_dtype(number).name
    except KeyError:
        raise Unsupported(f"[onnx] the type {number} of TensorProto is not there") from None
    if name in ("object", "str") or name.startswith(("complex", "float6_")):
        raise Unsupported(f"[onnx] values of type {'string' if name in ('object', 'str') else name} are not there")
    return OTHER_NAMES.get(name, name)


def array_type(number):
    from onnx import helper

    type_name(number)
    return helper.tensor_dtype_to_np_dtype(number)


def to_tensor(value, device):
    """A tensor, or Narrow, of an array of any type that models have; what is one already stays."""
    if not isinstance(value, numpy.ndarray | numpy.generic):
        return value if value is None or isinstance(value, Tensor | Narrow | list) else Tensor(value, device=device)
    value = numpy.asarray(value)
    name = OTHER_NAMES.get(value.dtype.name, value.dtype.name)
    if value.dtype.kind in "OUST" or name.startswith("float6_"):
        raise Unsupported(f"[onnx] values of type {'string' if value.dtype.kind in 'OUST' else name} are not there")
    if name in NARROW:
        return Narrow(
            Tensor(value.view("uint8") if name == POWERS else value.astype(NARROW[name]), device=device), name
        )
    if name in OF_ML_DTYPES:
        return Tensor(value.view(f"u{value.dtype.itemsize}"), device=device).bitcast(name)
    return Tensor(value, device=device)


def as_array(value):
    """The host's array of it; of a tensor its values, which are computed for it."""
    if not isinstance(value, Tensor):
        return value
    if value.dtype.name not in OF_ML_DTYPES:
        return value.numpy()
    return value.bitcast(f"uint{8 * value.dtype.itemsize}").numpy().view(array_type_of(value))


def array_type_of(tensor):
    """NumPy's type of its elements, of the package ml_dtypes where NumPy has none."""
    name = tensor.dtype.name
    if name not in OF_ML_DTYPES:
        return numpy.dtype(tensor.dtype.numpy_name)
    import ml_dtypes

    return numpy.dtype(getattr(ml_dtypes, OF_ML_DTYPES[name]))


MOST_STEPS = 1 << 18  # nodes that the loops of a call compute


class Scope(dict):
    """The values of a call by name. `known`: functions that give arrays of those tensors which the host can compute as
    well.
    """

    def __init__(self, values=(), known=(), budget=None):
        super().__init__(values)
        self.known = dict(known)
        self.budget = [MOST_STEPS] if budget is None else budget

    def inner(self):
        return Scope(self, self.known, self.budget)

    def spend(self, steps, name):
        self.budget[0] -= steps
        if self.budget[0] < 0:
            raise Unsupported(f"[onnx] {name}: loops of more than {MOST_STEPS} nodes a call")

    def on_host(self, name):
        """The array, or None where only a device can compute it."""
        value = self.get(name)
        if isinstance(value, numpy.ndarray):
            return value
        made = self.known.get(name)
        return None if made is None else made()

    def is_known(self, name):
        return isinstance(self.get(name), numpy.ndarray) or name in self.known
