"""Kernels of the user's and compilation without running."""

from collections.abc import Iterable, Sequence
from typing import Literal

from ._strata import Artifact, CustomKernel, Tensor
from ._types import Sizes
from .asm import Assembler

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
    .amdhsa_kernel and .amdgpu_metadata directives. name: which kernel of the code object; not needed when it has one. arch:
    "gfx1100", ...; an Assembler knows its own. grid: workgroups, block: threads of a workgroup, each an int or up to three;
    an Assembler may have set both. lds: dynamic LDS bytes. Raises AssemblyError with file, line and column, LaunchError.
    """

def compile(what: Tensor | Iterable[Tensor] | CustomKernel, arch: str = "", target: Literal["hip", "asm"] = "hip") -> Artifact:
    """Schedules and compiles a tensor, several tensors, or a kernel, and runs nothing.

    arch: "gfx1100", ...; the default device's when empty. Raises CompileError, Unsupported (target "asm" in this version).
    """
