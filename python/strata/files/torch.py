"""PyTorch's checkpoints: a zip with a pickle that describes tensors, and a file for the bytes of each storage. The
pickle is read without calling what it names: what stands for PyTorch's functions is here, and there is nothing else."""

import collections
import io
import pickle
import re
import zipfile
from typing import Any

import numpy as np

from .. import _strata
from . import archives, bytes_of, malformed, refusal

STORAGES = {
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8",
    "BoolStorage": "boolean",
    "ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128",
}  # fmt: skip
# Those of tensors whose storage is bytes.
TYPES = {
    "float64": "float64", "float32": "float32", "float16": "float16", "bfloat16": "bfloat16", "int64": "int64",
    "int32": "int32", "int16": "int16", "int8": "int8", "uint8": "uint8", "bool": "boolean",
    "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "complex64": "complex64", "complex128": "complex128",
    "float8_e4m3fn": "fp8e4m3", "float8_e5m2": "fp8e5m2", "float8_e4m3fnuz": "fp8e4m3fnuz",
    "float8_e5m2fnuz": "fp8e5m2fnuz",
}  # fmt: skip
BYTES = "bytes"  # the type of a storage whose elements a tensor's own type tells
LARGEST_PICKLE = 256 << 20  # bytes
LONGEST_NAME = 1024
MOST_OVERLAP = 64  # elements of a tensor for each of its storage


class Unknown:
    """A type that is not known here, by its name."""

    def __init__(self, name):
        self.name = name


class Stored:
    """A tensor that is not read yet."""

    def __init__(self, storage, offset, shape, stride, *_):
        self.storage, self.offset, self.shape, self.stride = storage, offset, shape, stride


