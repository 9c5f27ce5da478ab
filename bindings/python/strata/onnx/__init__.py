"""Models of ONNX as functions of tensors, through the package onnx.

    model = strata.onnx.load("resnet50.onnx")
    logits = model(x)                      # inputs in their order, or by name
    print(model.inputs, model.outputs, model.weights.keys())

Operators are rows of strata/onnx/operators.py; a model that needs others is refused with their names. What a model computes of shapes
alone is computed on the host when it is called, so that a call is one lazy graph, which strata.jit takes too.
"""

import functools
import os
from typing import Any, NamedTuple

import numpy

from .._strata import ArgumentError, Tensor, Unsupported, UsageError
from .operators import KNOWN, OPERATORS

__all__ = ["Model", "load"]


def _package():
    try:
        import onnx
    except ImportError:
        raise Unsupported("[onnx] models of ONNX are read through the package onnx: pip install onnx") from None
    return onnx


def load(model, device=""):
    """A Model of a file's name, of its bytes, or of an onnx.ModelProto.

    Unsupported names all operators of it that are not there, with the types of layers that need them; UsageError for what is no
    model.
    """
    onnx = _package()
    if not isinstance(model, onnx.ModelProto):
        try:
            model = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(os.fspath(model))
        except FileNotFoundError:
            raise UsageError(f"[onnx] {model}: there is no such file") from None
        except Exception as e:  # of protobuf, and of files beside the model
            raise UsageError(f"[onnx] this is no model: {type(e).__name__}: {e}") from None
    return Model(model, device)


def _value(array, device):
    """Floats are tensors; integers, of which shapes are made, stay on the host until they meet one."""
    return Tensor(array, device=device) if array.dtype.kind not in "iub" else array


class _Step(NamedTuple):
    """A node, as a call needs it."""

    kind: str
    name: str
    inputs: tuple
    outputs: tuple
    row: Any
    attributes: dict
    known: tuple  #: of each input: whether the row takes it as the host knows it
    proto: bytes


def _step(node, version):
    row = OPERATORS[node.op_type]
    known, attributes = (), {}
    if row is not None:
        names = row.__code__.co_varnames[: row.__code__.co_argcount] if hasattr(row, "__code__") else ()
        known = tuple(i < len(names) and names[i] in KNOWN for i in range(len(node.input)))
        attributes = {a.name: _package().helper.get_attribute_value(a) for a in node.attribute}
        attributes = {name: value.decode() if isinstance(value, bytes) else value for name, value in attributes.items()}
        asked = getattr(row, "__kwdefaults__", None) or {}
        attributes |= {name: value for name, value in {"version": version, "count": len(node.output)}.items() if name in asked}
    return _Step(node.op_type, node.name, tuple(node.input), tuple(node.output), row, attributes, known, node.SerializeToString())


@functools.lru_cache(maxsize=1024)
def _evaluator(proto, version):
    """The package's own, of one node."""
    from onnx import NodeProto, TypeProto, helper, reference

    node = NodeProto.FromString(proto)
    inputs, outputs = ([helper.make_value_info(name, TypeProto()) for name in names if name] for names in (node.input, node.output))
    graph = helper.make_graph([node], "host", inputs, outputs)
    return reference.ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)]))


def _on_host(step, inputs, version):
    if step.kind == "Shape":
        inputs = [numpy.broadcast_to(numpy.int8(0), x.shape) for x in inputs]
    given = {name: x for name, x in zip(step.inputs, inputs) if name}
    return [numpy.asarray(x) for x in _evaluator(step.proto, version).run(None, given)]


class Model:
    """What load gives: a function of tensors.

    inputs: name -> shape, with None or a text for sizes that the model leaves open. outputs: their names. weights: tensors, or
    NumPy's arrays of integers, by name; who changes one changes the model.
    """

    def __init__(self, model, device=""):
        onnx = _package()
        graph = model.graph
        missing = sorted({f"{n.domain}.{n.op_type}".removeprefix("ai.onnx.").lstrip(".") for n in graph.node if n.domain not in ("", "ai.onnx") or n.op_type not in OPERATORS})
        if missing:
            raise Unsupported(f"[onnx] operators that are not there: {', '.join(missing)}. Rows of strata/onnx/operators.py are there")
        self._version = next((row.version for row in model.opset_import if row.domain in ("", "ai.onnx")), 1)
        self._device = device
        self.weights = {row.name: _value(onnx.numpy_helper.to_array(row), device) for row in graph.initializer}
        steps = [_step(node, self._version) for node in graph.node]
        self.weights |= {step.outputs[0]: _value(_on_host(step, [], self._version)[0], device) for step in steps if step.kind == "Constant"}
        self._steps = [step for step in steps if step.kind != "Constant"]
        self.inputs = {row.name: self._shape(row) for row in graph.input if row.name not in self.weights}
        self.outputs = [row.name for row in graph.output]

    @staticmethod
    def _shape(row):
        sizes = row.type.tensor_type.shape.dim
        return tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in sizes)

    def __repr__(self):
        return f"<Model of {len(self._steps)} nodes: {', '.join(f'{n} {s}' for n, s in self.inputs.items())} -> {', '.join(self.outputs)}>"

    def __call__(self, *given, **named):
        """The output, or a tuple of them. Inputs are tensors or what Tensor takes, of any sizes that the model's operators take."""
        values = dict(zip(self.inputs, given)) | named
        if len(given) > len(self.inputs) or values.keys() != self.inputs.keys():
            raise UsageError(f"[onnx] the model takes {', '.join(self.inputs)}; given are {len(given)} in order and {', '.join(named) or 'none'} by name")
        values = {name: x if isinstance(x, Tensor) else Tensor(x, device=self._device) for name, x in values.items()} | self.weights | {"": None}
        for step in self._steps:
            found = self._computed(step, [self._found(values, name) for name in step.inputs])
            values.update(zip(step.outputs, found if isinstance(found, (tuple, list)) else (found,)))
        out = tuple(_tensor(self._found(values, name), self._device) for name in self.outputs)
        return out[0] if len(out) == 1 else out

    @staticmethod
    def _found(values, name):
        if name not in values:
            raise Unsupported(f"[onnx] '{name}' is a further result of an operator that has its first here alone")
        return values[name]

    def _computed(self, step, inputs):
        if step.row is None and step.kind != "Shape" and any(isinstance(x, Tensor) for x in inputs):
            raise Unsupported(f"[onnx] {step.kind} '{step.name}' of values that are computed: of shapes and constants it is there")
        if step.row is None or not any(isinstance(x, Tensor) for x in inputs):
            return _on_host(step, inputs, self._version)
        inputs = [x if x is None or known else _tensor(x, self._device) for x, known in zip(inputs, step.known)]
        try:
            return step.row(*inputs, **step.attributes)
        except (TypeError, ArgumentError) as e:
            raise Unsupported(f"[onnx] {step.kind} '{step.name}' with {len(inputs)} inputs and {', '.join(step.attributes) or 'no attributes'}: {e}") from e


def _tensor(value, device):
    return value if isinstance(value, Tensor) else Tensor(value, device=device)
