"""Places of a kernel that another process compiled: by its code objects, whose files and lines may have moved."""

import json
import linecache


def portable(places, codes):
    """Places as bytes without a newline: each by the number of the code object around it, and the line in that one."""
    found = []
    for file, line, column, end_column, text in places:
        around = [
            (code.co_firstlineno, i)
            for i, code in enumerate(codes)
            if code.co_filename == file and code.co_firstlineno <= line
        ]
        first, which = max(around, default=(0, None))
        found.append([which, line - first, column, end_column, text])
    return json.dumps(found).encode()


def placed(stored, codes):
    """Places that portable() wrote, for this process's code objects; of a line whose text changed, with number 0."""
    found = []
    for which, offset, column, end_column, text in json.loads(stored):
        file, line = "", 0
        if which is not None:
            file, line = codes[which].co_filename, codes[which].co_firstlineno + offset
            if linecache.getline(file, line).rstrip() != text:
                line = 0
        found.append((file, line, column, end_column, text))
    return found
