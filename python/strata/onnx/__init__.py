"""Models of ONNX as functions of tensors, through the package onnx.

    model = strata.onnx.load("resnet50.onnx")
    logits = model(x)                      # inputs in their order, or by name
    print(model.inputs, model.outputs, model.weights.keys())

Operators are rows of strata/onnx/operators; a model that needs others is refused with their names (docs/onnx.md lists
all). Values that a model computes of shapes alone are computed on the host when it is called. A call is therefore one
lazy graph, which strata.jit takes too.
"""

from __future__ import annotations

import os

from .._checks import show
from .._files import open_regular
from .._strata import Error, Tensor, Unsupported, UsageError
from . import functions
from .graph import Graph, kind_of, package
from .operators import OPERATORS
from .values import NARROW, Declared, Narrow, Scope, to_tensor, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["Model", "load"]


def load(model: Any, device: str = "") -> Model:
    """A Model of a file's name, of its bytes, or of an onnx.ModelProto.

    Unsupported names all operators of it that are not there, with the types of layers that need them; UsageError for
    what is no model.
    """
    onnx = package()
    if not isinstance(model, onnx.ModelProto):
        try:
            if not isinstance(model, bytes):
                open_regular(model).close()
            model = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(os.fspath(model))
        except FileNotFoundError:
            raise UsageError(f"[onnx] {model}: there is no such file") from None
        except Exception as e:  # of protobuf, and of files beside the model
            raise UsageError(f"[onnx] this is no model: {type(e).__name__}: {e}") from None
    try:
        return Model(model, device)
    except Error:
        raise
    except Exception as e:  # of what the package itself takes for granted
        raise UsageError(f"[onnx] this is no model: {type(e).__name__}: {str(e)[:300]}") from None


def _nodes(graph):
    for node in graph.node:
        yield node
        for a in node.attribute:
            if a.HasField("g"):
                yield from _nodes(a.g)


class Model:
    """The result of load: a function of tensors.

    inputs: name -> shape, with None or a text for sizes that the model leaves open. outputs: their names. weights:
    tensors, or NumPy's arrays of integers, by name; who changes one changes the model.
    """

    def __init__(self, model: Any, device: str = "") -> None:
        if not model.graph.output:
            raise UsageError("[onnx] this is no model: it has no outputs")
        if model.functions:
            model = functions.inlined(model)
        missing = sorted({kind_of(n) for n in _nodes(model.graph)} - OPERATORS.keys())
        if missing:
            raise Unsupported(
                f"[onnx] operators that are not there: {', '.join(missing)}. docs/onnx.md lists those that are"
            )
        version = next((row.version for row in model.opset_import if row.domain in ("", "ai.onnx")), 1)
        self._device, self._graph = device, Graph(model.graph, version, device)
        self.weights, self.outputs = self._graph.weights, self._graph.outputs
        given = [row for row in model.graph.input if row.name not in self.weights]
        self.inputs = {row.name: self._shape(row) for row in given}
        self._types = {row.name: Declared.of(row.type) for row in given}

    @staticmethod
    def _shape(row):
        sizes = row.type.tensor_type.shape.dim
        return tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in sizes)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{n} {s}" for n, s in self.inputs.items())
        return f"<Model of {len(self._graph.steps)} nodes: {inputs} -> {', '.join(self.outputs)}>"

    def __call__(self, *given: Any, **named: Any) -> Any:
        """The output, or a tuple of them. Inputs are tensors or what Tensor takes, of any sizes that the model's
        operators take; lists of them for sequences, None for optional ones. Types of 2 and 4 bits are values in int8,
        uint8 and float16."""
        values = dict(zip(self.inputs, given)) | named
        if len(given) > len(self.inputs) or values.keys() != self.inputs.keys():
            raise UsageError(
                f"[onnx] the model takes {', '.join(self.inputs)}; given are {len(given)} in order and "
                f"{', '.join(named) or 'none'} by name"
            )
        values = {name: self._given(name, x) for name, x in values.items()} | {"": None}
        out = tuple(self._result(x) for x in self._graph.run(Scope(values)))
        return out[0] if len(out) == 1 else out

    def _given(self, name, value):
        kind = self._types[name]
        if value is None:
            return None
        if kind.is_sequence:
            return [to_tensor(x, self._device) for x in value]
        value = to_tensor(value, self._device)
        narrow = type_name(kind.element) if kind.element and isinstance(value, Tensor) else ""
        return Narrow(value, narrow) if narrow in NARROW else value

    def _result(self, value):
        if isinstance(value, list):
            return [self._result(x) for x in value]
        value = to_tensor(value, self._device)
        return value.tensor if isinstance(value, Narrow) else value


show(globals())
