"""Tensors whose sizes come with the launch, and addresses."""

from .. import _strata
from .._strata import DType, Tensor, UsageError
from ..layout import Layout

_lang = _strata._lang


class TensorSpec:
    """Stands for a tensor where a kernel is compiled without data."""

    def __init__(self, shape, dtype="float32"):
        self.shape = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        self.dtype = DType(dtype)

    def __repr__(self):
        return f"TensorSpec({self.shape}, {self.dtype.name!r})"


class Dynamic:
    """A tensor whose sizes and strides come with the launch, made by lang.dynamic."""

    def __init__(self, tensor, leading_dim, divisibility):
        self.tensor, self.shape, self.dtype = tensor, tuple(tensor.shape), tensor.dtype
        rank = len(self.shape)
        if not rank:
            raise UsageError("[dynamic] a tensor without dimensions has no size that a launch could give")
        if leading_dim is not None and (type(leading_dim) is not int or not -rank <= leading_dim < rank):
            raise UsageError(f"[dynamic] leading_dim {leading_dim!r} is no dimension of {self.shape}: 0 to {rank - 1}")
        if type(divisibility) is not int or divisibility < 1:
            raise UsageError(f"[dynamic] divisibility {divisibility!r}: an integer of at least 1")
        self.leading = rank - 1 if leading_dim is None else leading_dim % rank
        self.divisibility = divisibility

    def __repr__(self):
        return f"dynamic({self.shape}, {self.dtype.name!r}, leading_dim={self.leading}, {self.divisibility})"

    def check(self):
        """Raises the error of a claim that the tensor does not keep."""
        stride = 1
        for size in self.shape[self.leading + 1 :]:
            stride *= size
        if stride != 1:
            raise UsageError(
                f"[dynamic] dimension {self.leading} of a tensor of shape {self.shape} has stride {stride}, not 1: the "
                f"leading dimension is {len(self.shape) - 1}"
            )
        size = self.shape[self.leading]
        if size % self.divisibility:
            raise UsageError(
                f"[dynamic] the size {size} of dimension {self.leading} is no multiple of {self.divisibility}: claim "
                f"a divisibility that all launches keep"
            )

    def parameter(self):
        is_wide = max(self.shape) >= 2**31
        return DynamicParameter(len(self.shape), self.dtype, self.leading, self.divisibility, is_wide)

    def arguments(self):
        sizes = list(self.shape[: self.leading + 1])
        sizes[-1] //= self.divisibility
        return self.tensor, *sizes


class DynamicParameter:
    """Memory of the launch, and its sizes up to the leading dimension; those after it are 1."""

    def __init__(self, rank, dtype, leading, divisibility, is_wide):
        self.rank, self.dtype, self.leading, self.divisibility = rank, dtype, leading, divisibility
        self.is_wide, self.slots = is_wide, 2 + leading
        self.key = ("dynamic", rank, dtype.name, leading, divisibility, is_wide)

    def traced(self, slot):
        sizes = [
            _lang.size_parameter(slot + 1 + i, self.is_wide, self.divisibility if i == self.leading else 1)
            for i in range(self.leading + 1)
        ]
        strides, elements = [], 1
        for size in reversed(sizes):
            strides.append(elements)
            elements = size * elements
        more = self.rank - len(sizes)
        layout = Layout((*sizes, *(1,) * more), (*reversed(strides), *(1,) * more))
        return _lang.dynamic_view(slot, self.dtype, layout, elements)


class PointerParameter:
    """An address that each launch gives."""

    slots = 1

    def __init__(self, dtype):
        self.dtype, self.key = dtype, ("pointer", dtype.name)

    def traced(self, slot):
        return _lang.pointer_parameter(slot, self.dtype)


def dynamic(tensor, leading_dim=None, divisibility=1):
    """A tensor whose sizes and strides come with the launch: one program for all shapes of its rank.

    leading_dim: the dimension of stride 1, by default the last. divisibility: a number that its size is a multiple of,
    which wide accesses need. UsageError where the tensor does not keep a claim.
    """
    if not isinstance(tensor, (Tensor, TensorSpec)):
        if not hasattr(tensor, "__dlpack__") and not hasattr(tensor, "__array__"):
            raise UsageError(f"[dynamic] takes a tensor, not {tensor!r}")
        tensor = Tensor(tensor)
    return Dynamic(tensor, leading_dim, divisibility)


def pointer(address, dtype):
    """An address of the device as an argument of kernels, which lang.make_view(pointer, layout) makes a view of.

    The caller answers for what is there: the memory lives until the kernel has run, and holds elements of dtype.
    """
    if type(address) is not int or not 0 < address < 2**64:
        raise UsageError(f"[pointer] an address is a positive integer of 64 bits, not {address!r}")
    dtype = DType(dtype)
    if address % dtype.itemsize:
        raise UsageError(f"[pointer] the address {address:#x} is not aligned to {dtype.name}: {dtype.itemsize} bytes")
    return _lang.Pointer(address, dtype)
