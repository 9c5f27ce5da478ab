"""Zips, as npz and PyTorch's checkpoints are: what they say of their files is checked before anything is read."""

import os
import struct
import zipfile
import zlib

from .._files import open_regular
from .._strata import UsageError
from . import malformed

DENSEST = 1032  # bytes that one of deflate can stand for, at most


def checked(path, info, size):
    stored = info.compress_type == zipfile.ZIP_STORED
    if info.flag_bits & 1 or not stored and info.compress_type != zipfile.ZIP_DEFLATED:
        raise malformed(
            path, f"'{info.filename}' is encrypted or compressed by something else than deflate: write it again without"
        )
    most = info.compress_size if stored else info.compress_size * DENSEST + 64
    if (
        info.file_size > most
        or stored
        and info.file_size != most
        or not 0 <= info.header_offset <= size - info.compress_size
    ):
        raise malformed(
            path,
            f"'{info.filename}' would have {info.file_size} bytes, more than the file can hold: "
            f"it is cut off or damaged",
        )


def files_of(path, what):
    """name -> what the zip says of it."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            infos, size = archive.infolist(), os.fstat(file.fileno()).st_size
    except (FileNotFoundError, UsageError):
        raise
    except Exception as e:  # of zipfile, which names some of what can be wrong
        raise malformed(path, f"{what}: {e}") from None
    found = {info.filename: info for info in infos}
    if len(found) != len(infos):
        raise malformed(path, "two of its files have one name")
    for info in infos:
        checked(path, info, size)
    return found


def content(path, info, most=None):
    """The bytes of a file in the zip; of them the first ones alone, unchecked, where `most` says how many."""
    want = info.file_size if most is None else min(most, info.file_size)
    with open_regular(path) as file:
        file.seek(info.header_offset)
        head = file.read(30)
        if len(head) != 30 or head[:4] != b"PK\3\4":
            raise malformed(path, f"'{info.filename}' is not where the zip says")
        file.seek(sum(struct.unpack("<HH", head[26:])), os.SEEK_CUR)
        if info.compress_type == zipfile.ZIP_STORED:
            got = file.read(want)
        else:
            got = inflated(path, info, file, want)
    if len(got) != want or most is None and zlib.crc32(got) != info.CRC:
        raise malformed(path, f"'{info.filename}' is cut off or damaged")
    return got


def inflated(path, info, file, want):
    got, left, work = bytearray(), info.compress_size, zlib.decompressobj(-zlib.MAX_WBITS)
    while len(got) < want and not work.eof and (packed := work.unconsumed_tail or file.read(min(left, 1 << 20))):
        left -= 0 if work.unconsumed_tail else len(packed)
        try:
            got += work.decompress(packed, want - len(got))
        except zlib.error as e:
            raise malformed(path, f"'{info.filename}' is damaged: {e}") from None
    return bytes(got)
