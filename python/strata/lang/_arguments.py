"""Arguments of kernels: what is compiled in, and what each launch gives."""

import struct
import types

from .. import _strata
from .._strata import DType, Tensor, UsageError, dtypes
from ..layout import Layout
from ._dynamic import Dynamic, PointerParameter, TensorSpec

_lang = _strata._lang


class _Annotation:
    """Marks a parameter: lang.Tensor, lang.Constexpr."""

    def __init__(self, name, meaning):
        self.name, self.__doc__ = name, meaning

    def __repr__(self):
        return f"strata.lang.{self.name}"


TensorArgument = _Annotation("Tensor", "A tensor, whose shape and type the kernel is compiled for.")
Constexpr = _Annotation("Constexpr", "A Python value that is compiled in: each one makes a kernel of its own.")


class TensorParameter:
    """A tensor of the launch: row-major memory of a shape."""

    slots = 1

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype
        self.key = ("tensor", shape, dtype.name)

    def traced(self, slot):
        size = 1
        strides = []
        for length in reversed(self.shape):
            strides.append(size)
            size *= length
        memory = _lang.tensor_parameter(slot, self.dtype, max(size, 1))
        return _lang.make_view(memory, Layout(self.shape, tuple(reversed(strides))))


class NumberParameter:
    """A number that each launch gives."""

    slots = 1

    def __init__(self, dtype):
        self.dtype = dtype
        self.key = ("number", dtype.name)

    def traced(self, slot):
        return _lang.number_parameter(slot, self.dtype)


class Constant:
    """A value that is compiled in."""

    slots = 0

    def __init__(self, value, key, objects):
        self.value, self.key, self.objects = value, key, objects

    def traced(self, slot):
        return self.value


class Composite:
    """Several parameters that one object stands for: a tuple in the kernel."""

    def __init__(self, parameters):
        self.parameters = parameters
        self.key = ("composite", *(p.key for p in parameters))
        self.slots = sum(p.slots for p in parameters)
        self.objects = [of for p in parameters for of in getattr(p, "objects", ())]

    def traced(self, slot):
        values = []
        for parameter in self.parameters:
            values.append(parameter.traced(slot))
            slot += parameter.slots
        return tuple(values)


_INT32, _INT64, _FLOAT32 = (NumberParameter(t) for t in (dtypes.int32, dtypes.int64, dtypes.float32))
_COMPILED_IN = (bool, str, bytes, type(None), DType, tuple, frozenset, slice, types.FunctionType, type)
_registered: dict = {}


def register_argument(kind, to_arguments):
    """Lets kernels take objects of a type: to_arguments(object) gives the tensors, numbers and constants that it stands
    for, a tuple in the kernel."""
    if not isinstance(kind, type) or not callable(to_arguments):
        raise UsageError("[register_argument] takes a class, and a function of one of its objects that gives a tuple")
    _registered[kind] = to_arguments


def _exact(value, objects):
    """A constant as a key that no other one equals: 1, 1.0 and True are three, 0.0 and -0.0 two, NaN is one.

    objects gets what is no number or text: its content is a part of the kernel's fingerprint.
    """
    kind = type(value)
    if kind in (bool, int, str, bytes, type(None), DType):
        return kind, value
    if kind is float:
        return kind, struct.pack("d", value)
    if kind is complex:
        return kind, struct.pack("dd", value.real, value.imag)
    if kind is tuple:
        return (kind, *(_exact(item, objects) for item in value))
    objects.append(value)
    return kind, len(objects)


def _constant(name, value):
    try:
        hash(value)
    except TypeError:
        raise UsageError(
            f"the parameter {name} is compiled in, and {value!r} has no hash: give a tuple for a list"
        ) from None
    objects = []
    return Constant(value, ("constant", _exact(value, objects)), tuple(objects))


def _of_tensor(name, value):
    return TensorParameter(value.shape, value.dtype), (value,)


def _of_int(name, value):
    if -(2**31) <= value < 2**31:
        return _INT32, (value,)
    if -(2**63) <= value < 2**63:
        return _INT64, (value,)
    raise UsageError(f"the parameter {name} is {value}, and a number of a kernel has 64 bits at most")


def _of_dynamic(name, value):
    value.check()
    return value.parameter(), value.arguments()


def _of_pointer(name, value):
    return PointerParameter(value.dtype), (value,)


def _of_float(name, value):
    return _FLOAT32, (value,)


def _of_constant(name, value):
    return _constant(name, value), ()


_BY_TYPE = {
    Tensor: _of_tensor,
    TensorSpec: _of_tensor,
    int: _of_int,
    float: _of_float,
    Dynamic: _of_dynamic,
    _lang.Pointer: _of_pointer,
    **dict.fromkeys(_COMPILED_IN, _of_constant),
}


def _of_annotated_tensor(name, value):
    if isinstance(value, (Tensor, TensorSpec)):
        return _of_tensor(name, value)
    if isinstance(value, Dynamic):
        return _of_dynamic(name, value)
    if hasattr(value, "__dlpack__") or hasattr(value, "__array__"):
        return _of_tensor(name, _tensor(value))
    raise UsageError(f"the parameter {name} is a lang.Tensor, and got {value!r}: give a tensor")


def _tensor(value):
    from .. import from_dlpack

    return from_dlpack(value) if hasattr(value, "__dlpack__") and not hasattr(value, "__array__") else Tensor(value)


def _of_annotated_number(dtype):
    parameter = NumberParameter(dtype)

    def of(name, value):
        is_number = isinstance(value, (bool, int, float)) or hasattr(value, "item") and getattr(value, "shape", 0) == ()
        if not is_number or isinstance(value, float) and not dtype.is_float:
            raise UsageError(f"the parameter {name} is of {dtype.name}, and got {value!r}")
        return parameter, (value.item() if hasattr(value, "item") else value,)

    return of


def _of_registered(name, values):
    if not isinstance(values, tuple):
        raise UsageError(f"[register_argument] to_arguments of the parameter {name} gives a tuple, not {values!r}")
    taken = [_of_any(name, value) for value in values]
    return Composite([parameter for parameter, _ in taken]), tuple(x for _, given in taken for x in given)


def _of_any(name, value):
    """The kind of an argument whose parameter has no annotation."""
    kind = type(value)
    of = _BY_TYPE.get(kind)
    if of is not None:
        return of(name, value)
    for base in kind.__mro__:
        if base in _registered:
            return _of_registered(name, _registered[base](value))
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "shape", None) == ():
        return NumberParameter(DType(value.dtype.name)), (value.item(),)
    if hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__"):
        return _of_tensor(name, _tensor(value))
    if kind.__module__.startswith("strata") or isinstance(value, _COMPILED_IN) or kind.__module__ == "enum":
        return _of_constant(name, value)
    raise UsageError(
        f"the parameter {name} got a {kind.__name__}: a kernel takes tensors, numbers, and what is compiled in (bool, "
        f"str, None, dtypes, tuples, functions, layouts); annotate it with lang.Constexpr, or say what it stands for "
        f"with lang.register_argument({kind.__name__}, ...)"
    )


def takes(annotation):
    """The kind of arguments that a parameter takes, for _lang.Calls."""
    if isinstance(annotation, DType):
        return annotation
    return "tensor" if annotation is TensorArgument else "constant" if annotation is Constexpr else "any"


def taker(annotation):
    """The function that takes the argument of a parameter: (name, value) -> (parameter, what a launch is given)."""
    if annotation is TensorArgument:
        return _of_annotated_tensor
    if annotation is Constexpr:
        return _of_constant
    if isinstance(annotation, DType):
        return _of_annotated_number(annotation)
    return _of_any
