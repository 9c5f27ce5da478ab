"""Kernels of the user's and compilation without running."""

from __future__ import annotations

from . import _strata
from ._strata import Artifact, CustomKernel, Tensor

TYPE_CHECKING = False  # importing typing takes longer than the rest of the package
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Literal

    from ._types import Sizes
    from .asm import Assembler


def device_arch() -> str:
    """The architecture of the default device: "gfx1100" of "emu:gfx1100"."""
    return _strata.default_device().split(":")[1]


def asm_kernel(
    source: str | Assembler | bytes | bytearray,
    *,
    name: str = "",
    arch: str = "",
    args: Sequence[str] = (),
    grid: Sizes | None = None,
    block: Sizes | None = None,
    lds: int = 0,
) -> CustomKernel:
    """A kernel from assembly, for custom_kernel(kernel=...).

    source: LLVM-syntax text, a strata.asm.Assembler, or code object bytes. Text may be instructions and labels alone: then
    name and args (a name for each pointer) make it a kernel and its resources are counted; or a whole file with
    .amdhsa_kernel and .amdgpu_metadata directives.
    name: which kernel of the code object; not needed when it has one. arch: "gfx1100", ...; the default device's when empty; an
    Assembler knows its own.
    grid: workgroups, block: threads of a workgroup, each an int or up to three; an Assembler may have set both.
    lds: dynamic LDS bytes. Raises AssemblyError with file, line and column, LaunchError.
    """
    from . import asm

    if isinstance(source, str) and ".amdhsa_kernel" not in source:
        text, source = source, asm.Assembler(arch or device_arch(), name=name or "kernel", block=block, grid=grid)
        for argument in args:
            source.argument(argument)
        source.emit_text(text)
    if isinstance(source, asm.Assembler):
        arch = arch or source.arch
        grid = source.grid if grid is None else grid
        block = source.block if block is None else block
        image = source.finish()
    elif isinstance(source, (bytes, bytearray)):
        image = bytes(source)
    else:
        image = asm.assemble(source, arch or device_arch())
    if grid is None or block is None:
        raise _strata.UsageError("asm_kernel needs grid= and block= (workgroups, and threads of a workgroup)")
    return _strata._object_kernel(image, name, grid, block, lds)


def compile(what: Tensor | Iterable[Tensor] | CustomKernel, arch: str = "", target: Literal["hip"] = "hip") -> Artifact:
    """Schedules and compiles a tensor, several tensors, or a kernel, and runs nothing.

    Returns an Artifact: .source, .assembly, .code_object and .kernels[i].{name, grid, block, vgprs, sgprs, lds, scratch}.
    arch: "gfx1100", ...; the default device's when empty. Raises CompileError, Unsupported.
    """
    with _strata.config(target=target):
        if isinstance(what, CustomKernel):
            return _strata._compile_kernel(what, arch)
        return _strata._compile([what] if isinstance(what, Tensor) else list(what), arch)
