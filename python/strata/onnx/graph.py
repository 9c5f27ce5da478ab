"""The nodes of a model in the order in which they are computed."""

import functools
import inspect
from typing import Any, NamedTuple

import numpy

from .._strata import ArgumentError, DTypeError, Error, ShapeError, Tensor, Unsupported, UsageError, _capturing
from . import host
from .control import CONTROL
from .operators import KNOWN, MOVES, NARROW_ROWS, OPERATORS
from .values import NARROW, Declared, Narrow, array_type_of, as_array, to_tensor

WITHOUT_MEANING = {"consumed_inputs"}  # attributes of the first versions, for runtimes that reuse memory


def package():
    try:
        import onnx
    except ImportError:
        raise Unsupported("[onnx] models of ONNX are read through the package onnx: pip install onnx") from None
    return onnx


def kind_of(node):
    """The name of its row: of the operators of ONNX itself without a domain."""
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"


def weight(proto, device):
    """(the weight, its array). Floats are tensors; integers, of which shapes are made, stay on the host until they meet
    one.
    """
    if proto.data_location == proto.EXTERNAL:
        raise UsageError(
            f"[onnx] the weight '{proto.name}' is in a file beside the model: load the model by its file's name"
        )
    try:
        if min(proto.dims, default=0) < 0:
            raise ValueError(f"its shape is {tuple(proto.dims)}")
        array = package().numpy_helper.to_array(proto)
        return array if array.dtype.kind in "iub" or array.dtype.name in NARROW else to_tensor(array, device), array
    except Exception as e:  # sizes that are not those of the bytes, types that are not there
        raise UsageError(
            f"[onnx] the weight '{proto.name}' cannot be read: {type(e).__name__}: {str(e)[:300]}"
        ) from None


class Step(NamedTuple):
    """A node, as a call needs it."""

    kind: str
    name: str
    inputs: tuple
    outputs: tuple
    row: Any
    attributes: dict
    known: tuple  #: of each input: whether the row takes it as the host knows it
    proto: bytes


def _parameters(row):
    """(names of inputs, names of attributes) that a row takes; none of a method of tensors."""
    try:
        given = inspect.signature(row).parameters.values()
    except (TypeError, ValueError):
        return (), ()
    return tuple(p.name for p in given if p.kind == p.POSITIONAL_OR_KEYWORD), tuple(
        p.name for p in given if p.kind == p.KEYWORD_ONLY
    )