def of_bytes(storage, offset, shape, stride, grad, hooks, dtype, *_):
    """A tensor that tells its type itself."""
    key, kind, count = storage
    if kind != BYTES or dtype not in TYPES.values():
        dtype = dtype if isinstance(dtype, Unknown) else Unknown(str(dtype)[:50])
    else:
        size = _strata.dtypes.__dict__[dtype].itemsize
        count, dtype = (count // size, dtype) if count % size == 0 else (-1, dtype)
    return Stored((key, dtype, count), offset, shape, stride)


class Refused:
    """A tensor of a kind that is not known here."""

    def __init__(self, kind, shape=None):
        self.kind, self.shape = kind, shape


def rebuilt(name):
    """For a function of torch._utils that makes tensors of a kind that is not known here: where its arguments have the
    shape.
    """

    def made(*given):
        shape = {"_rebuild_qtensor": 2, "_rebuild_meta_tensor_no_storage": 1, "_rebuild_wrapper_subclass": 2}.get(name)
        found = given[shape] if shape is not None and len(given) > shape else None
        whole = isinstance(found, (tuple, list)) and all(type(n) is int for n in found)
        return Refused(name, tuple(found) if whole else None)

    return made


ALLOWED = {
    ("torch._utils", "_rebuild_tensor_v2"): Stored,
    ("torch._utils", "_rebuild_tensor_v3"): of_bytes,
    ("torch._utils", "_rebuild_parameter"): lambda data, requires_grad=None, hooks=None: data,
    ("torch", "Size"): lambda sizes=(): sizes,
    ("collections", "OrderedDict"): lambda: collections.OrderedDict(),
    ("torch.storage", "UntypedStorage"): BYTES,
    ("torch.serialization", "_get_layout"): lambda name: name,
    **{("torch", name): dtype for name, dtype in {**STORAGES, **TYPES}.items()},
}
REBUILT = re.compile(r"_rebuild_\w+")  # of torch._utils
NAMES_OF_TYPES = re.compile(
    r"\w+Storage|(float|bfloat|u?int|bits|q?u?int|complex)\d\w*|per_(tensor|channel)_\w+"
)  # of torch


class Unpickler(pickle._Unpickler):
    """Python's own: the one in C takes as much memory as a number in the file says."""

    dispatch = dict(pickle._Unpickler.dispatch)

    def __init__(self, file, path):
        super().__init__(file, encoding="utf-8")
        self.path = path

    def find_class(self, module, name):
        if (module, name) not in ALLOWED:
            if module == "torch" and NAMES_OF_TYPES.fullmatch(name):
                return Unknown(name)
            if module == "torch._utils" and REBUILT.fullmatch(name):
                return rebuilt(name)
            raise malformed(
                self.path,
                f"the pickle names {module}.{name}, which is not among what tensors are made of: save a state_dict",
            )
        return ALLOWED[module, name]

    def persistent_load(self, given):
        kind, dtype, key, _, count = given
        if (
            kind != "storage"
            or not (isinstance(dtype, Unknown) or dtype == BYTES or dtype in STORAGES.values())
            or not isinstance(key, (str, int))
            or type(count) is not int
        ):
            raise malformed(self.path, "the pickle names something that is no storage")
        return str(key), dtype, count

    def refused(self):
        raise malformed(self.path, "the pickle makes objects of which no tensors are made: save a state_dict")

    def build(self):
        """Attributes of a dict, such as a state_dict's _metadata, are left out; nothing else may get any."""
        self.stack.pop()
        if not isinstance(self.stack[-1], dict):
            self.refused()

    def hashed(self, keys):
        """Refuses keys but texts and numbers: the hash of tuples in tuples can take for ever."""
        if not all(isinstance(key, (str, bytes, int, float, type(None))) for key in keys):
            raise malformed(self.path, "a dict or set of the pickle has keys that are neither texts nor numbers")

    def set_item(self):
        self.hashed(self.stack[-2:-1])
        super().load_setitem()

    def set_items(self):
        self.hashed(self.stack[::2])
        super().load_setitems()

    for code in (
        "INST",
        "OBJ",
        "NEWOBJ",
        "NEWOBJ_EX",
        "EXT1",
        "EXT2",
        "EXT4",
        "BYTEARRAY8",
        "NEXT_BUFFER",
        "READONLY_BUFFER",
        "DICT",
        "ADDITEMS",
        "FROZENSET",
    ):
        dispatch[getattr(pickle, code)[0]] = refused  # type: ignore[assignment]
    _own: dict[int, Any] = {pickle.BUILD[0]: build, pickle.SETITEM[0]: set_item, pickle.SETITEMS[0]: set_items}
    dispatch |= _own


class Walk:
    """Tensors of nested containers by dotted names, and all else. What a pickle shares it can hold more often than
    anyone can count.
    """

    def __init__(self, path, most):
        self.path, self.left, self.tensors, self.others = path, most, {}, {}

    def go(self, value, name):
        self.left -= len(value) if isinstance(value, (dict, list, tuple)) else 1
        if self.left < 0 or len(name) > LONGEST_NAME:
            raise malformed(
                self.path, "the pickle's containers hold themselves or each other too often: save a state_dict"
            )
        if isinstance(value, (Stored, Refused)):
            if name in self.tensors:
                raise malformed(self.path, f"two tensors are called '{name}'")
            self.tensors[name or "tensor"] = value
        elif isinstance(value, dict):
            for key, item in value.items():
                self.go(item, f"{name}.{key}" if name else str(key))
        elif isinstance(value, (list, tuple)) and any(
            isinstance(item, (Stored, Refused, dict, list, tuple)) for item in value
        ):
            for i, item in enumerate(value):
                self.go(item, f"{name}.{i}" if name else str(i))
        else:
            self.others[name] = value


def reader(path, infos, folder, device, name, t):
    """(shape, function that reads it)."""
    if isinstance(t, Refused):
        return t.shape, refusal(path, name, t.kind, TYPES)
    key, dtype, count = t.storage
    if isinstance(dtype, Unknown) or dtype == BYTES:
        bytes_of(path, name, tuple(t.shape))
        return tuple(t.shape), refusal(path, name, dtype if dtype == BYTES else dtype.name, TYPES)
    type_, shape, stride = _strata.dtypes.__dict__[dtype], tuple(t.shape), tuple(t.stride)
    # Elements that an expanded axis repeats are stored, and read, once.
    stored = tuple(1 if step == 0 else n for n, step in zip(shape, stride))
    bytes_of(path, name, shape)
    if len(shape) != len(stride) or not all(type(n) is int and n >= 0 for n in (*stride, t.offset, count)):
        raise malformed(path, f"'{name}' lies outside of its storage")
    last = t.offset + sum((n - 1) * step for n, step in zip(shape, stride))
    if 0 not in shape and last >= count or bytes_of(path, name, stored) > MOST_OVERLAP * max(count, 1):
        raise malformed(
            path,
            f"'{name}' lies outside of its storage"
            if last >= count
            else f"'{name}' sees each element of its storage too often: save it contiguous()",
        )
    info = infos.get(f"{folder}data/{key}")
    if info is None or info.file_size != count * type_.itemsize or info.compress_type != zipfile.ZIP_STORED:
        raise malformed(path, f"the storage of '{name}' is not there in full")

    def read():
        if 0 in shape:
            return _strata._restored(b"", shape, type_, device)
        whole = np.frombuffer(archives.content(path, info), f"V{type_.itemsize}")
        part = np.lib.stride_tricks.as_strided(
            whole[t.offset :], stored, [step * type_.itemsize for step in stride], writeable=False
        )
        out = _strata._restored(part.tobytes(), stored, type_, device)
        return out if stored == shape else out.expand(shape)

    return shape, read


def load(path, device):
    infos = archives.files_of(path, "no zip: files that PyTorch before 1.6 wrote are read and saved again by PyTorch")
    found = [name for name in infos if name.endswith("/data.pkl") and name.count("/") == 1]
    if len(found) != 1 or infos[found[0]].file_size > LARGEST_PICKLE:
        raise malformed(path, "no checkpoint of PyTorch: there is no data.pkl in it")
    pickled, folder = archives.content(path, infos[found[0]]), found[0].removesuffix("data.pkl")
    if infos.get(folder + "byteorder") and archives.content(path, infos[folder + "byteorder"], 16) != b"little":
        raise malformed(path, "its bytes are in big-endian order")
    try:
        walk = Walk(path, 4 * len(pickled) + 1024)
        walk.go(Unpickler(io.BytesIO(pickled), path).load(), "")
        return {name: reader(path, infos, folder, device, name, t) for name, t in walk.tensors.items()}, walk.others
    except _strata.UsageError:
        raise
    except Exception as e:  # a pickle can fail in any way
        raise malformed(path, f"the pickle is damaged: {type(e).__name__}: {str(e)[:300]}") from None
