"""Layouts as text."""

from .._layout import ComposedLayout, Layout, LayoutError, rank, size, take

MOST = 1 << 14  # cells


def refusal(operation, layout, text):
    error = LayoutError(f"[{operation}] {layout}: {text}")
    error.operation, error.operands = operation, (str(layout),)
    return error


def table(layout):
    """(shape of the table, the index of a row and a column): mode 0 down, all others across."""
    cells = size(layout)
    if not isinstance(cells, int):
        raise refusal("show", layout, "a size is a UOp, give the number")
    if cells > MOST:
        raise refusal("show", layout, f"{cells} cells are too many, {MOST} the most; take a tile of it")
    if rank(layout) <= 1:
        return (1, cells), lambda row, column: layout(column)
    rows = size(layout[0])
    columns = size(take(layout, 1, rank(layout)))
    return (rows, columns), lambda row, column: layout(row + rows * column)


def short(index):
    return "(" + ",".join(short(i) for i in index) + ")" if isinstance(index, tuple) else str(index)


def show(layout: Layout | ComposedLayout) -> str:
    """The indices as a table: mode 0 down and the others across; one mode across. 16384 cells at most."""
    (rows, columns), at = table(layout)
    cells = [[short(at(r, c)) for c in range(columns)] for r in range(rows)]
    width = max(len(text) for row in [*cells, [str(columns - 1)]] for text in row)
    side = len(str(rows - 1)) if rows > 1 else 0
    head = " " * side + "".join(f" {c:>{width}}" for c in range(columns))
    lines = [
        (f"{r:>{side}}" if side else "") + "".join(f" {text:>{width}}" for text in row) for r, row in enumerate(cells)
    ]
    return "\n".join(line.rstrip() for line in [str(layout), head, *lines])
