"""Models of ONNX as functions of tensors, through the package onnx.

    model = strata.onnx.load("resnet50.onnx")
    logits = model(x)                      # inputs in their order, or by name
    print(model.inputs, model.outputs, model.weights.keys())

Operators are rows of strata/onnx/operators.py; a model that needs others is refused with their names. What a model computes of shapes
alone is computed on the host when it is called, so that a call is one lazy graph, which strata.jit takes too.
"""

import functools
import math
import os
from typing import Any, NamedTuple

import numpy

from .._strata import ArgumentError, DTypeError, Error, ShapeError, Tensor, Unsupported, UsageError
from .operators import GROWING, HOST, KNOWN, OPERATORS, OTHER_NAMES

__all__ = ["Model", "load"]
LARGEST_ON_HOST = 1 << 22  # elements


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
    try:
        return Model(model, device)
    except Error:
        raise
    except Exception as e:  # of what the package itself takes for granted
        raise UsageError(f"[onnx] this is no model: {type(e).__name__}: {str(e)[:300]}") from None


def _value(array, device):
    """Floats are tensors; integers, of which shapes are made, stay on the host until they meet one."""
    name = OTHER_NAMES.get(array.dtype.name, array.dtype.name)
    if name in ("bfloat16", *OTHER_NAMES.values()):  # which NumPy has from elsewhere
        return Tensor(array.view(f"u{array.dtype.itemsize}"), device=device).bitcast(name)
    return Tensor(array, device=device) if array.dtype.kind not in "iub" else array


def _weight(proto, device):
    if proto.data_location == proto.EXTERNAL:
        raise UsageError(f"[onnx] the weight '{proto.name}' is in a file beside the model: load the model by its file's name")
    try:
        if min(proto.dims, default=0) < 0:
            raise ValueError(f"its shape is {tuple(proto.dims)}")
        return _value(_package().numpy_helper.to_array(proto), device)
    except Exception as e:  # sizes that are not those of the bytes, types that are not there
        raise UsageError(f"[onnx] the weight '{proto.name}' cannot be read: {type(e).__name__}: {str(e)[:300]}") from None


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


def _step(node, version, parts):
    """parts: the node's graphs by name."""
    row = OPERATORS[node.op_type]
    known, attributes = (), parts
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
    try:
        return [numpy.asarray(x) for x in _evaluator(step.proto, version).run(None, given)]
    except Exception as e:  # the evaluator checks little
        shapes = ", ".join(str(x.shape) for x in inputs if x is not None)
        raise UsageError(f"[onnx] {step.kind} '{step.name}' cannot be computed of {shapes or 'nothing'}: {type(e).__name__}: {str(e)[:300]}") from None


def _too_large(step, inputs):
    """Whether arrays may come of them that the host should not make: then they are lazy tensors."""
    sizes = [max(x.size, 1) for x in inputs if x is not None]
    if step.kind in ("Expand", "Tile"):
        sizes.extend(max(abs(int(n)), 1) for n in inputs[1].reshape(-1))
    return step.kind not in HOST and (step.kind in GROWING or math.prod(sizes) > LARGEST_ON_HOST)


def _filled(step, inputs, device):
    """ConstantOfShape and Range of more elements than the host should make."""
    if step.kind == "ConstantOfShape" and math.prod(int(n) for n in inputs[0].reshape(-1)) > LARGEST_ON_HOST:
        node = _package().NodeProto.FromString(step.proto)
        value = _package().numpy_helper.to_array(node.attribute[0].t).reshape(-1)[0] if node.attribute else numpy.float32(0)
        return Tensor(value, device=device).expand([int(n) for n in inputs[0].reshape(-1)])
    if step.kind == "Range" and abs((float(inputs[1]) - float(inputs[0])) / (float(inputs[2]) or 1)) > LARGEST_ON_HOST:
        return Tensor.arange(inputs[0].item(), inputs[1].item(), inputs[2].item(), dtype=inputs[0].dtype.name, device=device)
    return None


