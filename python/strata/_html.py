"""Tensors in notebooks. Imported where one is shown."""

from html import escape

from ._strata import Tensor, settings

_ALL_SHOWN, _ENDS = 12, 5  # rows or columns, and of more those at each end


def _shown(n):
    """Places along an axis; None stands for those between."""
    return [*range(n)] if n <= _ALL_SHOWN else [*range(_ENDS), None, *range(n - _ENDS, n)]


def _values(x, rows, columns):
    for axis, places in enumerate((rows, columns)):
        if None in places:
            x = x.take(Tensor([i for i in places if i is not None]), axis)
    return (x if x.dtype.numpy_name else x.cast("float32")).numpy()


def _cell(value):
    if value is None:
        return "<td>&#8230;</td>"
    return f'<td style="text-align: right">{escape(str(value))}</td>'


def shown(x):
    """A table of one or two axes, its middle left out where it is long, whose values are computed; else what repr
    says.
    """
    text = f"<pre>{escape(repr(x))}</pre>"
    if settings()["debug"] or x.ndim not in (1, 2) or 0 in x.shape:
        return text
    matrix = x if x.ndim == 2 else x.unsqueeze(0)
    rows, columns = (_shown(n) for n in matrix.shape)
    values = iter(_values(matrix, rows, columns))
    lines = []
    for row in rows:
        line = iter(next(values)) if row is not None else None
        lines.append("".join(_cell(None if line is None or column is None else next(line)) for column in columns))
    table = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>{table}</table><div>{escape(f'Tensor {x.shape} {x.dtype.name} on {x.device}')}</div>"
