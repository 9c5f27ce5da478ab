"""safetensors: eight bytes of length, a header in JSON, and the bytes of all tensors, one after the other."""

import json
import struct

from .. import _strata
from .._files import open_regular
from . import bytes_of, malformed, part_of, refusal

TYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "fp8e4m3",
    "F8_E5M2": "fp8e5m2", "F8_E4M3FNUZ": "fp8e4m3fnuz", "F8_E5M2FNUZ": "fp8e5m2fnuz", "C64": "complex64",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16",
    "U8": "uint8", "BOOL": "boolean",
}  # fmt: skip
LONGEST_HEADER = 100_000_000  # bytes, as in the format's own library


def without_doubles(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("the object has a name twice")
    return dict(pairs)


def header_of(path):
    """(the header, where the bytes of tensors begin, how many there are)."""
    with open_regular(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        length = struct.unpack("<Q", file.read(8))[0] if size >= 8 else -1
        if not 0 < length <= min(size - 8, LONGEST_HEADER):
            raise malformed(path, f"no safetensors: the header would have {length} of {size} bytes")
        return parsed(path, file.read(length)), 8 + length, size - 8 - length


def parsed(path, text):
    """The header of this text."""
    try:
        header = json.loads(text.decode(), object_pairs_hook=without_doubles)
    except (ValueError, RecursionError) as e:
        raise malformed(path, f"the header is no JSON: {e}") from None
    if not isinstance(header, dict):
        raise malformed(path, "the header is no JSON object")
    return header


def checked(path, name, row, size):
    """(its name for the type, shape, first byte, end) of a tensor; what the header says of it is so."""
    try:
        type_, shape, (start, end) = row["dtype"], row["shape"], row["data_offsets"]
    except (KeyError, TypeError, ValueError):
        raise malformed(path, f"the header does not describe '{name}'") from None
    if not isinstance(type_, str):
        raise malformed(path, f"'{name}' is of type {str(type_)[:200]}, which is no text")
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in (*shape, start, end)):
        raise malformed(
            path, f"'{name}' has shape {shape} and data_offsets {[start, end]}: all are integers, none below 0"
        )
    wanted = (
        bytes_of(path, name, shape, _strata.dtypes.__dict__[TYPES[type_]].itemsize) if type_ in TYPES else end - start
    )
    if end - start != wanted or end < start:
        raise malformed(
            path,
            f"'{name}' of {type_} {tuple(shape)} takes {wanted} bytes, "
            f"its data_offsets {[start, end]} say {end - start}",
        )
    if end > size:
        raise malformed(path, f"'{name}' lies outside of the file: it ends at byte {end} of {size} bytes of data")
    return type_, tuple(shape), start, end


def rows_of(path, header, size):
    """(rows of all tensors by name, metadata): they lie one after the other and are all of the data."""
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise malformed(path, "its metadata are not texts by name")
    rows = {name: checked(path, name, row, size) for name, row in header.items()}
    end = 0
    for name, (_, _, start, stop) in sorted(rows.items(), key=lambda row: row[1][2:]):
        if start != end:
            raise malformed(path, f"'{name}' does not begin where the one before it ends")
        end = stop
    if end != size:
        raise malformed(path, f"{size - end} bytes are of no tensor")
    return rows, metadata


def of_bytes(path, content, device):
    """The tensors of a file that was read, by name. Types are those of TYPES."""
    length = struct.unpack("<Q", content[:8])[0] if len(content) >= 8 else -1
    if not 0 < length <= len(content) - 8:
        raise malformed(path, f"no safetensors: the header would have {length} of {len(content)} bytes")
    data = content[8 + length :]
    rows, _ = rows_of(path, parsed(path, content[8 : 8 + length]), len(data))
    if unknown := [name for name, row in rows.items() if row[0] not in TYPES]:
        raise malformed(path, f"'{unknown[0]}' is of type {rows[unknown[0]][0]}, which is not known here")
    return {
        name: _strata._restored(data[start:stop], shape, _strata.dtypes.__dict__[TYPES[type_]], device, False)
        for name, (type_, shape, start, stop) in rows.items()
    }


def load(path, device):
    header, at, size = header_of(path)
    rows, metadata = rows_of(path, header, size)

    def reader(name):
        type_, shape, start, stop = rows[name]

        def read():
            content = part_of(path, name, at + start, stop - start)
            return _strata._restored(content, shape, _strata.dtypes.__dict__[TYPES[type_]], device)

        return shape, read if type_ in TYPES else refusal(path, name, type_, TYPES)

    return {name: reader(name) for name in rows}, metadata


def save(file, tensors, metadata):
    names = {_strata.dtypes.__dict__[dtype]: name for name, dtype in TYPES.items()}
    if "__metadata__" in tensors:
        raise _strata.UsageError("[save] a tensor of safetensors cannot be called __metadata__: rename it")
    header, end = {"__metadata__": metadata} if metadata else {}, 0
    for name, t in sorted(
        tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])
    ):  # so that all are aligned
        if t.dtype not in names:
            raise _strata.DTypeError(f"[save] '{name}' is {t.dtype.name}, which safetensors has not: cast it")
        header[name] = {"dtype": names[t.dtype], "shape": list(t.shape), "data_offsets": [end, end + t.nbytes]}
        end += t.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(struct.pack("<Q", len(text)) + text)
    for name in header:
        if name != "__metadata__":
            file.write(tensors[name].__reduce__()[1][0])
