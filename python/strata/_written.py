"""Files that are written whole or not at all: the only way in which the package writes one that has a name."""

import contextlib
import os
import stat
from pathlib import Path

_TRIES = 100


def _beside(path):
    """A new file in the folder of another, under an unpredictable name, and through no link."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    for _ in range(_TRIES):
        unfinished = path.with_name(f".{os.urandom(8).hex()}.part")
        try:
            return unfinished, os.open(unfinished, flags, 0o666)
        except FileExistsError:
            continue
        except OSError as e:  # of the file that is wanted, not of the one beside it
            raise type(e)(e.errno, e.strerror, os.fspath(path)) from None
    raise FileExistsError(f"no new file can be made beside {path}")


@contextlib.contextmanager
def written(path, mode="wb"):
    """A file to write to, which takes the name when the block ends, and goes where it raises. A device, pipe or socket
    that has the name is written to itself."""
    path = Path(os.fspath(path))
    try:
        there = os.stat(path)
    except OSError:
        there = None
    if there and not stat.S_ISREG(there.st_mode):
        with open(path, mode) as file:
            yield file
        return
    unfinished, opened = _beside(path)
    try:
        with os.fdopen(opened, mode) as file:
            yield file
        if there:
            os.chmod(unfinished, stat.S_IMODE(there.st_mode))
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
