"""Arguments of Triton's kernels: tensors of Strata as they are, arrays of the host by copies."""

import copy
import ctypes
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

import strata

_NAMES_OF_TRITON = {
    "fp8e4m3": "float8_e4m3fn",
    "fp8e5m2": "float8_e5m2",
    "fp8e4m3fnuz": "float8_e4m3fnuz",
    "fp8e5m2fnuz": "float8_e5m2fnuz",
}


class Memory:
    """A tensor or an array as a kernel sees it: an address of the device, a type, sizes, strides in elements.

    Other attributes are those of the tensor or array. `argument` is what a launch passes.
    """

    def __init__(self, of: Any, argument: Any, address: int, limit: int) -> None:
        self.of, self.argument, self._address, self._limit = of, argument, address, limit
        name = str(of.dtype).rsplit(".", 1)[-1]
        self.dtype = _NAMES_OF_TRITON.get(name, name)
        self.shape = tuple(of.shape)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.of, name)

    def data_ptr(self) -> int:
        return self._address

    def ptr_range(self) -> int:
        """Bytes from the address to the end of its allocation: kernels may take 32-bit offsets below 2 GiB."""
        return self._limit

    def element_size(self) -> int:
        return _itemsize(self.of)

    def numel(self) -> int:
        return math.prod(self.shape)

    def stride(self, axis: int | None = None) -> Any:
        strides = _strides(self.of)
        return strides if axis is None else strides[axis]

    def _bytes(self) -> Any:
        """The bytes of its elements. Memory of an emulated device lies in this process."""
        strata.synchronize()
        spans = [abs(step) * (size - 1) for step, size in zip(_strides(self.of), self.shape, strict=True)]
        count = (sum(spans) + 1) * self.element_size() if self.numel() else 0
        return _bytes_at(self._address, count)

    def zero_(self) -> "Memory":
        """Zeros in every element, as triton.autotune(reset_to_zero=) asks for."""
        self._bytes()[:] = 0
        return self

    def clone(self) -> Any:
        """A copy of the bytes, for copy_: what triton.autotune(restore_value=) keeps."""
        return self._bytes().copy()

    def copy_(self, kept: Any) -> "Memory":
        self._bytes()[:] = kept
        return self


def _bytes_at(address: int, count: int) -> Any:
    """A view of this process's memory."""
    held: Any = (ctypes.c_uint8 * count).from_address(address)
    return np.frombuffer(held, np.uint8)


def _itemsize(of: Any) -> int:
    return int(of.dtype.itemsize)


def _strides(of: Any) -> tuple[int, ...]:
    """Strides in elements: NumPy counts bytes, torch has a method; a tensor of Strata lies row by row."""
    if isinstance(of, np.ndarray):
        return tuple(step // of.itemsize for step in of.strides)
    if isinstance(of, strata.Tensor):
        return tuple(math.prod(of.shape[axis + 1 :]) for axis in range(len(of.shape)))
    return tuple(of.stride())


class _DLTensor(ctypes.Structure):
    """The head of a DLManagedTensor (dlpack.h)."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


def address_of(tensor: strata.Tensor) -> int:
    """The device address of a tensor's first element."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule: object = tensor.__dlpack__()
    head = _DLTensor.from_address(pointer_of(capsule, b"dltensor"))
    return int(head.data or 0) + int(head.byte_offset)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, strata.Tensor)


def _is_host_array(value: Any) -> bool:
    """NumPy's arrays, and torch's tensors on the CPU, which are read without importing torch."""
    if isinstance(value, np.ndarray):
        return True
    if not type(value).__module__.startswith("torch") or not hasattr(value, "untyped_storage"):
        return False
    if value.device.type != "cpu":
        raise strata.UsageError(f"[strata.triton] a torch tensor on {value.device}: move it to the CPU with .cpu()")
    return True


def _extent(array: Any) -> tuple[int, int]:
    """First and last address, plus one, of what a kernel may reach from an array: of a view, all it is a view of."""
    if not isinstance(array, np.ndarray):
        storage = array.untyped_storage()
        return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    while isinstance(array.base, np.ndarray):
        array = array.base
    low, high = np.lib.array_utils.byte_bounds(array)
    return int(low), int(high)


def _start(array: Any) -> int:
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data_ptr())


def _writable(array: Any) -> bool:
    return bool(array.flags.writeable) if isinstance(array, np.ndarray) else True


class HostCopies:
    """Copies of host arrays on the device for one call: arrays that share memory share a copy, too."""

    def __init__(self, arrays: Iterable[Any], device: str) -> None:
        self._ranges: list[list[int]] = []
        self._kept: set[int] = set()
        for low, high in sorted({_extent(array) for array in arrays}):
            if self._ranges and low < self._ranges[-1][1]:
                self._ranges[-1][1] = max(high, self._ranges[-1][1])
            else:
                self._ranges.append([low, high])
        self._copies = [strata.Tensor(self._host(i), device=device).realize() for i in range(len(self._ranges))]

    def _host(self, i: int) -> Any:
        low, high = self._ranges[i]
        return _bytes_at(low, high - low)

    def memory(self, array: Any) -> Memory:
        start = _start(array)
        i = next((i for i, (low, high) in enumerate(self._ranges) if low <= start < high), None)
        if i is None:  # an array without elements
            return Memory(array, None, 0, 0)
        if not _writable(array):
            self._kept.add(i)
        low, high = self._ranges[i]
        address = address_of(self._copies[i]) + start - low
        return Memory(array, strata.lang.pointer(address, "uint8"), address, high - start)

    def copy_back(self) -> None:
        """Copies the bytes back to the host, but not to arrays that may not be written."""
        for i, copied in enumerate(self._copies):
            if i not in self._kept:
                self._host(i)[:] = copied.numpy()


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for part in value:
            yield from _leaves(part)
    elif hasattr(value, "block_shape") and hasattr(value, "base"):  # a TensorDescriptor
        yield value.base
    else:
        yield value


def _replaced(value: Any, by: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        parts = [_replaced(part, by) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if hasattr(value, "block_shape") and hasattr(value, "base"):
        described = copy.copy(value)
        described.base = by(value.base)
        return described
    return by(value)


class Given:
    """The arguments of one call with memory in place of tensors and arrays."""

    def __init__(self, args: tuple[Any, ...], named: dict[str, Any], device: str) -> None:
        leaves = [leaf for value in (*args, *named.values()) for leaf in _leaves(value)]
        self.copies = HostCopies([leaf for leaf in leaves if _is_host_array(leaf) and _extent(leaf)[1]], device)
        self._seen: dict[int, Memory] = {}

        def by(value: Any) -> Any:
            if not _is_tensor(value) and not _is_host_array(value):
                return value
            if id(value) not in self._seen:
                self._seen[id(value)] = (
                    self._of_tensor(value, device) if _is_tensor(value) else self.copies.memory(value)
                )
            return self._seen[id(value)]

        self.args = tuple(_replaced(value, by) for value in args)
        self.named = {name: _replaced(value, by) for name, value in named.items()}

    @staticmethod
    def _of_tensor(tensor: strata.Tensor, device: str) -> Memory:
        if tensor.device != device:
            raise strata.UsageError(
                f"[strata.triton] a tensor on {tensor.device} for kernels on {device}: "
                f"make it with Tensor(..., device={device!r}), or activate({tensor.device!r})"
            )
        tensor.realize()
        return Memory(tensor, tensor, address_of(tensor), tensor.nbytes)
