"""Layouts as pictures: SVG without scripts, fonts or colours from elsewhere."""

from html import escape

from .._layout import ComposedLayout, Layout, size
from .._written import written
from ._show import refusal, short, table

HUES = 32  # of threads and banks, then they repeat
BANKS = 32


def _colour(value, of):
    """A light colour of a hue that is far from its neighbours'."""
    return f"hsl({value % of * 360 * 5 // of % 360},60%,82%)" if of > 8 else f"hsl(0,0%,{97 - 5 * (value % 8)}%)"


def _svg(rows, columns, cell, title):
    """cell(row, column): (lines of text, colour)."""
    cells = {(r, c): cell(r, c) for r in range(rows) for c in range(columns)}
    letters = max(max(len(line) for line in lines) for lines, _ in cells.values())
    width, height = max(28, 7 * letters + 8), 14 + 12 * max(len(lines) for lines, _ in cells.values())
    left, top = 8 + 7 * len(str(rows - 1)), 34
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + columns * width + 8}" '
        f'height="{top + rows * height + 8}" font-family="monospace" font-size="11" text-anchor="middle">',
        f"<title>{escape(title)}</title>",
        f'<text x="4" y="13" text-anchor="start" fill="#555">{escape(title)}</text>',
    ]
    for c in range(columns):
        out.append(f'<text x="{left + c * width + width // 2}" y="{top - 4}" fill="#888">{c}</text>')
    for r in range(rows):
        out.append(f'<text x="{left - 6}" y="{top + r * height + height // 2 + 4}" fill="#888">{r}</text>')
    for (r, c), (lines, colour) in cells.items():
        x, y = left + c * width, top + r * height
        out.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{colour}" stroke="#444"/>')
        for i, line in enumerate(lines):
            at = y + height // 2 + 4 + 12 * i - 6 * (len(lines) - 1)
            out.append(f'<text x="{x + width // 2}" y="{at}">{escape(line)}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def _indices(layout, bits):
    (rows, columns), at = table(layout)

    def cell(row, column):
        index = at(row, column)
        if bits is not None:
            bank = index * bits // 32 % BANKS
            return [short(index), f"b{bank}"], _colour(bank, BANKS)
        return [short(index)], _colour(index if isinstance(index, int) else 0, 8)

    return _svg(rows, columns, cell, str(layout))


def _threads(tiler, tv):
    sizes = tiler if isinstance(tiler, tuple) else (tiler,)
    rows, columns = (sizes[0], size(sizes[1:])) if len(sizes) > 1 else (1, sizes[0])
    threads, values = size(tv[0]), size(tv[1])
    owner = {}
    for t in range(threads):
        for v in range(values):
            owner.setdefault(tv(t, v), []).append((t, v))

    def cell(row, column):
        owners = owner.get(row + rows * column, [])
        if not owners:
            return [""], "#fff"
        t, v = owners[0]
        return [f"T{t}" + ("+" if len(owners) > 1 else ""), f"V{v}"], _colour(t, HUES)

    return _svg(rows, columns, cell, f"{tv} in {short(tiler)}")


def draw(
    layout: Layout | ComposedLayout | tuple[object, Layout], file: str | None = None, *, bits: int | None = None
) -> str:
    """The SVG text of a layout, written to a file where one is named.

    A layout shows its indices, mode 0 down and the others across. With the bits of an element, it shows the bank of
    each in local memory too. (tiler, tv), as make_layout_tv gives it, shows which thread has which value of a tile.
    16384 cells at most.
    """
    if isinstance(layout, tuple):
        if len(layout) != 2 or not isinstance(layout[1], Layout):
            raise refusal(
                "draw", layout, "a tuple is (tiler, layout of threads and values), as make_layout_tv gives it"
            )
        text = _threads(*layout)
    else:
        text = _indices(layout, bits)
    if file is not None:
        with written(file) as out:
            out.write(text.encode())
    return text
