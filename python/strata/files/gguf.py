"""GGUF: values by name, then what the file holds of tensors, then their bytes. The format is ggml's docs/gguf.md."""

import os

import numpy as np

from .. import _strata
from .._files import open_regular
from . import bytes_of, malformed, part_of, refusal
from .blocks import QUANTISED

PLAIN = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
}

# ggml's numbers of types; those without a name are of no file any more.
_KINDS = """
F32 F16 Q4_0 Q4_1 - - Q5_0 Q5_1 Q8_0 Q8_1 Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K IQ2_XXS IQ2_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S IQ2_S
IQ4_XS I8 I16 I32 I64 F64 IQ1_M BF16 - - - TQ1_0 TQ2_0 - - - MXFP4 NVFP4 Q1_0
"""
KINDS = dict(enumerate(_KINDS.split()))

NUMBERS = {0: "u1", 1: "i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "?", 10: "<u8", 11: "<i8", 12: "<f8"}
TEXT, ARRAY = 8, 9
MOST_VALUES = 1 << 24  # of all arrays: tens of times the largest vocabulary


class Header:
    """The head of a file, before the bytes of its tensors, read in its order and never beyond its end."""

    def __init__(self, path, file):
        self.path, self.file, self.left, self.values = path, file, os.fstat(file.fileno()).st_size, MOST_VALUES

    def take(self, size):
        if size > self.left:
            raise malformed(self.path, f"no GGUF: {size} bytes are to come where {self.left} are left")
        self.left -= size
        return self.file.read(size)

    def number(self, kind):
        return np.frombuffer(self.take(np.dtype(kind).itemsize), kind)[0].item()

    def text(self):
        try:
            return self.take(int.from_bytes(self.take(8), "little")).decode()
        except UnicodeDecodeError as e:
            raise malformed(self.path, f"no GGUF: a text is not in UTF-8: {e}") from None

    def value(self, kind, depth=0):
        if kind == TEXT:
            return self.text()
        if kind in NUMBERS:
            return self.number(NUMBERS[kind])
        if kind != ARRAY or depth > 8:
            raise malformed(
                self.path, f"no GGUF: a value of type {kind}" if kind != ARRAY else "arrays in arrays, deeper than 8"
            )
        kind, count = self.number("<u4"), self.number("<u8")
        self.values -= count
        if self.values < 0:
            raise malformed(self.path, f"an array of {count} values: {MOST_VALUES} in all are read")
        if kind in NUMBERS:
            return np.frombuffer(self.take(count * np.dtype(NUMBERS[kind]).itemsize), NUMBERS[kind]).tolist()
        return [self.value(kind, depth + 1) for _ in range(count)]

    def named(self, count, of):
        """A dict of `count` entries; a name is there once."""
        found = {}
        for _ in range(count):
            name = self.text()
            if name in found:
                raise malformed(self.path, f"'{name}' is there twice")
            found[name] = of()
        return found

    def tensor(self):
        """(shape, the name of its type, where it begins)."""
        axes = self.number("<u4")
        shape = tuple(np.frombuffer(self.take(axes * 8), "<u8").tolist()[::-1])
        kind = self.number("<u4")
        return shape, KINDS.get(kind, f"{kind}"), self.number("<u8")


def header_of(path):
    """(values by name, tensors by name, where their bytes begin, how many there are)."""
    with open_regular(path) as file:
        header = Header(path, file)
        size = header.left
        magic, version = header.take(4), header.number("<u4")
        if magic != b"GGUF" or version not in (2, 3):
            order = (
                "in big-endian order" if magic == b"GGUF" and version >= 1 << 24 else f"{magic!r} of version {version}"
            )
            raise malformed(path, f"no GGUF of version 2 or 3, but {order}: write it again with the tools of llama.cpp")
        count, pairs = header.number("<u8"), header.number("<u8")
        values = header.named(pairs, lambda: header.value(header.number("<u4")))
        rows = header.named(count, header.tensor)
        unit = values.get("general.alignment", 32)
        if type(unit) is not int or not 0 < unit <= 1 << 20:
            raise malformed(path, f"tensors cannot be aligned to {str(unit)[:50]} bytes")
        at = -(-(size - header.left) // unit) * unit
    return values, rows, at, max(size - at, 0)


def load(path, device):
    values, rows, at, room = header_of(path)

    def row(name, shape, kind, start):
        elements, size, value = QUANTISED.get(kind) or (
            1,
            _strata.dtypes.__dict__[PLAIN[kind]].itemsize if kind in PLAIN else 0,
            None,
        )
        held = bytes_of(path, name, shape, size) // elements
        if elements > 1 and (not shape or shape[-1] % elements):
            raise malformed(path, f"'{name}' of {kind} has rows that are no whole blocks of {elements}: {shape}")
        if start + held > room:
            raise malformed(path, f"'{name}' lies outside of the file")

        def read():
            content = part_of(path, name, at + start, held)
            if value is None:
                return _strata._restored(content, shape, _strata.dtypes.__dict__[PLAIN[kind]], device)
            if not held:
                return _strata.Tensor.zeros(shape, device=device)
            return value(_strata._restored(content, (held // size, size), _strata.dtypes.uint8, device)).reshape(shape)

        return shape, read if size else refusal(path, name, kind, (*PLAIN, *QUANTISED))

    return {name: row(name, *found) for name, found in rows.items()}, values
