"""Opens files by the names that people give: regular files alone, as what else has a name may hold up its reader for
good.
"""

import os
import stat

from ._strata import UsageError

KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def open_regular(path):
    """A regular file, open for its bytes. Returns at once. UsageError for a FIFO, a socket, a device or a folder;
    OSError where nothing can be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        check_kind(path, os.stat(path).st_mode)  # a socket cannot be opened
        raise
    try:
        check_kind(path, os.fstat(descriptor).st_mode)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check_kind(path, mode):
    if not stat.S_ISREG(mode):
        raise UsageError(
            f"{os.fspath(path)} is {KINDS.get(stat.S_IFMT(mode), 'no file')}: only regular files are read, "
            f"so give one with its content"
        )


def read_regular(path):
    """All bytes of a regular file; errors are those of open_regular()."""
    with open_regular(path) as file:
        return file.read()
