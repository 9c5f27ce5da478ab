"""Derivatives of functions of tensors: grad, value_and_grad, vjp and jvp. Each may be used inside another."""

import functools
import threading

from . import _strata
from ._strata import Tensor, UsageError


_depth = threading.local()


def inside():
    """Is a function differentiated on this thread?"""
    return getattr(_depth, "count", 0) > 0


def _on_stand_ins(f, arguments, places):
    """f's result, the tensors that took the place of those arguments, and the arguments as tensors."""
    given, originals = list(arguments), []
    for i in places:
        originals.append(_tensor(given[i]))
        given[i] = _strata._stand_in(originals[-1])
    _depth.count = getattr(_depth, "count", 0) + 1
    try:
        return f(*given), [given[i] for i in places], originals
    finally:
        _depth.count -= 1


def _tensor(value):
    return value if isinstance(value, Tensor) else Tensor(value)


def _derivatives(y, stand_ins, originals, seed=None):
    """Of y by each of the stand-ins, as graphs over the originals; 0 where y does not depend on one."""
    if not isinstance(y, Tensor):
        raise UsageError(f"[grad] the function gives a {type(y).__name__}: it must give a Tensor")
    found = _strata.gradients(y, stand_ins, seed)
    return [x.zeros_like() if g is None else _strata._replaced(g, stand_ins, originals) for g, x in zip(found, originals)]


def value_and_grad(f, argnums=0):
    """A function that gives f's value, a Tensor of one element, and its derivative by an argument.

    argnums: which positional argument, or a tuple of several; then the derivatives are a tuple too. They have the arguments'
    shapes and types. DTypeError for an argument that is not of floats.
    """
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @functools.wraps(f)
    def both(*arguments, **named):
        if any(not -len(arguments) <= i < len(arguments) for i in places):
            raise UsageError(f"[grad] argument {argnums} of a call with {len(arguments)}")
        y, stand_ins, originals = _on_stand_ins(lambda *given: f(*given, **named), arguments, places)
        if isinstance(y, Tensor) and y.size != 1:
            raise UsageError(f"[grad] the function gives shape {y.shape}: sum it, or use strata.vjp")
        found = _derivatives(y, stand_ins, originals)
        value = _strata._replaced(y, stand_ins, originals)
        return value, found[0] if isinstance(argnums, int) else tuple(found)

    return both


def grad(f, argnums=0):
    """The derivative of f, whose value is a Tensor of one element, by an argument: value_and_grad without the value."""
    both = value_and_grad(f, argnums)

    @functools.wraps(f)
    def derivative(*arguments, **named):
        return both(*arguments, **named)[1]

    return derivative


def vjp(f, *arguments):
    """f's value y, and a function that takes a tensor g of y's shape to the derivatives of sum(g * y) by all arguments."""
    places = tuple(range(len(arguments)))
    y, stand_ins, originals = _on_stand_ins(f, arguments, places)

    def pull_back(g):
        return tuple(_derivatives(y, stand_ins, originals, _tensor(g)))

    return _strata._replaced(y, stand_ins, originals), pull_back


def jvp(f, arguments, tangents):
    """f's value at the arguments, a sequence, and its derivative along the tangents, tensors of their shapes.

    By differentiating twice: what pull_back does is linear in g, and its derivative by g is the one along the tangents.
    """
    y, pull_back = vjp(f, *arguments)
    if len(tangents) != len(arguments):
        raise UsageError(f"[jvp] {len(tangents)} tangents for {len(arguments)} arguments")
    g = _strata._stand_in(y.zeros_like())
    total = None
    for arrived, tangent in zip(pull_back(g), tangents):
        part = (arrived.conj() * tangent).real.sum()
        total = part if total is None else total + part
    return y, _derivatives(total, [g], [g.zeros_like()])[0]