class _Graph:
    """The nodes of a model, or of a branch of an If, in the order in which they can be computed; checked before any is."""

    def __init__(self, graph, version, device, outside=frozenset()):
        if graph.sparse_initializer:
            raise Unsupported("[onnx] weights that are kept sparse: save them dense")
        self.version, self.device, self.outputs = version, device, [row.name for row in graph.output]
        self.weights = {row.name: _weight(row, device) for row in graph.initializer}
        seen = {"", *outside, *self.weights, *(row.name for row in graph.input)}
        self.steps = []
        for node in graph.node:
            if not all(isinstance(name, str) for name in (*node.input, *node.output, *(a.name for a in node.attribute))):
                raise UsageError(f"[onnx] {node.op_type} '{node.name}' has names that are not in UTF-8")
            missing = next((name for name in node.input if name not in seen), None)
            if missing is not None:
                raise UsageError(f"[onnx] {node.op_type} '{node.name}' takes '{missing}', which nothing before it gives: nodes stand in the order in which they are computed")
            parts = {a.name: _Graph(a.g, version, device, seen) for a in node.attribute if a.HasField("g")}
            if node.op_type == "If" and parts.keys() != {"then_branch", "else_branch"}:
                raise UsageError(f"[onnx] If '{node.name}' has no then_branch and else_branch")
            if twice := next((name for name in node.output if name and name in seen), None):
                raise UsageError(f"[onnx] {node.op_type} '{node.name}' gives '{twice}', which is there already")
            seen |= {*node.output}
            step = _step(node, version, parts)
            if step.kind != "Constant":
                self.steps.append(step)
            elif node.attribute and node.attribute[0].HasField("t"):
                self.weights[step.outputs[0]] = _weight(node.attribute[0].t, device)
            else:
                self.weights[step.outputs[0]] = _value(_on_host(step, [], version)[0], device)
        if missing := [name for name in self.outputs if name not in seen]:
            raise UsageError(f"[onnx] nothing gives the output {', '.join(missing)}")

    def run(self, values):
        """Its outputs; values by name, those of the graphs around too, become more."""
        values |= self.weights
        for step in self.steps:
            inputs = [_found(values, name) for name in step.inputs]
            try:
                found = self.computed(step, inputs, values)
            except (TypeError, ValueError, IndexError, AttributeError, KeyError, OverflowError, ArgumentError) as e:
                if isinstance(e, Error) and not isinstance(e, ArgumentError | ShapeError | DTypeError):
                    raise
                raise Unsupported(f"[onnx] {step.kind} '{step.name}' with {len(inputs)} inputs and {', '.join(step.attributes) or 'no attributes'}: {e}") from e
            values.update(zip(step.outputs, found if isinstance(found, (tuple, list)) else (found,)))
        return [_found(values, name) for name in self.outputs]

    def computed(self, step, inputs, values):
        on_host = not any(isinstance(x, Tensor) for x in inputs)
        if step.kind == "If":
            return step.attributes["then_branch" if bool(inputs[0].item()) else "else_branch"].run(dict(values))
        if step.row is None and step.kind != "Shape" and not on_host:
            raise Unsupported(f"[onnx] {step.kind} '{step.name}' of values that are computed: of shapes and constants it is there")
        if step.row is None or on_host and not _too_large(step, inputs):
            filled = _filled(step, inputs, self.device)
            return _on_host(step, inputs, self.version) if filled is None else filled
        inputs = [x if x is None or known else _tensor(x, self.device) for x, known in zip(inputs, step.known)]
        return step.row(*inputs, **step.attributes)


def _nodes(graph):
    for node in graph.node:
        yield node
        for a in node.attribute:
            if a.HasField("g"):
                yield from _nodes(a.g)


class Model:
    """What load gives: a function of tensors.

    inputs: name -> shape, with None or a text for sizes that the model leaves open. outputs: their names. weights: tensors, or
    NumPy's arrays of integers, by name; who changes one changes the model.
    """

    def __init__(self, model, device=""):
        if not model.graph.output:
            raise UsageError("[onnx] this is no model: it has no outputs")
        if model.functions:
            try:
                from onnx import inliner

                model = inliner.inline_local_functions(model)
            except Exception as e:
                raise UsageError(f"[onnx] the model's own functions cannot be put in place: {type(e).__name__}: {e}") from None
        missing = sorted({f"{n.domain}.{n.op_type}".removeprefix("ai.onnx.").lstrip(".") for n in _nodes(model.graph) if n.domain not in ("", "ai.onnx") or n.op_type not in OPERATORS})
        if missing:
            raise Unsupported(f"[onnx] operators that are not there: {', '.join(missing)}. Rows of strata/onnx/operators.py are there")
        version = next((row.version for row in model.opset_import if row.domain in ("", "ai.onnx")), 1)
        self._device, self._graph = device, _Graph(model.graph, version, device)
        self.weights, self.outputs = self._graph.weights, self._graph.outputs
        self.inputs = {row.name: self._shape(row) for row in model.graph.input if row.name not in self.weights}

    @staticmethod
    def _shape(row):
        sizes = row.type.tensor_type.shape.dim
        return tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in sizes)

    def __repr__(self):
        return f"<Model of {len(self._graph.steps)} nodes: {', '.join(f'{n} {s}' for n, s in self.inputs.items())} -> {', '.join(self.outputs)}>"

    def __call__(self, *given, **named):
        """The output, or a tuple of them. Inputs are tensors or what Tensor takes, of any sizes that the model's operators take."""
        values = dict(zip(self.inputs, given)) | named
        if len(given) > len(self.inputs) or values.keys() != self.inputs.keys():
            raise UsageError(f"[onnx] the model takes {', '.join(self.inputs)}; given are {len(given)} in order and {', '.join(named) or 'none'} by name")
        values = {name: x if isinstance(x, Tensor) else Tensor(x, device=self._device) for name, x in values.items()} | {"": None}
        out = tuple(_tensor(x, self._device) for x in self._graph.run(values))
        return out[0] if len(out) == 1 else out


def _found(values, name):
    if name not in values:
        raise Unsupported(f"[onnx] '{name}' is a further result of an operator that has its first here alone")
    return values[name]


def _tensor(value, device):
    return value if isinstance(value, Tensor) else Tensor(value, device=device)
