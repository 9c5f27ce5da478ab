"""Files of tensors: safetensors, NumPy's npz and npy, PyTorch's checkpoints, GGUF.

strata.save("net.safetensors", net.state_dict())
net.load_state_dict(strata.load("net.safetensors"))
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

from .._checks import checked, show, shown
from .._files import check_kind, open_regular
from .._strata import _MOST_AXES, Tensor, Unsupported, UsageError
from .._written import written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from os import PathLike
    from typing import Any

    from .._types import FileName


class Tensors(Mapping):
    """The tensors of a file by name. A tensor is read when it is asked for, and not kept: ask once. UsageError where
    the file is another one by then.

    A tensor of an unknown type raises Unsupported when it is asked for; the others are read. metadata: what else the
    file says. shapes: of all tensors by name, None for an unknown type; nothing is read for it.
    """

    def __init__(
        self,
        path: FileName,
        rows: Mapping[str, tuple[tuple[int, ...] | None, Callable[[], Tensor]]],
        metadata: Mapping[str, Any],
        stamp: tuple[int, ...],
    ) -> None:
        self.path, self._rows, self.metadata = str(path), rows, metadata  # name -> (shape, function that reads it)
        self._stamp = stamp

    @property
    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        return {name: shape for name, (shape, _) in self._rows.items()}

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._rows:
            near = [n for n in self._rows if str(name) in n or n in str(name)]
            raise KeyError(
                f"{self.path} has no tensor '{name}'"
                + (f"; it has {', '.join(near[:5])}" if near else f" among {len(self)}")
            )
        try:
            self._check_stamp(name)
            value = self._rows[name][1]()
            self._check_stamp(name)  # nor did it become another one meanwhile
            return value
        except FileNotFoundError:
            raise malformed(self.path, f"'{name}' was to be read now, but the file is not there any more") from None

    def _check_stamp(self, name):
        if stamp_of(self.path) != self._stamp:
            raise malformed(
                self.path,
                f"'{name}' was to be read now, but the file is another one than was opened: load it again, "
                f"or read all tensors before it is written",
            )

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __repr__(self) -> str:
        return f"<{len(self)} tensors of {self.path}>"


def stamp_of(path: str | PathLike[str]) -> tuple[int, ...]:
    """The identity of a file, which differs from that of one that takes its place or is written over it."""
    found = os.stat(path)
    check_kind(path, found.st_mode)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode


def malformed(path: str | PathLike[str], what: str) -> UsageError:
    return UsageError(f"[load] {path}: {what}")


def refusal(path: str | PathLike[str], name: str, kind: object, known: Iterable[str]) -> Callable[[], Tensor]:
    """The reader of a tensor of a type that is not known here."""

    def read():
        raise Unsupported(f"[load] {path}: '{name}' is of type {kind}, which is not known here; {', '.join(known)} are")

    return read


def bytes_of(path: str | PathLike[str], name: str, shape: Sequence[int], itemsize: int = 1) -> int:
    """Those of a tensor, whose shape is one that tensors have: what a file says may be anything."""
    if len(shape) > _MOST_AXES:
        raise malformed(path, f"'{name}' has {len(shape)} axes; tensors have {_MOST_AXES} at most")
    if not all(type(n) is int and 0 <= n < 1 << 63 for n in shape) or math.prod(n or 1 for n in shape) >= 1 << 63:
        raise malformed(path, f"'{name}' has a shape that no tensor has: {str(tuple(shape))[:200]}")
    return math.prod(shape) * itemsize


def part_of(path: str | PathLike[str], name: str, start: int, size: int) -> bytes:
    """Bytes of a file that were there when it was opened."""
    with open_regular(path) as file:
        file.seek(start)
        content = file.read(size)
    if len(content) != size:
        raise malformed(path, f"'{name}' is not there any more")
    return content


def load(path: FileName, device: str = "") -> Tensors:
    """The tensors of a file, as a Mapping that reads each when it is asked for.

    The suffix of the name says the format: .safetensors; .npz, .npy; .pt, .pth, .bin; .gguf. Names in nested dicts of a
    PyTorch checkpoint are joined by dots; what it holds beside tensors is in metadata. No function that a pickle names
    is called. Quantised tensors of GGUF are expressions of float32 over their bytes. device: where they go. UsageError
    for a file that is not what its name says, and for a name that says nothing.
    """
    from . import gguf, npz, safetensors, torch

    path = Path(os.fsdecode(path))
    readers = {
        ".safetensors": safetensors.load,
        ".npz": npz.load,
        ".npy": npz.load,
        ".pt": torch.load,
        ".pth": torch.load,
        ".bin": torch.load,
        ".gguf": gguf.load,
    }
    if path.suffix not in readers:
        raise UsageError(f"[load] {path}: the suffix says the format; use one of {', '.join(readers)}")
    if not path.is_file():
        raise UsageError(f"[load] {path}: there is no such file")
    stamp = stamp_of(path)
    rows, metadata = readers[path.suffix](path, device)
    return Tensors(path, rows, metadata, stamp)


def save(path: FileName, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Writes tensors, by name, to .safetensors (any type; metadata: a dict of texts) or .npz. The file is there whole
    or not at all.
    """
    from . import npz, safetensors

    path = Path(os.fsdecode(path))
    if "\0" in str(path):
        raise UsageError(f"[save] {str(path)!r} is no name of a file: it has a zero byte")
    writers = {".safetensors": safetensors.save, ".npz": npz.save}
    if path.suffix not in writers:
        raise UsageError(f"[save] {path}: the suffix says the format; use one of {', '.join(writers)}")
    if not hasattr(tensors, "items"):
        raise UsageError(f"[save] takes a dict of tensors by name, not a {type(tensors).__name__}")
    metadata = {} if metadata is None else metadata
    if not isinstance(metadata, Mapping) or not all(
        isinstance(text, str) for pair in metadata.items() for text in pair
    ):
        raise UsageError(f"[save] metadata is {shown(metadata)}: a dict of texts by name")
    if metadata and path.suffix != ".safetensors":
        raise UsageError(f"[save] {path.name}: {path.suffix} holds no metadata: leave them out, or write .safetensors")
    for name, t in tensors.items():
        if not isinstance(name, str) or not isinstance(t, Tensor):
            raise UsageError(f"[save] {name!r}: names are texts, values are tensors")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"[save] the name {name[:40]!r} has a half of a character: files hold names as UTF-8"
            ) from None
    with written(path) as file:
        writers[path.suffix](file, tensors, dict(metadata))


load, save = checked(load), checked(save)
__all__ = ["Tensors", "load", "save"]
show(globals())
