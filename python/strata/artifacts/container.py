"""An artifact's files: a folder, or one file, a zip whose members are stored and begin at multiples of 64 bytes."""

import contextlib
import errno
import hashlib
import json
import os
import stat
import struct
import zipfile
from pathlib import Path

from .._files import check_kind, open_regular
from .._strata import UsageError
from .._written import written
from ..files.safetensors import without_doubles
from .folder import check_place, write_folder

ALIGNMENT = 64
FORMAT = "strata artifact"
MANIFEST = "manifest.json"
MOST_FILES = 1 << 16
MOST_MANIFEST = 1 << 28  # bytes
_PADDING = 0xD935  # the extra field that zip tools leave alone


def wrong(path, name, what) -> UsageError:
    """The error of a file of an artifact."""
    return UsageError(f"[Artifact.load] {os.fspath(path)}: {name}: {what}")


def is_inside(name) -> bool:
    """Is it the name of a file below the artifact's folder, in one spelling?"""
    return (
        isinstance(name, str)
        and 0 < len(name) <= 1024
        and name.isprintable()
        and not set(name) & set('\\:*?"<>|')
        and all(part not in ("", ".", "..") for part in name.split("/"))
    )


# Writing.


def save(path, files) -> None:
    """Writes the files, by name, to a folder, or to one file where the path ends in .strata. An artifact that is there
    is replaced as a whole.
    """
    check_place(path, MANIFEST, FORMAT)
    if os.fspath(path).endswith(".strata"):
        with written(path) as file:
            _write_zip(file, files)
        return
    write_folder(Path(os.fspath(path)), files, last=MANIFEST)  # the manifest is there once all is


def _write_zip(file, files):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files, key=lambda name: (name != MANIFEST, name)):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            start = file.tell() + zipfile.sizeFileHeader + len(name.encode()) + 4
            entry.extra = struct.pack("<HH", _PADDING, -start % ALIGNMENT) + bytes(-start % ALIGNMENT)
            archive.writestr(entry, files[name])


# Reading. Each reader gives the bytes of a file, at most `most`, or None where there is no such file.


class _Folder:
    def __init__(self, path):
        self.path = Path(os.fspath(path))

    def read(self, name, most):
        place = self.path
        for part in name.split("/"):
            place = place / part
            try:
                found = os.lstat(place)
            except (FileNotFoundError, NotADirectoryError):
                return None
            if stat.S_ISLNK(found.st_mode):
                raise wrong(self.path, name, "it is a link, which may lead elsewhere: give the file itself")
        with open_regular(place) as file:
            return file.read(min(most, os.fstat(file.fileno()).st_size) + 1)

    def close(self):
        pass


class _Zip:
    def __init__(self, path):
        self.path, self._file = path, open_regular(path)
        try:
            self._size = self._file.seek(0, 2)
            self._archive = zipfile.ZipFile(self._file)
            entries = self._archive.infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, EOFError) as e:
            self._file.close()
            raise wrong(path, "the file", f"it is no artifact: {e}") from None
        except BaseException:
            self._file.close()
            raise
        self._entries = {}
        for entry in entries:
            try:
                self._check(entry)
            except BaseException:
                self.close()
                raise
            self._entries[entry.filename] = entry

    def _check(self, entry):
        name = entry.filename
        if not is_inside(name):
            raise wrong(self.path, repr(name), "the name leaves the artifact: it is not to be trusted")
        if name in self._entries or len(self._entries) >= MOST_FILES:
            raise wrong(self.path, name, "it is there twice, or there are too many files")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise wrong(self.path, name, "it is a link, which may lead elsewhere")
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1 or entry.file_size != entry.compress_size:
            raise wrong(self.path, name, "it is compressed or encrypted: an artifact is a zip of stored files")
        if entry.header_offset + entry.file_size > self._size:
            raise wrong(self.path, name, f"it has {entry.file_size} bytes and the whole file {self._size}")

    def read(self, name, most):
        if name not in self._entries:
            return None
        if self._entries[name].file_size > most:
            return bytes(most + 1)
        try:
            return self._archive.read(name)
        except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, EOFError) as e:
            raise wrong(self.path, name, f"it cannot be read: {e}") from None

    def close(self):
        self._archive.close()
        self._file.close()


@contextlib.contextmanager
def opened(path):
    """A reader of the artifact of this name."""
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)
    except OSError as e:
        what = "there is no such file" if e.errno == errno.ENOENT else e.strerror
        raise wrong(path, "the artifact", f"{what}: give the name that Artifact.save got") from None
    if not is_folder:
        check_kind(path, os.stat(path).st_mode)
    reader = _Folder(path) if is_folder else _Zip(path)
    try:
        yield reader
    finally:
        reader.close()


def manifest_of(path, reader):
    """(text, value) of the manifest."""
    content = reader.read(MANIFEST, MOST_MANIFEST)
    if content is None:
        raise wrong(path, MANIFEST, "there is none, so this is no artifact: give the name that Artifact.save got")
    if len(content) > MOST_MANIFEST:
        raise wrong(path, MANIFEST, f"it has more than {MOST_MANIFEST} bytes")
    try:
        text = content.decode()
        value = json.loads(text, object_pairs_hook=without_doubles)
    except (ValueError, RecursionError) as e:
        raise wrong(path, MANIFEST, f"it is no JSON: {e}") from None
    return text, value


def files_of(path, reader, rows):
    """The files that the manifest lists, by name, as it lists them: first all names, then bytes, then hashes."""
    if not isinstance(rows, dict) or len(rows) > MOST_FILES:
        raise wrong(path, MANIFEST, "its 'files' are no files by name")
    for name, row in rows.items():
        if not is_inside(name) or name == MANIFEST:
            raise wrong(path, repr(name)[:200], "the name leaves the artifact: it is not to be trusted")
        good = isinstance(row, dict) and type(row.get("bytes")) is int and row["bytes"] >= 0
        if not good or not isinstance(row.get("sha256"), str):
            raise wrong(path, MANIFEST, f"it does not say bytes and sha256 of {name}")
    files = {name: reader.read(name, row["bytes"]) for name, row in rows.items()}
    for name, content in files.items():
        if content is None:
            raise wrong(path, name, "the file is missing: copy the whole artifact, or save it again")
    for name, content in files.items():
        if len(content) != rows[name]["bytes"]:
            some = "more" if len(content) > rows[name]["bytes"] else f"{len(content)}"
            raise wrong(path, name, f"{some} bytes where the manifest says {rows[name]['bytes']}: save it again")
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != rows[name]["sha256"]:
            raise wrong(path, name, "its bytes are not those that were saved (sha256): save it again")
    return files
