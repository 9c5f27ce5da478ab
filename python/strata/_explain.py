"""What becomes of tensors: strata.explain."""

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


def explain(*tensors: Tensor | Sequence[Tensor]) -> Explanation:
    """Says which kernels compute tensors, and why each ends where it does.

    tensors: Tensors, or lists of them, that are computed together; nothing is run.
    Returns text: for each kernel its name, which is made of the sizes of its loops, what it computes (operations by
    count), the bytes of the buffers that it reads and writes, and why its result is stored; then all bytes against the
    fewest that any schedule moves, those of what the tensors are made of and of the tensors.
    Raises TypeError for what is no Tensor.
    """
    flat: list[Any] = [t for each in tensors for t in (each if isinstance(each, (list, tuple)) else [each])]
    if not flat or not all(isinstance(t, Tensor) for t in flat):
        raise TypeError("explain() takes Tensors: strata.explain(x.softmax(-1))")
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
