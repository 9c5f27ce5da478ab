"""Traces a function of tensors: samples in, the graph of its results out."""

from __future__ import annotations

import inspect
from typing import NamedTuple

import numpy as np

from .. import _strata
from .._checks import called, shown
from .._closure import Closure
from .._strata import DTypeError, Tensor, UsageError
from .spec import Spec, order_of

_CONSTANTS = (bool, int, float, complex, str, type(None))


def is_argument(sample) -> bool:
    """Does each call give a value for this sample?"""
    return not isinstance(sample, _CONSTANTS) or isinstance(sample, np.generic)


class Traced(NamedTuple):
    """A function's graph over stand-ins of its arguments."""

    arguments: tuple[str, ...]  # that each call gives, in order
    inputs: list  # (tensor over its buffer, name, shape, strides)
    numbers: list  # (name, dtype, value when compiled)
    outputs: list[str]
    results: list[Tensor]
    returns: str  # "tensor", "tuple", "list" or "dict"


def _parameters(function, samples):
    """(name, sample) of each parameter that has one."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [(f"x{i}", sample) for i, sample in enumerate(samples)]
    left, found = list(samples), []
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            found += [(f"{p.name}{i}", sample) for i, sample in enumerate(left)]
            left = []
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and left:
            found.append((p.name, left.pop(0)))
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.default is p.empty:
            raise UsageError(
                f"[compile] there is no sample for the parameter '{p.name}' of {name}: give a strata.Spec, a tensor "
                f"or a number"
            )
    if left:
        raise UsageError(f"[compile] {name} takes {len(found)} samples, {len(samples)} were given")
    return found


def _stand_in(name, spec):
    """(a tensor in the order of its memory, the same as the function sees it)."""
    if spec.dtype.name.startswith("complex"):
        raise DTypeError(f"[compile] '{name}' is {spec.dtype.name}: give the real and the imaginary part")
    order = order_of(spec.shape, spec.strides)
    memory = _strata._unplaced([spec.shape[axis] for axis in order], spec.dtype)
    back = [order.index(axis) for axis in range(len(order))]
    return memory, memory if back == sorted(back) else memory.permute(*back)


def _results(name, value):
    """(how they are returned, names, tensors)."""
    if isinstance(value, Tensor):
        return "tensor", ["out0"], [value]
    if type(value) in (tuple, list) and value and all(isinstance(t, Tensor) for t in value):
        return type(value).__name__, [f"out{i}" for i in range(len(value))], list(value)
    if type(value) is dict and value and all(isinstance(t, Tensor) for t in value.values()):
        if not all(isinstance(key, str) and key for key in value):
            raise UsageError(f"[compile] {name} returns a dict whose keys are no names: {shown(list(value))}")
        return "dict", list(value), list(value.values())
    raise UsageError(
        f"[compile] {name} returns {shown(value)}: a compiled function returns a tensor, or a tuple, list or dict of "
        f"them"
    )


def _title(function):
    """The name of a function, of a captured or partial one that of what it calls."""
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def _outside(function, title):
    """(path, tensor) of the tensors that a function reaches by name. Others are known by their memory alone."""
    try:
        places = [place for place in Closure(function, []).places if place.kind == "tensor"]
    except UsageError:  # it reaches arrays or more values than jit may compare, which are constants here
        return []
    return [(place.path.replace("the function", title, 1), place.value) for place in places]


def trace(function, samples) -> Traced:
    """The graph of a function of these samples."""
    title = _title(function)
    tracing = _strata._Tracing(title)
    arguments: list[str] = []
    inputs: list = []
    numbers: list = []
    given: list = []
    for name, sample in _parameters(function, samples):
        if isinstance(sample, Tensor):
            sample = Spec(tuple(sample.shape), sample.dtype)
        if isinstance(sample, Spec):
            memory, seen = _stand_in(name, sample)
            seen = _strata._twin(seen)  # the function may change it, and is refused
            tracing.argument(seen, name)
            inputs.append((memory, name, sample.shape, sample.strides))
            given.append(seen)
        elif isinstance(sample, np.generic) and not isinstance(sample, np.complexfloating):
            dtype = _strata.DType(sample.dtype)
            given.append(_strata._number_tensor(len(numbers), dtype))
            tracing.argument(given[-1], name)
            numbers.append((name, dtype, sample.item()))
        elif isinstance(sample, _CONSTANTS):
            given.append(sample)
            continue
        else:
            raise UsageError(
                f"[compile] the sample of '{name}' is {shown(sample)}: give a strata.Spec or a tensor, a NumPy number "
                f"that each call gives, or a Python number that stays"
            )
        arguments.append(name)
    for path, tensor in _outside(function, title):
        tracing.outside(tensor, path)
    tracing.enter()
    try:
        made = called("compile", function, given)
    finally:
        tracing.exit()
    for memory, name, _, _ in inputs:
        if _strata._is_filled(memory):
            raise UsageError(
                f"[compile] {title} uses the memory of '{name}' while it is compiled, as a kernel that is launched at "
                f"once does: it comes with each call. Call the kernel by custom_kernel"
            )
    returns, outputs, results = _results(title, made)
    for name in map(tracing.argument_below, results):
        if any(name == number for number, _, _ in numbers):
            raise UsageError(
                f"[compile] {title} returns the number '{name}' as it is given: return what is computed with "
                f"it, such as Tensor.zeros(1) + {name}, or leave it out, as the caller has it"
            )
    if clash := set(outputs) & set(arguments):
        raise UsageError(f"[compile] {title} has an argument and a result of one name: {', '.join(sorted(clash))}")
    return Traced(tuple(arguments), inputs, numbers, outputs, results, returns)
