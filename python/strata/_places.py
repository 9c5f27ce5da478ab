"""Places of code objects in their files."""

import functools
import linecache
import os

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def is_package(code):
    """True for code of the package, whose frames stand between a kernel and what it calls."""
    return code.co_filename.startswith((_PACKAGE, "<frozen"))


@functools.lru_cache(64)
def _positions(code):
    return list(code.co_positions())


def place_of(code, instruction):
    """File, line, first column and the first one after it (from 1, in bytes of UTF-8; 0 unknown), text of the line."""
    positions = _positions(code)
    at = instruction // 2
    line, end_line, column, end_column = positions[at] if 0 <= at < len(positions) else (None,) * 4
    line = line or code.co_firstlineno
    text = linecache.getline(code.co_filename, line).rstrip()
    if column is None:
        return code.co_filename, line, 0, 0, text
    if end_line != line:
        end_column = len(text.encode())
    return code.co_filename, line, column + 1, (end_column or column) + 1, text
