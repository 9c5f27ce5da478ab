"""Launches of Triton's code objects."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

import strata

from .memory import Memory

# A kernel's type, and NumPy's name of it: a letter and bytes.
_INTEGERS = {"i1": "u1", "u1": "u1"} | {f"{sign}{size * 8}": f"{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8)}
_FLOATS = {"fp16": np.float16, "fp32": np.float32, "f32": np.float32, "fp64": np.float64}


def _bfloat16(value: float) -> Any:
    """The bits of the nearest bfloat16, ties to even."""
    bits = int(np.float32(value).view(np.uint32))
    return np.uint16((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) if value == value else np.uint16(0x7FC0)


def _number(value: Any, kind: str) -> Any:
    """A number in the type that the kernel takes it in; out of range it wraps, as Triton's own launcher has it."""
    if kind in _INTEGERS:
        size = int(_INTEGERS[kind][1])
        bits = int(value) & ((1 << size * 8) - 1)
        return np.array(bits, f"u{size}").view(np.dtype(_INTEGERS[kind]))[()]
    return _bfloat16(float(value)) if kind == "bf16" else _FLOATS[kind](value)


def _pointer(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, Memory):
        return value.argument
    if isinstance(value, int):
        return strata.lang.pointer(value, "uint8") if value else None
    raise strata.UsageError(
        f"[strata.triton] {type(value).__name__} as a pointer: give a tensor of Strata, a NumPy array, "
        f"or a torch tensor on the CPU"
    )


def _flat(value: Any, kind: Any) -> Iterator[Any]:
    """The arguments of the code object that one of the function's makes."""
    if kind == "constexpr":
        return
    if isinstance(kind, tuple):
        for part, of in zip(value, kind, strict=True):
            yield from _flat(part, of)
    elif kind.startswith("*"):
        yield _pointer(value)
    elif kind.startswith("tensordesc"):  # base, sizes and strides, padding, rounding; then sizes and strides again
        sizes = [np.int32(size) for size in value.shape]
        steps = [np.int64(step) for step in value.strides]
        flags = [np.uint8(value.padding == "nan"), np.uint8(getattr(value, "round_f32_to_tf32", False))]
        yield from (_pointer(value.base), *map(np.int64, value.shape), *steps, *flags, *sizes, *steps)
    else:
        yield _number(value, kind)


class Launcher:
    """Runs a compiled function; Triton makes one for each."""

    def __init__(self, source: Any, metadata: Any) -> None:
        self._signature = tuple(source.signature.values())
        self._scratch = (metadata.global_scratch_size, metadata.profile_scratch_size)
        self._threads = metadata.num_warps * metadata.warp_size

    def _scratches(self, grid: tuple[int, int, int], device: str) -> list[Any]:
        """Memory beyond the arguments: of the launch, then of a profile."""
        blocks = grid[0] * grid[1] * grid[2]
        return [
            strata.Tensor(np.zeros(size * blocks, np.uint8), device=device).realize() if size else None
            for size in self._scratch
        ]

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: Any,
        function: Any,
        packed: Any,
        metadata: Any,
        on_enter: Any,
        on_exit: Any,
        *args: Any,
    ) -> None:
        if 0 in (x, y, z):
            return
        if on_enter is not None:
            on_enter(metadata)
        flat = [made for value, kind in zip(args, self._signature, strict=True) for made in _flat(value, kind)]
        function(flat + self._scratches((x, y, z), function.device), (x, y, z), self._threads)
        if on_exit is not None:
            on_exit(metadata)


class Function:
    """A kernel of a code object on a device."""

    def __init__(self, name: str, image: bytes, shared: int, device: str, check: str | None) -> None:
        self._kernel = strata.asm_kernel(image, name=name, lds=shared)
        self._settings: dict[str, Any] = {"device": device} | ({"check": check} if check else {})
        self.device = device

    def __call__(self, args: list[Any], grid: tuple[int, int, int], threads: int) -> None:
        with strata.config(**self._settings):
            self._kernel(*args, grid=grid, block=threads)
            if "check" in self._settings:
                strata.synchronize()  # findings belong to the launch that they are of


def resources(image: bytes, name: str) -> tuple[int, int]:
    """Vector registers of a kernel, and how many words of scratch its lanes have, which is what spilled."""
    pattern = rf"^kernel {re.escape(name)}: (\d+) vgprs, .*?(\d+) bytes of scratch"
    found = re.search(pattern, strata.asm.disassemble(image), re.MULTILINE)
    return (int(found[1]), int(found[2]) // 4) if found else (0, 0)
