"""Files of tensors: safetensors, NumPy's npz and npy, PyTorch's checkpoints, GGUF.

    strata.save("net.safetensors", net.state_dict())
    net.load_state_dict(strata.load("net.safetensors"))
"""

import math
import os
from collections.abc import Mapping
from pathlib import Path

from .._files import open_regular
from .._strata import _MOST_AXES, Tensor, Unsupported, UsageError


class Tensors(Mapping):
    """The tensors of a file by name. A tensor is read when it is asked for, and not kept: ask once.

    A tensor of a type that is not known here raises Unsupported when it is asked for; the others are read. metadata: what else the
    file says. shapes: of all tensors, by name, None where a type that is not known hides it; nothing is read for it.
    """

    def __init__(self, path, rows, metadata):
        self.path, self._rows, self.metadata = str(path), rows, metadata  # name -> (shape, function that reads it)

    @property
    def shapes(self):
        return {name: shape for name, (shape, _) in self._rows.items()}

    def __getitem__(self, name):
        if name not in self._rows:
            near = [n for n in self._rows if str(name) in n or n in str(name)]
            raise KeyError(f"{self.path} has no tensor '{name}'" + (f"; it has {', '.join(near[:5])}" if near else f" among {len(self)}"))
        try:
            return self._rows[name][1]()
        except FileNotFoundError:
            raise malformed(self.path, f"'{name}' was to be read now, but the file is not there any more") from None

    def __iter__(self):
        return iter(self._rows)

    def __len__(self):
        return len(self._rows)

    def __contains__(self, name):
        return name in self._rows

    def __repr__(self):
        return f"<{len(self)} tensors of {self.path}>"


def malformed(path, what):
    return UsageError(f"[load] {path}: {what}")


def refusal(path, name, kind, known):
    """What reads a tensor of a type that is not known here."""

    def read():
        raise Unsupported(f"[load] {path}: '{name}' is of type {kind}, which is not known here; {', '.join(known)} are")

    return read


def bytes_of(path, name, shape, itemsize=1):
    """Those of a tensor, whose shape is one that tensors have: what a file says may be anything."""
    if len(shape) > _MOST_AXES:
        raise malformed(path, f"'{name}' has {len(shape)} axes; tensors have {_MOST_AXES} at most")
    if not all(type(n) is int and 0 <= n < 1 << 63 for n in shape) or math.prod(n or 1 for n in shape) >= 1 << 63:
        raise malformed(path, f"'{name}' has a shape that no tensor has: {str(tuple(shape))[:200]}")
    return math.prod(shape) * itemsize


def part_of(path, name, start, size):
    """Bytes of a file that were there when it was opened."""
    with open_regular(path) as file:
        file.seek(start)
        content = file.read(size)
    if len(content) != size:
        raise malformed(path, f"'{name}' is not there any more")
    return content


def load(path, device=""):
    """The tensors of a file, as a Mapping that reads each when it is asked for.

    The format is told by the name: .safetensors; .npz, .npy; .pt, .pth, .bin; .gguf. Of a PyTorch checkpoint names of nested dicts are joined by dots, and what it holds beside tensors is in metadata; nothing that a pickle
    may ask to be called is called. Quantised tensors of GGUF are expressions of float32 over their bytes. device: where they
    go. UsageError for a file that is not what its name says, and for a name that says nothing.
    """
    from . import gguf, npz, safetensors, torch

    path = Path(os.fspath(path))
    readers = {".safetensors": safetensors.load, ".npz": npz.load, ".npy": npz.load, ".pt": torch.load, ".pth": torch.load, ".bin": torch.load, ".gguf": gguf.load}
    if path.suffix not in readers:
        raise UsageError(f"[load] {path}: the format is told by the name, which ends in {', '.join(readers)}")
    if not path.is_file():
        raise UsageError(f"[load] {path}: there is no such file")
    return Tensors(path, *readers[path.suffix](path, device))


def save(path, tensors, metadata=None):
    """Writes tensors, by name, to .safetensors (any type; metadata: a dict of texts) or .npz. The file is there whole or not at all."""
    from . import npz, safetensors

    path = Path(os.fspath(path))
    writers = {".safetensors": safetensors.save, ".npz": npz.save}
    if path.suffix not in writers:
        raise UsageError(f"[save] {path}: the format is told by the name, which ends in {', '.join(writers)}")
    wrong = next((n for n, t in tensors.items() if not isinstance(n, str) or not isinstance(t, Tensor)), None)
    if wrong is not None:
        raise UsageError(f"[save] {wrong!r}: names are texts, values are tensors")
    unfinished = path.with_name(path.name + f".{os.getpid()}.part")
    try:
        with open(unfinished, "wb") as file:
            writers[path.suffix](file, tensors, metadata or {})
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
