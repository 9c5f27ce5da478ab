"""strata.compile by what it is given: functions, tensors, kernels."""

from __future__ import annotations

from .. import _strata
from .._strata import CustomKernel, Tensor, UsageError
from .artifact import Artifact, of_compiled
from .function import trace
from .spec import Spec


def archs_of(arch) -> list[str]:
    """Names of architectures, each once, as given; "" is the default device's."""
    archs = [arch] if isinstance(arch, str) else list(arch) if isinstance(arch, (list, tuple)) else []
    if not archs or not all(isinstance(name, str) for name in archs) or len(archs) > 1 and "" in archs:
        raise UsageError(
            f"[compile] arch is {arch!r}: the name of an architecture, such as 'gfx1100', or a list of them"
        )
    return list(dict.fromkeys(name or _strata.device_properties(_strata.default_device())["arch"] for name in archs))


def not_compiled(what) -> UsageError:
    return UsageError(
        f"[compile] takes a function of tensors, a Tensor, several, or a kernel (hip_kernel, asm_kernel), "
        f"not a {type(what).__name__}"
    )


def of_custom_kernel(kernel, archs, name) -> Artifact:
    """A kernel alone: its code, without operands."""
    compiled = {arch: _strata._compile_kernel(kernel, arch) for arch in archs}
    return of_compiled(archs, compiled, name=name or kernel.name, target=_strata._target())


def of_kernel(kernel, arguments, grid, block, arch, name) -> Artifact:
    """A function under @strata.kernel for these arguments."""
    from ..lang import TensorSpec

    given = tuple(TensorSpec(x.shape, x.dtype) if isinstance(x, Spec) else x for x in arguments)
    archs = [arch] if isinstance(arch, str) else archs_of(arch)
    compiled = {one: kernel.artifact(given, grid, block, one) for one in archs}
    if archs == [""]:
        compiled = {_strata.device_properties(_strata.default_device())["arch"]: compiled[""]}
    return of_compiled(list(compiled), compiled, name=name or kernel.__name__, target=_strata._target())


def of_tensors(tensors, archs, name, samples) -> Artifact:
    """The graphs of tensors: all memory that they read is an input."""
    if samples:
        raise UsageError("[compile] samples=True is for a function and samples of its parameters")
    compiled = {arch: _strata._compile(tensors, arch) for arch in archs}
    return of_compiled(
        archs, compiled, name=name, target=_strata._target(), returns="tensor" if len(tensors) == 1 else "tuple"
    )


def _called(kernel):
    """A kernel of the user's as a function: the tensors that it writes."""

    def call(*arguments):
        tensors = [x for x in arguments if isinstance(x, Tensor)]
        if not tensors:
            raise UsageError(f"[compile] there is no sample of a tensor that {kernel.name} writes")
        if not isinstance(arguments[0], Tensor):
            raise UsageError(f"[compile] the first sample of {kernel.name} is the tensor that it writes")
        return arguments[0].custom_kernel(*arguments[1:], kernel=kernel)

    call.__name__ = kernel.name
    return call


def of_function(function, given, archs, name, samples) -> Artifact:
    """A function of tensors, by samples of its parameters."""
    is_kernel = isinstance(function, CustomKernel)
    traced = trace(_called(function) if is_kernel else function, given)
    compiled, constants, graph = _strata._compile_function(
        traced.results, traced.inputs, traced.outputs, traced.numbers, archs
    )
    title = name or getattr(function, "name" if is_kernel else "__name__", type(function).__name__)
    artifact = of_compiled(
        archs,
        dict(zip(archs, compiled)),
        constants=constants,
        graph=graph,
        values=[value for _, _, value in traced.numbers],
        arguments=traced.arguments,
        returns=traced.returns,
        name="" if title == "<lambda>" else title,
        target=_strata._target(),
    )
    if samples:
        from .samples import keep

        keep(artifact, given)
    return artifact
