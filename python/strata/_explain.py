"""The kernels of tensors: strata.explain."""

from __future__ import annotations

from . import Tensor, _strata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Explanation(str):
    """Text whose repr is itself, so that an interactive session shows it as it is."""

    def __repr__(self) -> str:
        return str(self)


def bytes_text(n: int) -> str:
    size, units = float(n), ["B", "KiB", "MiB", "GiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size:.4g} {units[0]}"


WIDTH, HEIGHT = 64, 8  # of the picture, in characters
SHOWN = 24  # buffers of a table


def table(rows: list[tuple[str, ...]]) -> str:
    """Columns of the widths that they need; the first one to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = (
        "  ".join([row[0].rjust(widths[0]), *(cell.ljust(w) for cell, w in zip(row[1:], widths[1:]))]) for row in rows
    )
    return "".join(line.rstrip() + "\n" for line in lines)


def timeline(kept: list[int], peak: int) -> str:
    """How much is kept, from the first step to the last; each column is the most of its steps."""
    columns = min(WIDTH, len(kept))
    edges = [len(kept) * i // columns for i in range(columns + 1)]
    most = [max(kept[a:b]) for a, b in zip(edges, edges[1:])]
    lines = []
    for row in range(HEIGHT, 0, -1):
        label = bytes_text(kept[peak]) if row == HEIGHT else ""
        bars = "".join("#" if m * HEIGHT > kept[peak] * (row - 1) else " " for m in most)
        lines.append(f"{label:>10s} |{bars.rstrip()}\n")
    at = next(i for i, end in enumerate(edges[1:]) if peak < end)
    return "".join(lines) + " " * 11 + "+" + "-" * at + "^" + "-" * (columns - at - 1) + f" {len(kept)} steps\n"


def _explain_memory(flat: list[Tensor]) -> Explanation:
    steps, filled, kept, inputs = _strata._memory_outline(flat)
    given = sum(size for size, _ in inputs)
    if not steps:
        return Explanation(f"nothing is left to compute: {bytes_text(given)} are in memory\n")
    peak = max(range(len(kept)), key=kept.__getitem__)

    def step(number):
        return "a result" if number == len(steps) else f"{number + 1}. {steps[number]}"

    written_over = {over: number for number, (*_, over, _) in enumerate(filled) if over >= 0}
    alive = [
        (size, value, first, last, why)
        for number, (size, value, first, last, over, why) in enumerate(filled)
        if first <= peak <= last and not (number in written_over and last == peak)
    ]
    alive.sort(key=lambda row: (-row[0], row[2]))
    rows: list[tuple[str, ...]] = [("bytes", "value", "filled by", "read last by", "stored, as")]
    rows += [(bytes_text(size), value, step(first), step(last), why) for size, value, first, last, why in alive[:SHOWN]]
    rest = alive[SHOWN:]
    if rest:
        rows.append((bytes_text(sum(row[0] for row in rest)), f"{len(rest)} smaller ones", "", "", ""))
    return Explanation(
        f"the peak is step {step(peak)} of {len(steps)}: {bytes_text(kept[peak])} of what the steps fill, beside "
        f"{bytes_text(given)} that are in memory already\n\n{table(rows)}\n{timeline(kept, peak)}"
    )


def explain(*tensors: Tensor | Sequence[Tensor], memory: bool = False) -> Explanation:
    """Says which kernels compute tensors, and why each ends where it does; or what they keep in memory.

    tensors: Tensors, or lists of them, that are computed together; nothing is run.
    memory: what is in memory at its peak, in a table. A row has the bytes and type of a buffer, the steps that fill it
    and read it last, and why its value is stored. A picture shows the bytes kept from the first step to the last.
    Memory that a step may write over is its result's.
    Returns text. It has for each kernel its name, which is made of the sizes of its loops, and what it computes
    (operations by count). The bytes of the buffers that it reads and writes follow, and why its result is stored. At
    the end are all bytes against the fewest that any schedule moves: those of the inputs and of the tensors.
    Raises TypeError for what is no Tensor.
    """
    flat: list[Any] = [t for each in tensors for t in (each if isinstance(each, (list, tuple)) else [each])]
    if not flat or not all(isinstance(t, Tensor) for t in flat):
        raise TypeError("explain() takes Tensors: strata.explain(x.softmax(-1))")
    if memory:
        return _explain_memory(flat)
    steps, least = _strata._outline(flat)
    if not steps:
        return Explanation("nothing is left to compute: it is in memory\n")
    lines = []
    for number, (name, result, operations, read, written, why) in enumerate(steps, 1):
        parts = ", ".join(name if count == 1 else f"{count} {name}" for name, count in operations) or "copy"
        lines.append(
            f"{number}. {name} -> {result}\n   {parts}\n   reads {bytes_text(read)}, writes {bytes_text(written)}; "
            f"stored: {why}\n"
        )
    moved = sum(step[3] + step[4] for step in steps)
    kernels = "1 kernel" if len(steps) == 1 else f"{len(steps)} kernels"
    lines.append(
        f"{kernels}, {bytes_text(moved)}; at least {bytes_text(least)} have to move ({moved / max(least, 1):.2f} times "
        f"that)\n"
    )
    return Explanation("".join(lines))