def _plain(attribute):
    """A number, a text, a list of them or an array."""
    value = package().helper.get_attribute_value(attribute)
    if isinstance(value, package().TensorProto):
        return package().numpy_helper.to_array(value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return [v.decode() if isinstance(v, bytes) else v for v in value]
    return value if isinstance(value, int | float) else None


PARAMETERS = {kind: _parameters(row) for kind, row in OPERATORS.items()} | dict.fromkeys(CONTROL, ((), ("version",)))


def _step(node, version, device, parts):
    """parts: the node's graphs by name."""
    outputs = list(node.output)
    while outputs and not outputs[-1]:
        outputs.pop()
    kind = kind_of(node)
    row = OPERATORS[kind]
    names, asked = PARAMETERS[kind]
    known = tuple(i < len(names) and names[i] in KNOWN for i in range(len(node.input)))
    attributes = {
        a.name: _plain(a) for a in node.attribute if a.name not in parts and a.name not in WITHOUT_MEANING
    } | parts
    attributes |= {
        name: value
        for name, value in {"version": version, "count": len(outputs), "device": device}.items()
        if name in asked
    }
    return Step(kind, node.name, tuple(node.input), tuple(outputs), row, attributes, known, node.SerializeToString())


class Graph:
    """The nodes of a model, or of a branch or a loop's body; checked before any is computed."""

    def __init__(self, graph, version, device, outside=frozenset()):
        if graph.sparse_initializer:
            raise Unsupported("[onnx] weights that are kept sparse: save them dense")
        self.version, self.device = version, device
        self.inputs, self.outputs = [row.name for row in graph.input], [row.name for row in graph.output]
        self.types = [Declared.of(row.type) for row in graph.output]
        self.weights, self.small, self.values = {}, {}, {}
        for row in graph.initializer:
            self._hold(row.name, *weight(row, device))
        seen = {"", *outside, *self.weights, *self.inputs}
        self.steps = []
        for node in graph.node:
            self._add(node, seen)
        if missing := [name or "without a name" for name in self.outputs if name not in seen or not name]:
            raise UsageError(f"[onnx] nothing gives the output {', '.join(missing)}")

    def _hold(self, name, value, array):
        """A weight; of small ones of floats what the host knows, and of which value it is that."""
        self.weights[name] = value
        if isinstance(value, Tensor) and value.size <= host.LARGEST_KNOWN:
            self.small[name], self.values[name] = hash(value.uop), array

    def _add(self, node, seen):
        if not all(isinstance(name, str) for name in (*node.input, *node.output, *(a.name for a in node.attribute))):
            raise UsageError(f"[onnx] {node.op_type} '{node.name}' has names that are not in UTF-8")
        missing = next((name for name in node.input if name not in seen), None)
        if missing is not None:
            raise UsageError(
                f"[onnx] {node.op_type} '{node.name}' takes '{missing}', which nothing before it gives: "
                f"nodes stand in the order in which they are computed"
            )
        parts = {a.name: Graph(a.g, self.version, self.device, seen) for a in node.attribute if a.HasField("g")}
        wanted = {
            "If": ("then_branch", "else_branch"),
            "Loop": ("body",),
            "Scan": ("body",),
            "SequenceMap": ("body",),
        }.get(node.op_type, ())
        if not parts.keys() >= {*wanted}:
            raise UsageError(f"[onnx] {node.op_type} '{node.name}' has no {' and '.join(wanted)}")
        if twice := next((name for name in node.output if name and name in seen), None):
            raise UsageError(f"[onnx] {node.op_type} '{node.name}' gives '{twice}', which is there already")
        seen |= {*node.output}
        if kind_of(node) == "Constant" and node.output and node.attribute and node.attribute[0].HasField("t"):
            self._hold(node.output[0], *weight(node.attribute[0].t, self.device))
            return
        step = _step(node, self.version, self.device, parts)
        if step.kind != "Constant" or not step.outputs:
            self.steps.append(step)
        else:
            array = host.evaluated(step, [], self.version)[0]
            self._hold(step.outputs[0], array if array.dtype.kind in "iub" else to_tensor(array, self.device), array)

    def run(self, scope):
        """Its outputs; the values by name, those of the graphs around too, become more."""
        scope.update(self.weights)
        scope.known |= {name: functools.partial(self._now, name) for name in self.small}
        for step in self.steps:
            inputs = [found(scope, name) for name in step.inputs]
            try:
                result = self.computed(step, inputs, scope)
            except Exception as e:  # of what rows take for granted
                if isinstance(e, Error) and not isinstance(e, ArgumentError | ShapeError | DTypeError):
                    raise
                raise Unsupported(
                    f"[onnx] {step.kind} '{step.name}' with {len(inputs)} inputs and "
                    f"{', '.join(step.attributes) or 'no attributes'}: {e}"
                ) from e
            results = result if isinstance(result, tuple) else (result,)
            for name, value in zip(step.outputs, results):
                if name:
                    scope.known.pop(name, None)
                    scope[name] = value
            self._remember(step, inputs, scope)
        return [found(scope, name) for name in self.outputs]

    def _now(self, name):
        """A weight as the host knows it: while a function is captured, which reads no tensor, as it was when it was
        loaded.
        """
        weight = self.weights[name]
        return self.values[name] if _capturing() and hash(weight.uop) == self.small[name] else as_array(weight)

    def computed(self, step, inputs, scope):
        if step.kind in CONTROL:
            return CONTROL[step.kind](step, inputs, scope)
        if all(x is None or isinstance(x, numpy.ndarray) for x in inputs) and host.can_evaluate(step, inputs):
            return tuple(host.evaluated(step, inputs, self.version))
        given = []
        for name, x, known in zip(step.inputs, inputs, step.known):
            if known:
                array = scope.on_host(name)
                given.append(as_array(x) if array is None else array)
            else:
                given.append(to_tensor(x, self.device))
        narrow = [x.kind for x in given if isinstance(x, Narrow)]
        if not narrow or step.kind in NARROW_ROWS:
            return step.row(*given, **step.attributes)
        if step.kind not in MOVES:
            raise Unsupported(f"[onnx] {step.kind} '{step.name}' of {narrow[0]}: Cast and DequantizeLinear take it")
        return Narrow(
            step.row(*(x.tensor if isinstance(x, Narrow) else x for x in given), **step.attributes), narrow[0]
        )

    def _remember(self, step, inputs, scope):
        """The host knows values computed of small weights as well, where a shape is made of them."""
        if len(step.outputs) != 1 or not isinstance(scope.get(step.outputs[0]), Tensor):
            return
        if step.kind == "CastLike" and scope.is_known(step.inputs[0]):  # the other is known by its type
            made, kind = (
                scope.known.get(step.inputs[0], functools.partial(scope.get, step.inputs[0])),
                array_type_of(scope[step.outputs[0]]),
            )
            scope.known[step.outputs[0]] = functools.cache(lambda: made().astype(kind))
            return
        if (
            step.kind not in host.BOUNDED
            or not inputs
            or not all(
                x is None or scope.is_known(name) and x.size <= host.LARGEST_KNOWN
                for name, x in zip(step.inputs, inputs)
            )
        ):
            return
        made = [scope.known.get(name, functools.partial(scope.get, name)) for name in step.inputs]
        scope.known[step.outputs[0]] = functools.cache(
            lambda: host.evaluated(step, [f() for f in made], self.version)[0]
        )


def found(scope, name):
    if name not in scope:
        raise Unsupported(f"[onnx] '{name}' is a further result of an operator that has fewer here")
    return scope[name]
