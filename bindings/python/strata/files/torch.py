"""PyTorch's checkpoints: a zip with a pickle that describes tensors, and a file for the bytes of each storage. The pickle is read
without calling what it names: what stands for PyTorch's functions is here, and there is nothing else."""

import collections
import io
import pickle
import zipfile

import numpy as np

from .. import _strata
from . import malformed

STORAGES = {
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16", "LongStorage": "int64",
    "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "boolean",
}  # fmt: skip
LARGEST_PICKLE = 256 << 20  # bytes


class Stored:
    """A tensor that is not read yet."""

    def __init__(self, storage, offset, shape, stride, *_):
        self.storage, self.offset, self.shape, self.stride = storage, offset, tuple(shape), tuple(stride)


ALLOWED = {
    ("torch._utils", "_rebuild_tensor_v2"): Stored,
    ("torch._utils", "_rebuild_parameter"): lambda data, requires_grad=None, hooks=None: data,
    ("torch", "Size"): lambda sizes=(): tuple(sizes),
    ("collections", "OrderedDict"): collections.OrderedDict,
    **{("torch", name): dtype for name, dtype in STORAGES.items()},
}


class Unpickler(pickle.Unpickler):
    def __init__(self, file, path):
        super().__init__(file, encoding="utf-8")
        self.path = path

    def find_class(self, module, name):
        if (module, name) not in ALLOWED:
            raise malformed(self.path, f"the pickle names {module}.{name}, which is not among what tensors are made of: save a state_dict")
        return ALLOWED[module, name]

    def persistent_load(self, given):
        kind, dtype, key, _, count = given
        if kind != "storage" or not isinstance(dtype, str) or type(count) is not int:
            raise malformed(self.path, "the pickle names something that is no storage")
        return str(key), dtype, count


def flattened(value, prefix, tensors, others):
    """Tensors by dotted names, and all else."""
    if isinstance(value, Stored):
        tensors[prefix or "tensor"] = value
    elif isinstance(value, dict):
        for key, item in value.items():
            flattened(item, f"{prefix}.{key}" if prefix else str(key), tensors, others)
    elif isinstance(value, (list, tuple)) and any(isinstance(item, (Stored, dict, list, tuple)) for item in value):
        for i, item in enumerate(value):
            flattened(item, f"{prefix}.{i}" if prefix else str(i), tensors, others)
    else:
        others[prefix] = value


def load(path, device):
    try:
        with zipfile.ZipFile(path) as archive:
            infos = {info.filename: info for info in archive.infolist()}
            found = [name for name in infos if name.endswith("/data.pkl") and name.count("/") == 1]
            if len(found) != 1 or infos[found[0]].file_size > LARGEST_PICKLE:
                raise malformed(path, "no checkpoint of PyTorch: there is no data.pkl in it")
            pickled, folder = archive.read(found[0]), found[0].removesuffix("data.pkl")
            if infos.get(folder + "byteorder") and archive.read(folder + "byteorder") != b"little":
                raise malformed(path, "its bytes are in big-endian order")
    except zipfile.BadZipFile:
        raise malformed(path, "no zip: files that PyTorch before 1.6 wrote are read and saved again by PyTorch") from None
    try:
        content = Unpickler(io.BytesIO(pickled), path).load()
    except _strata.UsageError:
        raise
    except Exception as e:  # a pickle can fail in any way
        raise malformed(path, f"the pickle is damaged: {type(e).__name__}: {e}") from None
    tensors, others = {}, {}
    flattened(content, "", tensors, others)

    def reader(name, t):
        key, dtype, count = t.storage
        type_ = _strata.dtypes.__dict__[dtype]
        last = t.offset + sum((n - 1) * step for n, step in zip(t.shape, t.stride))
        numbers = [*t.shape, *t.stride, t.offset, count]
        info = infos.get(f"{folder}data/{key}")
        if len(t.shape) != len(t.stride) or not all(type(n) is int and n >= 0 for n in numbers) or (0 not in t.shape and last >= count):
            raise malformed(path, f"'{name}' lies outside of its storage")
        if info is None or info.file_size != count * type_.itemsize or info.compress_type != zipfile.ZIP_STORED:
            raise malformed(path, f"the storage of '{name}' is not there in full")

        def read():
            with zipfile.ZipFile(path) as archive:
                whole = np.frombuffer(archive.read(info), f"u{type_.itemsize}")
            strides = [step * type_.itemsize for step in t.stride]
            part = np.lib.stride_tricks.as_strided(whole[t.offset :], t.shape, strides, writeable=False)
            return _strata._restored(part.tobytes(), t.shape, type_, device)

        return t.shape, read

    return {name: reader(name, t) for name, t in tensors.items()}, others
