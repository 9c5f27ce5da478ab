"""NumPy's npz and npy, without pickles."""

import functools
import io
import zipfile

import numpy as np

from .._strata import DTypeError, Tensor, Unsupported, UsageError
from . import archives, bytes_of, malformed, part_of

LONGEST_NAME = (1 << 16) - 5  # bytes of a name in a zip, with ".npy" after it
LONGEST_HEADER = 1 << 16  # bytes; NumPy reads 10000


def header_of(path, name, first, size):
    """(shape, whether columns come first, type, where the elements begin), of a file's first bytes and its size."""
    file = io.BytesIO(first)
    try:
        version = np.lib.format.read_magic(file)
        read = {
            1: np.lib.format.read_array_header_1_0,
            2: np.lib.format.read_array_header_2_0,
            3: np.lib.format.read_array_header_2_0,
        }.get(version[0])  # 3: the names of fields are UTF-8
        shape, by_columns, dtype = read(file) if read else ((), False, None)
    except Exception as e:  # a header is Python's text, and can be wrong in any way
        raise malformed(path, f"'{name}' is no array of NumPy: {type(e).__name__}: {str(e)[:300]}") from None
    if read is None:
        raise malformed(path, f"'{name}' is of version {version} of the format, which is not known here")
    if not dtype.hasobject and file.tell() + bytes_of(path, name, shape, dtype.itemsize) > size:
        raise malformed(path, f"'{name}' of {dtype} {shape} is cut off: the file has {size} bytes")
    return shape, by_columns, dtype, file.tell()


def row(path, name, size, part, device):
    """(shape, function that reads it); part(n) gives the first n bytes, part() all."""
    shape, by_columns, dtype, start = header_of(path, name, part(min(size, LONGEST_HEADER)), size)

    def read():
        if dtype.hasobject or dtype.kind not in "biufc":
            raise Unsupported(
                f"[load] {path}: '{name}' is no array of numbers but of {dtype}: objects, texts, "
                f"dates and records are not read"
            )
        if 0 in shape:
            return Tensor.empty(shape, dtype=dtype.name, device=device)
        array = np.frombuffer(part(), dtype, bytes_of(path, name, shape), start)
        return Tensor(array.reshape(shape, order="F" if by_columns else "C"), device=device)

    return shape, read


def load(path, device):
    if path.suffix == ".npy":
        size = path.stat().st_size
        return {path.stem: row(path, path.stem, size, lambda n=size: part_of(path, path.stem, 0, n), device)}, {}
    infos = {name: info for name, info in archives.files_of(path, "no npz").items() if name.endswith(".npy")}
    rows = {
        name: row(path, name, info.file_size, functools.partial(archives.content, path, info), device)
        for name, info in infos.items()
    }
    return {name.removesuffix(".npy"): found for name, found in rows.items()}, {}


def save(file, tensors, metadata):
    arrays = {}
    for name, t in tensors.items():
        if "\0" in name or len(name.encode()) > LONGEST_NAME:
            raise UsageError(
                f"[save] the name {name[:40]!r} cannot be one of a zip, which has no zero bytes and {LONGEST_NAME} "
                f"bytes at most: write .safetensors"
            )
        if not t.dtype.numpy_name:
            raise DTypeError(f"[save] '{name}' is {t.dtype.name}, which NumPy has not: cast it, or write .safetensors")
        arrays[name] = t.numpy()
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as out:
                np.lib.format.write_array(out, array, allow_pickle=False)
