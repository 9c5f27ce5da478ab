"""Operators with graphs of their own. Branches and loops are followed when a call is made, by values that are known
then or are computed for it.
"""

import numpy

from .. import _strata
from .._strata import Tensor, Unsupported
from .values import array_type, as_array, to_tensor

MOST_PARTS = 1 << 16  # of one tensor, each a tensor of its own


def _truth(scope, name, value):
    known = scope.on_host(name) if name is not None else None
    return bool(numpy.asarray(as_array(value) if known is None else known).reshape(-1)[0])


def branch(step, inputs, scope):
    taken = step.attributes["then_branch" if _truth(scope, step.inputs[0], inputs[0]) else "else_branch"]
    return tuple(taken.run(scope.inner()))


def _called(body, given, scope, name):
    """(results, their scope) of a body for these values."""
    if len(given) != len(body.inputs):
        raise Unsupported(f"[onnx] {name}: its body takes {len(body.inputs)} values, given are {len(given)}")
    scope.spend(len(body.steps) + 1, name)
    inner = scope.inner()
    for key, value in zip(body.inputs, given):
        inner.known.pop(key, None)
        inner[key] = value
    return body.run(inner), inner


def _empty(kind, name):
    """The collected result of no turns: empty, by its declared type."""
    if kind.is_sequence or None in kind.sizes:
        raise Unsupported(f"[onnx] {name}: of no turns, with results whose sizes the model does not say")
    return numpy.zeros((0, *kind.sizes), array_type(kind.element))


def joined(parts, axis, new=True):
    """Arrays as an array, otherwise as a tensor."""
    if all(isinstance(x, numpy.ndarray) for x in parts):
        return (numpy.stack if new else numpy.concatenate)(parts, axis)
    device = next(x.device for x in parts if isinstance(x, Tensor))
    return (_strata.stack if new else _strata.cat)([to_tensor(x, device) for x in parts], axis)


def loop(step, inputs, scope):
    body, name = step.attributes["body"], f"Loop '{step.name}'"
    most = inputs[0]
    if most is not None:
        known = scope.on_host(step.inputs[0])
        most = int(numpy.asarray(as_array(most) if known is None else known).reshape(-1)[0])
    going = inputs[1] is None or _truth(scope, step.inputs[1], inputs[1])
    carried, count, turn = list(inputs[2:]), len(inputs) - 2, 0
    collected = [[] for _ in body.outputs[1 + count :]]
    while going and (most is None or turn < most):
        out, inner = _called(body, [numpy.array(turn, numpy.int64), numpy.array(True), *carried], scope, name)
        carried = out[1 : 1 + count]
        for row, value in zip(collected, out[1 + count :]):
            row.append(value)
        turn += 1
        if most is None or turn < most:
            going = _truth(inner, body.outputs[0], out[0])
    kinds = body.types[1 + count :]
    return *carried, *(joined(row, 0) if row else _empty(kind, name) for row, kind in zip(collected, kinds))


def scan(step, inputs, scope):
    """Scan from version 9 on; version 8 has a batch, and lengths in front of the states."""
    given = dict(step.attributes)
    body, count, name = given["body"], given["num_scan_inputs"], f"Scan '{step.name}'"
    if step.attributes["version"] < 9:
        return _scan_of_batches(step, inputs, scope, body, count, name)
    return _scanned(
        body,
        inputs,
        count,
        scope,
        name,
        *(given.get(f"scan_{way}_{what}") for what in ("axes", "directions") for way in ("input", "output")),
    )


