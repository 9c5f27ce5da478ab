"""An artifact's files: a folder, or one file, a zip whose members are stored and begin at multiples of 64 bytes."""

import os
import stat
import struct
import zipfile
from pathlib import Path

from .._strata import UsageError
from .._written import written
from .folder import check_place, write_folder

ALIGNMENT = 64
FORMAT = "strata artifact"
MANIFEST = "manifest.json"
_PADDING = 0xD935  # the extra field that zip tools leave alone


def wrong(path, name, what) -> UsageError:
    """The error of a file of an artifact."""
    return UsageError(f"[Artifact.load] {os.fspath(path)}: {name}: {what}")


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
