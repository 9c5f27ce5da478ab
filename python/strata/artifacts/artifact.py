"""Artifact: the kernels of a function or of tensors by architecture, with what a call must know of them."""

from __future__ import annotations

import threading

import numpy as np

from .. import _strata
from .._checks import shown
from .._strata import DeviceError, DTypeError, ShapeError, Tensor, UsageError
from .spec import Operand, order_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .._strata import ArtifactKernel, DType, uop
    from .._types import FileName


class Artifact:
    """The result of strata.compile: kernels in order, with their sources, assembly and code objects, by architecture.

    a(*arguments) runs it on the device of its first tensor, and gives new tensors. It compiles nothing, and threads may
    call it at once. a.save(path) and Artifact.load(path) keep it for machines without a compiler. What has kernels
    describes the first architecture of .archs.
    """

    def __init__(self, parts: Mapping[str, Any]) -> None:
        self._archs = tuple(parts["archs"])
        self._compiled, self._executables = parts.get("compiled", {}), dict(parts.get("executables", {}))
        self._constants, self._described = parts.get("constants", []), parts.get("described")
        self._arguments, self._returns = parts.get("arguments"), parts.get("returns", "tuple")
        self._target, self._samples = parts.get("target", ""), None
        self._expected: dict[str, dict[str, str]] = {}
        self._name, self._key, self._graph = parts.get("name", ""), parts.get("key"), parts.get("graph")
        self._files, self._values = parts.get("files", {}), parts.get("values", [])
        self._loaded: dict[str, Any] = {}
        self._lock = threading.Lock()

    # Kernels of the first architecture.

    @property
    def _first(self):
        return self._compiled.get(self._archs[0])

    @property
    def _saved(self):
        """The first architecture in the manifest of a loaded artifact."""
        return self._interface()["targets"][self._archs[0]]

    @property
    def archs(self) -> tuple[str, ...]:
        """Architectures that it has code for."""
        return self._archs

    @property
    def name(self) -> str:
        """As it was given to strata.compile, else the function's."""
        return self._name

    @property
    def kernels(self) -> list[ArtifactKernel]:
        """In order of execution."""
        if self._first:
            return self._first.kernels
        kernels = self._executable(self._archs[0]).kernels
        return [kernels[step["kernel"]] for step in self._interface()["steps"][self._archs[0]] if "kernel" in step]

    @property
    def operands(self) -> list[tuple[str, DType, int]]:
        """Memory that the kernels read and write: (name, dtype, elements). Of tensors in<i> is there before the first
        kernel, out<i> is the i-th tensor afterwards; work<i> is between kernels. [] for a kernel of the user's.
        """
        if self._first:
            return self._first.operands
        return [(name, _strata.DType(dtype), elements) for name, dtype, elements in self._saved["operands"]]

    @property
    def arguments(self) -> list[list[str]]:
        """For each kernel the names of the operands whose addresses it takes, in the order of its .buffers; "" is a
        counter of its own.
        """
        return self._first.arguments if self._first else self._saved["arguments"]

    @property
    def workspace_size(self) -> int:
        """Bytes of memory that a call needs besides its operands, on the architecture that needs most."""
        if not self._is_callable:
            return self._first.workspace_size
        return max(self._executable(arch).workspace for arch in self._archs)

    @property
    def source(self) -> str:
        """HIP text of all kernels."""
        if self._first:
            return self._first.source
        text = ""
        for kernel in self.kernels:
            text += ("\n" if text else "") + kernel.source
        return text

    @property
    def assembly(self) -> str:
        """Listings of all kernels."""
        if self._first:
            return self._first.assembly
        return self._files[f"code/{self._archs[0]}.s"].decode()

    @property
    def code_object(self) -> bytes:
        """One with all kernels, by their names; .kernels[i].code_object has each alone.

        Raises Unsupported where one of several is hip_kernel's or asm_kernel's.
        """
        if self._first:
            return self._first.code_object
        objects = dict.fromkeys(kernel["object"] for kernel in self._saved["kernels"])
        if len(objects) > 1:
            raise _strata.Unsupported("no one object has all kernels: .kernels[i].code_object has each alone")
        return self._files[next(iter(objects))] if objects else b""

    @property
    def from_cache(self) -> bool:
        """Whether all machine code of it was in a cache, in memory or on disk, or in a file."""
        return all(compiled.from_cache for compiled in self._compiled.values())

    @property
    def cache_key(self) -> str:
        """The key of a kernel under @strata.kernel in the cache; "" of anything else."""
        return self._first.cache_key if self._first else ""

    @property
    def graph(self) -> uop.UOp | dict[str, Any] | None:
        """The traced graph of a kernel under @strata.kernel or of UOps, a strata.uop.UOp. Of a function its graph as
        strata.uop.to_dict writes it: its buffers are the inputs, then the constants, then the numbers. None of anything
        else, and where a kernel of the user's runs.
        """
        return self._first.graph if self._first and self._graph is None else self._graph

    @property
    def key(self) -> str:
        """A hash of everything that decides what a call computes: equal in all processes."""
        if self._key is None:
            from .saving import key_of

            self._key = key_of(self)
        return self._key

    # Operands of a call.

    @property
    def _is_callable(self):
        return not self._first or bool(self._first.operands) or bool(self._arguments)

    def _executable(self, arch):
        with self._lock:
            if arch not in self._executables:
                self._executables[arch] = self._compiled[arch].executable()
            return self._executables[arch]

    def _interface(self):
        """The operands as the manifest has them."""
        if self._described is None:
            import json

            self._described = json.loads(self._executable(self._archs[0]).interface)
        return self._described

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """Operands that a call is given, in order."""
        if not self._is_callable:
            return ()
        described = self._interface()
        tensors = {row["name"]: _operand(row) for row in described["inputs"]}
        numbers = {row["name"]: _number(row) for row in described["numbers"]}
        every = {**tensors, **numbers}
        return tuple(every[name] for name in (self._arguments or every))

    @property
    def outputs(self) -> tuple[Operand, ...]:
        """Operands that a call gives, in order."""
        return tuple(map(_operand, self._interface()["outputs"])) if self._is_callable else ()

    # Running it.

    def __call__(self, *arguments: Any) -> Any:
        """The results of the function, as new tensors: one, or a tuple, list or dict, as the function gave them.

        arguments: tensors of the shapes and types of .inputs, and numbers. Raises UsageError, ShapeError, DTypeError
        where one does not fit, and DeviceError where there is no code for the device.
        """
        inputs = self.inputs
        if not self._is_callable:
            raise UsageError("[Artifact] a kernel alone has no operands: call the kernel, or compile a function of it")
        if len(arguments) != len(inputs):
            missing = [operand.name for operand in inputs[len(arguments) :]]
            raise UsageError(
                f"[Artifact] {self._title} takes {len(inputs)} arguments, {len(arguments)} were given"
                + (f"; {', '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing" if missing else "")
            )
        tensors: list[Tensor] = []
        numbers: list[float] = []
        for operand, value in zip(inputs, arguments):
            (numbers if operand.shape is None else tensors).append(self._argument(operand, value))  # type: ignore
        device = next((t.device for t in tensors), _strata.default_device())
        results = self._on(device).run(tensors, numbers)
        return self._returned(results)

    @property
    def _title(self):
        return f"'{self._name}'" if self._name else "the artifact"

    def _argument(self, operand, value):
        if operand.shape is None:
            is_number = isinstance(value, (bool, int, float, np.number, np.bool_)) and not isinstance(value, complex)
            if not is_number:
                raise UsageError(f"[Artifact] '{operand.name}' is {shown(value)}: a number ({operand.dtype.name})")
            return value.item() if isinstance(value, np.generic) else value
        if isinstance(value, np.ndarray):
            value = Tensor(value)
        if not isinstance(value, Tensor):
            raise UsageError(f"[Artifact] '{operand.name}' is {shown(value)}: a tensor of {operand.dtype.name}")
        if value.dtype != operand.dtype:
            raise DTypeError(
                f"[Artifact] '{operand.name}' is of {value.dtype.name}, and {self._title} was compiled for "
                f"{operand.dtype.name}: give tensor.cast('{operand.dtype.name}')"
            )
        if tuple(value.shape) != operand.shape:
            raise ShapeError(
                f"[Artifact] '{operand.name}' has shape {tuple(value.shape)}, and {self._title} was compiled for "
                f"{operand.shape}"
            )
        order = order_of(operand.shape, operand.strides)
        return value if order == tuple(range(len(order))) else value.permute(*order)

    def _on(self, device):
        """The executable that is loaded there."""
        with self._lock:
            loaded = self._loaded.get(device)
        if loaded:
            return loaded
        arch = _strata.device_properties(device)["arch"]
        if arch not in self._archs:
            raise DeviceError(
                f"[Artifact] {self._title} has code for {', '.join(self._archs)}, and the device {device} is {arch}: "
                f"compile it with arch= of that too, or run it on a device that it has code for"
            )
        made = self._executable(arch).load(self._constants, device)
        with self._lock:
            return self._loaded.setdefault(device, made)

    def _returned(self, results):
        if self._returns == "tensor":
            return results[0]
        if self._returns == "dict":
            return dict(zip((operand.name for operand in self.outputs), results))
        return results if self._returns == "list" else tuple(results)

    # Files.

    def save(self, path: FileName) -> None:
        """Writes a folder, or one file where the path ends in .strata. Equal artifacts are equal bytes. Replaces an
        artifact that is there. UsageError for a folder that is none.
        """
        from .container import save
        from .saving import files_of

        save(path, files_of(self))

    @staticmethod
    def load(path: FileName) -> Artifact:
        """The artifact that save() wrote. Nothing is compiled, and none of its code runs on the host. Raises
        UsageError, which names the file that is wrong.
        """
        from .loading import load

        return load(path)

    def __repr__(self) -> str:
        return f"<Artifact {self._name or ''} of {len(self.kernels)} kernels for {', '.join(self._archs)}>"


def _operand(row):
    return Operand(
        row["name"], _strata.DType(row["dtype"]), tuple(row["shape"]), tuple(row["strides"]), row["alignment"]
    )


def _number(row):
    dtype = _strata.DType(row["dtype"])
    return Operand(row["name"], dtype, None, None, dtype.itemsize)


def of_compiled(archs: Sequence[str], compiled: Mapping[str, Any], **parts: Any) -> Artifact:
    """The Artifact over what was compiled for each architecture."""
    return Artifact({"archs": archs, "compiled": compiled, **parts})