def _scanned(body, inputs, count, scope, name, in_axes=None, out_axes=None, backward=None, out_backward=None):
    states, rows = list(inputs[: len(inputs) - count]), inputs[len(inputs) - count :]
    axes = [axis % x.ndim for axis, x in zip(in_axes or [0] * count, rows)]
    turns = {x.shape[axis] for x, axis in zip(rows, axes)}
    if len(turns) != 1:
        raise Unsupported(f"[onnx] {name}: {sorted(turns)} elements in turn: all inputs have as many")
    turns = turns.pop()
    collected = [[] for _ in body.outputs[len(states) :]]
    for turn in range(turns):
        at = [turns - 1 - turn if back else turn for back in backward or [0] * count]
        out, _ = _called(
            body, [*states, *(x[(slice(None),) * axis + (i,)] for x, axis, i in zip(rows, axes, at))], scope, name
        )
        states = out[: len(states)]
        for row, value in zip(collected, out[len(states) :]):
            row.append(value)
    kinds = body.types[len(states) :]
    out = []
    for i, (row, kind) in enumerate(zip(collected, kinds)):
        row = row[::-1] if out_backward and out_backward[i] else row
        out.append(joined(row, out_axes[i] if out_axes else 0) if row else _empty(kind, name))
    return *states, *out


def _scan_of_batches(step, inputs, scope, body, count, name):
    if inputs[0] is not None:
        raise Unsupported(f"[onnx] {name} of version 8 with lengths of sequences")
    inputs, backward = inputs[1:], step.attributes.get("directions")
    parts = [
        _scanned(body, [x[i] for x in inputs], count, scope, name, backward=backward) for i in range(inputs[0].shape[0])
    ]
    return tuple(joined(list(column), 0) for column in zip(*parts))


def sequence_map(step, inputs, scope):
    body, name = step.attributes["body"], f"SequenceMap '{step.name}'"
    columns = [x if isinstance(x, list) else None for x in inputs]
    out = [
        _called(body, [x if row is None else row[i] for x, row in zip(inputs, columns)], scope, name)[0]
        for i in range(len(inputs[0]))
    ]
    return tuple(map(list, zip(*out))) if out else tuple([] for _ in body.outputs)


CONTROL = {"If": branch, "Loop": loop, "Scan": scan, "SequenceMap": sequence_map}

# Sequences are lists, optional values None or what they hold.


def sequence_at(row, position):
    return row[int(position.reshape(-1)[0])]


def sequence_insert(row, value, position=None):
    at = len(row) if position is None else int(position.reshape(-1)[0])
    if not -len(row) <= at <= len(row):
        raise IndexError(f"place {at} of {len(row)} elements")
    at += len(row) if at < 0 else 0
    return [*row[:at], value, *row[at:]]


def sequence_erase(row, position=None):
    at = len(row) - 1 if position is None else int(position.reshape(-1)[0])
    row[at]
    return [x for i, x in enumerate(row) if i != at % len(row)]


def concat_from_sequence(row, *, axis, new_axis=0):
    return joined(row, axis, bool(new_axis))


def split_to_sequence(x, split=None, *, axis=0, keepdims=1):
    n = x.shape[axis]
    if n > MOST_PARTS and (split is None or split.ndim == 0 and n // max(int(split), 1) > MOST_PARTS):
        raise Unsupported(f"[onnx] SplitToSequence of {n} elements: {MOST_PARTS} parts are the most")
    if split is None:
        parts = x.split([1] * n, axis)
        return list(parts) if keepdims else [part.squeeze([axis]) for part in parts]
    if split.ndim == 0:
        size = int(split)
        if size < 1:
            raise ValueError(f"parts of {size} elements")
        split = [size] * (n // size) + [n % size] * (n % size > 0)
    return list(x.split([int(i) for i in split], axis))


def optional_has_element(x=None):
    return numpy.array(x is not None)


def optional_get_element(x):
    if x is None:
        raise ValueError("it holds nothing")
    return x


def sequence_length(row):
    return numpy.array(len(row), numpy.int64)


SEQUENCES = {
    "ConcatFromSequence": concat_from_sequence, "Optional": lambda x=None, *, type=None: x,
    "OptionalGetElement": optional_get_element, "OptionalHasElement": optional_has_element, "SequenceAt": sequence_at,
    "SequenceConstruct": lambda *x: list(x),
    "SequenceEmpty": lambda *, dtype=1: [], "SequenceErase": sequence_erase, "SequenceInsert": sequence_insert,
    "SequenceLength": sequence_length, "SplitToSequence": split_to_sequence,
}  # fmt: skip
