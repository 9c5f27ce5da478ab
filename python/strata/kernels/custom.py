"""Kernels of the user's and compilation without running."""

from __future__ import annotations

from .. import _strata
from .._checks import show
from .._strata import CustomKernel, Tensor, UsageError

TYPE_CHECKING = False  # importing typing takes longer than the rest of the package
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike
    from typing import Any, Literal

    from .._types import Sizes
    from ..artifacts import Artifact
    from ..asm import Assembler
    from ..lang._kernel import Kernel as LangKernel

    Results = Tensor | Sequence[Tensor] | dict[str, Tensor]


def device_arch() -> str:
    """The architecture of the default device: "gfx1100" of "emu:gfx1100", and of "amd:0" where its card is one."""
    return _strata.device_properties(_strata.default_device())["arch"]


def hip_kernel(
    source: str | bytes | PathLike[str] = "",
    *,
    name: str = "",
    grid: Sizes | None = None,
    block: Sizes | None = None,
    lds: int = 0,
    options: Sequence[str] = (),
    path: str | PathLike[str] | None = None,
) -> CustomKernel:
    """A kernel from HIP source, which may include hip/hip_runtime.h; it compiles on first use.

    source: the text, or a pathlib.Path of a file, as path= is: quoted includes are then looked for beside it, and
    errors name it. name: a symbol or what C++ calls the kernel: "scale", "scale<float, 4>" (which is instantiated),
    "scale(float*, int)"; not needed where the source has one kernel. grid: workgroups, block: threads of a workgroup,
    each an int or up to three; what is not given here is said by the launch. lds: dynamic LDS bytes. options: compiler
    options such as -O1 or -DN=4. Raises LaunchError; using it raises CompileError with file:line:column in the source.
    """
    import os

    if path is None and isinstance(source, os.PathLike):
        path, source = source, ""
    if (path is None) == (not source):
        raise _strata.UsageError("[hip_kernel] give the source's text, or path= of its file")
    what: Any = source if path is None else os.fsencode(path)
    return _strata._hip_kernel(what, name, grid, block, lds, list(options), path is not None)


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

    source: LLVM-syntax text, a strata.asm.Assembler, or code object bytes. Text may be instructions and labels alone.
    Then name and args (each a pointer "x", or a value of a type "n:int32") make it a kernel, and its resources are
    counted. It finds a workgroup id for each dimension of the grid (s2, s3, s4; gfx1201: ttmp9, ttmp7). Text may also
    be a whole file with .amdhsa_kernel and .amdgpu_metadata directives. name: which kernel of the code object; not
    needed when it has one. arch: "gfx1100", ...; the default device's when empty; an Assembler knows its own. grid:
    workgroups, block: threads of a workgroup, each an int or up to three. An Assembler may have set both, and a launch
    may give them. lds: dynamic LDS bytes. Raises AssemblyError with file, line and column, LaunchError.
    """
    from .. import asm

    if isinstance(source, str) and ".amdhsa_kernel" not in source:
        text, source = source, asm.Assembler(arch or device_arch(), name=name or "kernel", block=block, grid=grid)
        for argument in args:
            label, _, value = argument.partition(":")
            if not value:
                source.argument(label)
            elif hasattr(_strata.dtypes, value):
                source.argument(label, kind="by_value", size=getattr(_strata.dtypes, value).itemsize)
            else:
                raise _strata.UsageError(
                    f"[asm_kernel] args: '{argument}': expected a pointer's name, "
                    f"or a value's with its type such as 'n:int32'"
                )
        source.emit_text(text)
    if isinstance(source, asm.Assembler):
        arch = arch or source.arch
        grid = source.grid if grid is None else grid
        block = source.block if block is None else block
        image = source.finish(grid)
    elif isinstance(source, (bytes, bytearray)):
        image = bytes(source)
    else:
        image = asm.assemble(source, arch or device_arch())
    return _strata._object_kernel(image, name, grid, block, lds)


def compile(
    what: Callable[..., Results] | Tensor | Iterable[Tensor] | CustomKernel | LangKernel,
    *arguments: object,
    arch: str | Sequence[str] = "",
    target: Literal["auto", "hip", "asm"] | None = None,
    name: str = "",
    samples: bool = False,
    grid: Sizes | Callable[..., Sizes] | None = None,
    block: Sizes | Callable[..., Sizes] | None = None,
) -> Artifact:
    """Schedules and compiles a function of tensors, tensors, or a kernel, and runs nothing.

    Returns an Artifact: called with tensors it computes what the function does; .save(path) keeps it for machines
    without a compiler. A function's arguments= are samples, one a parameter. For a strata.Spec or a tensor each call
    gives a tensor of that shape and type. For a NumPy number it gives a number. Python's numbers and texts stay.
    Tensors that the function reads besides are constants. A kernel of hip_kernel or asm_kernel takes such samples too.

    .source, .assembly, .code_object and .kernels[i].{name, grid, block, buffers, vgprs, sgprs, lds, scratch} say what
    was compiled. A kernel takes one address a buffer, in the order of .buffers, (name, dtype, elements): out<i> it
    writes, in<i> it reads, results first. What one kernel writes and a later one reads is a buffer of both. Where
    out<last> is an int32 counter of a last block it holds one 0 before a launch, which leaves it so. .operands are the
    buffers of all kernels, and .arguments which of them each kernel takes. Without a compiler for the target "hip"
    there is .source alone; .code_object, .assembly and resources then raise DeviceError.

    arch: "gfx1100", ..., or several; the default device's when empty. target: "hip" through clang, "asm" directly; that
    of the settings when not given. name: of the artifact; the function's when empty. samples: keep values of the
    samples and of the results on the emulator of each arch, for `strata repro`. For a function under @strata.kernel,
    arguments= are those of a call, for which lang.TensorSpec or strata.Spec may stand, and grid=, block= its launch.
    The Artifact of such a function has .graph and .cache_key, and serves launches of later processes. Raises
    CompileError, Unsupported, UsageError.
    """
    from ..artifacts import build

    given: Any = {"target": target} if target else {}
    of: Any = what
    if hasattr(what, "chosen"):
        with _strata.config(**given):
            return build.of_kernel(of, arguments, grid, block, arch, name)
    if grid is not None or block is not None:
        raise UsageError(f"[compile] a {type(what).__name__} takes no grid or block: they are for @strata.kernel")
    is_kernel, is_tensors = isinstance(what, CustomKernel), isinstance(what, Tensor) or hasattr(type(what), "__iter__")
    if is_tensors or is_kernel and all(isinstance(argument, str) for argument in arguments):
        if len(arguments) > 2:
            raise UsageError(
                f"[compile] a {type(what).__name__} takes no arguments: they are samples of a function's parameters"
            )
        named: Any = (*arguments, *(arch, target)[len(arguments) :])
        arch, target = named
        given, arguments = {"target": target} if target else {}, ()
    archs = build.archs_of(arch)
    if is_tensors and not isinstance(what, Tensor):
        of = list(of)
        if not of or not all(isinstance(t, Tensor) for t in of):
            raise build.not_compiled(what)
    with _strata.config(**given):
        if is_kernel and not arguments:
            return build.of_custom_kernel(of, archs, name)
        if is_tensors:
            return build.of_tensors([of] if isinstance(of, Tensor) else of, archs, name, samples)
        if not is_kernel and not callable(what):
            raise build.not_compiled(what)
        return build.of_function(of, arguments, archs, name, samples)


__all__ = ["asm_kernel", "compile", "hip_kernel"]
show(globals())
