"""Strata: lazy tensors for AMD GPUs, from tensor expressions down to machine instructions, with an emulated GPU built
in.

    from strata import Tensor
    x = Tensor.randn(1 << 18)
    print(x.sum().item())

Operations on a Tensor build a graph; realize, item, numpy and tolist schedule, compile and run it. A kernel of your own
(hip_kernel, asm_kernel) is called with tensors and numbers. Such a kernel, or a function that builds a strata.uop
graph, joins a lazy expression through Tensor.custom_kernel.
"""

import sys as _sys


def _refuse_other_interpreters():
    """Before the extension is loaded, which would wait for ever for the main interpreter's lock."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # of Python 3.13 on, and of those before
        try:
            interpreters = __import__(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError("strata is of the main interpreter alone: import it there, or start a process of its own")
        return


_refuse_other_interpreters()

from . import _strata  # noqa: E402
from ._strata import (  # noqa: E402
    ArgumentError,
    AssemblyError,
    CheckError,
    CompileError,
    CustomKernel,
    DeviceError,
    DType,
    DTypeError,
    Error,
    Event,
    InternalError,
    LaunchError,
    MemoryFault,
    ShapeError,
    Stats,
    Stream,
    Tensor,
    Unsupported,
    UsageError,
    broadcast_shapes,
    cat,
    complex,
    config,
    current_stream,
    default_device,
    device_properties,
    devices,
    dtypes,
    emulator,
    functional,
    gradients,
    manual_seed,
    promote,
    realize,
    reset_stats,
    settings,
    stack,
    stats,
    uop,
    where,
)

for _name in ("dtypes", "emulator", "functional", "operations", "uop"):
    _sys.modules[f"strata.{_name}"] = getattr(_strata, _name)

from .dtypes import (  # noqa: E402
    bool,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Before operations, whose forms are others. Type checkers read the lists of names that are written out.
    from ._namespace.creation import *
    from ._namespace.gathers import *
    from ._namespace.inspection import *
    from ._namespace.movement import *
    from ._namespace.products import *
    from ._namespace.searching import *
    from ._namespace.statistics import *

from .operations import *  # type: ignore[assignment]  # noqa: E402, F403

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import artifacts, asm, fft, lang, layout, linalg, nn, onnx, optim, plan, triton
    from ._derivatives import checkpoint, custom_gradient, grad, jvp, no_grad, value_and_grad, vjp
    from ._explain import explain
    from ._jit import jit
    from ._profile import profile
    from .artifacts import Artifact, Spec
    from .files import load, save
    from .kernels import asm_kernel, compile, hip_kernel
    from .lang._arch import arch
    from .lang._autotune import Config, autotune
    from .lang._kernel import kernel
    from .linalg import cross, diagonal, norm, outer, trace
del TYPE_CHECKING

# Modules that are imported when they are first named, and names that are imported with their module when they first
# are. All others that are not here come from _namespace.
_MODULES = (
    "artifacts",
    "asm",
    "fft",
    "files",
    "kernels",
    "lang",
    "layout",
    "linalg",
    "nn",
    "onnx",
    "optim",
    "plan",
    "triton",
)
_MEMBERS = {
    **dict.fromkeys(("cross", "diagonal", "norm", "outer", "trace"), "linalg"),
    **dict.fromkeys(("load", "save"), "files"),
    **dict.fromkeys(("checkpoint", "custom_gradient", "grad", "jvp", "no_grad", "value_and_grad", "vjp"),
                    "_derivatives"),
    **dict.fromkeys(("asm_kernel", "compile", "hip_kernel"), "kernels.custom"), "explain": "_explain", "jit": "_jit",
    "kernel": "lang._kernel",
    **dict.fromkeys(("autotune", "Config"), "lang._autotune"), "arch": "lang._arch",
    "profile": "_profile", **dict.fromkeys(("Artifact", "Spec"), "artifacts"),
    "__array_namespace_info__": "_namespace.inspection",
}  # fmt: skip
newaxis = None
# Operations whose form in the array API is another one, that of _namespace.
_OTHER_FORMS = ("full_like", "nonzero", "ones_like", "pad", "searchsorted", "squeeze", "tril", "triu", "zeros_like")
for _name in _OTHER_FORMS:
    del globals()[_name]


def _imported(name):
    """The public object of a name that was not used before; None where there is none."""
    from importlib import import_module

    if name in _MODULES:
        return import_module(f".{name}", __name__)
    names = import_module(f".{_MEMBERS.get(name, '_namespace')}", __name__)
    if name in _MEMBERS or name in names.__all__:
        globals()[name] = getattr(names, name)
        return globals()[name]


def _when_called(module, name):
    """The function of a module of the package that is imported at the first call."""
    function = None

    def call(*given, **named):
        nonlocal function
        if function is None:
            from importlib import import_module

            function = getattr(import_module(f".{module}", __name__), name)
        return function(*given, **named)

    return call


# Functions that the extension calls, by the names of package.def.
_strata._register_package(
    _sys.modules[__name__],
    {
        "call_meant": _when_called("_hints", "call"),
        "called": _when_called("_checks", "called"),
        "of_kernel": _when_called("_derivatives", "of_kernel"),
        "is_package": _when_called("_places", "is_package"),
        "place_of": _when_called("_places", "place_of"),
        **{name: _when_called("linalg", name) for name in ("outer", "cross", "diagonal", "trace", "norm")},
    },
)


def _everything():
    """Imports all that is public."""
    from ._namespace import __all__ as standard

    for name in (*_MODULES, *_MEMBERS, *standard):
        if name not in globals():
            _imported(name)


def _names(owner, of, table):
    """A __getattr__ for names that are not there: those of other packages and misspelt ones."""

    def missing(*asked):
        name = asked[-1]
        if name.startswith("_"):  # protocols that Python and NumPy look for
            raise AttributeError(f"{owner} has no '{name}'", name=name)
        from . import _hints

        return _hints.missing(owner, dir(of), getattr(_hints, table), name)

    return missing


def synchronize(device=""):
    """Returns once all that this thread gave the current stream of a device (by default the default one) is done.
    Raises what went wrong there."""
    current_stream(device).synchronize()


def _array_function(self, function, types, given, named):
    from . import _numpy

    return _numpy.function(function, given, named)


def _array_ufunc(self, function, method, *given, **named):
    from . import _numpy

    return _numpy.universal(function, method, given, named)


def _repr_html(self):
    from . import _html

    return _html.shown(self)


def _delitem(self, place):
    """__delitem__(self, place) -> Never"""
    raise UsageError(
        f"[del] a tensor of shape {self.shape} keeps its elements: make another one, x[mask] or strata.cat([x[:i], "
        f"x[i + 1 :]])"
    )


Tensor.__delitem__ = _delitem  # type: ignore[attr-defined]
Tensor.__array_function__, Tensor.__array_ufunc__, Tensor._repr_html_ = _array_function, _array_ufunc, _repr_html  # type: ignore[attr-defined]
Tensor.__getattr__ = _names("Tensor", Tensor, "TENSOR")  # type: ignore[attr-defined]
# For Tensor.name itself.
Tensor.__class__ = type("TensorType", (type(Tensor),), {"__getattr__": Tensor.__getattr__})  # type: ignore
uop.UOp.__getattr__ = _names("UOp", uop.UOp, "UOP")  # type: ignore[attr-defined]
uop.__getattr__ = _names("strata.uop", uop, "UOP")  # type: ignore[method-assign]
dtypes.__getattr__ = _names("strata.dtypes", dtypes, "DTYPES")  # type: ignore[method-assign]
_missing = _names("strata", _sys.modules[__name__], "PACKAGE")


def __getattr__(name):
    if (name in _MEMBERS or not name.startswith("_")) and (found := _imported(name)) is not None:
        return found
    return _missing(name)


def __dir__():
    _everything()
    return sorted(globals())


__version__ = "0.1.0"
__array_api_version__ = "2024.12"
__all__ = [
    "ArgumentError",
    "Artifact",
    "AssemblyError",
    "CheckError",
    "CompileError",
    "CustomKernel",
    "DType",
    "DTypeError",
    "DeviceError",
    "Error",
    "Event",
    "InternalError",
    "LaunchError",
    "MemoryFault",
    "ShapeError",
    "Spec",
    "Stats",
    "Stream",
    "Tensor",
    "Unsupported",
    "UsageError",
    "artifacts",
    "asm",
    "asm_kernel",
    "broadcast_shapes",
    "cat",
    "checkpoint",
    "compile",
    "complex",
    "config",
    "cross",
    "current_stream",
    "custom_gradient",
    "default_device",
    "device_properties",
    "devices",
    "diagonal",
    "dtypes",
    "emulator",
    "explain",
    "fft",
    "functional",
    "grad",
    "gradients",
    "hip_kernel",
    "jit",
    "jvp",
    "linalg",
    "load",
    "manual_seed",
    "nn",
    "no_grad",
    "norm",
    "onnx",
    "optim",
    "outer",
    "plan",
    "profile",
    "promote",
    "realize",
    "reset_stats",
    "result_type",
    "save",
    "settings",
    "stack",
    "stats",
    "synchronize",
    "trace",
    "uop",
    "value_and_grad",
    "vjp",
    "where",
]
