"""Derivatives of functions of tensors: grad, value_and_grad, vjp and jvp, each of which may be used inside another; gradients of
one's own; and functions past which no gradient goes, or that are made once more for it."""

import functools

from . import _strata
from ._strata import Tensor, UsageError


def inside(times=1):
    """Is a function differentiated on this thread, inside so many others less one?"""
    return _strata._differentiating() >= times


def _on_stand_ins(f, arguments, places):
    """f's result, the tensors that took the place of those arguments, and the arguments as tensors."""
    given, originals = list(arguments), []
    for i in places:
        originals.append(_tensor(given[i]))
        given[i] = _strata._stand_in(originals[-1])
    _strata._differentiating(1)
    before = _strata._without_past(False)
    try:
        return f(*given), [given[i] for i in places], originals
    finally:
        _strata._without_past(before)
        _strata._differentiating(-1)


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


def _floats(arguments):
    return [x for x in arguments if isinstance(x, Tensor) and x.dtype.is_float]


def _of_each(given, arguments, what):
    """What arrives at each tensor of floats among the arguments, of what a function gives for all of them."""
    given = (given,) if given is None or isinstance(given, Tensor) else tuple(given)
    if len(given) != len(arguments):
        raise UsageError(f"[{what}] gives {len(given)} gradients for {len(arguments)} arguments: one for each, or None")
    return [g for g, x in zip(given, arguments) if isinstance(x, Tensor) and x.dtype.is_float]


def of_kernel(results, inputs, grad):
    """Results of a user's kernel, of which the first has the gradient that the function says."""
    first = _strata._with_gradient(results[0], _floats(inputs), lambda g: _of_each(grad(g, *inputs), inputs, "custom_kernel"))
    return first, *results[1:]


def custom_gradient(f):
    """A function whose gradient it says itself. f gives a value and a function that takes it back.

        @strata.custom_gradient
        def softsign(x):
            y = 1 + x.abs()
            return x / y, lambda g: g / (y * y)

    The value is a tensor or a tuple of them; the function gets what arrives at each, of its shape, and gives what arrives at each
    argument, or None; for one argument that alone. Gradients of the gradient go by its operations. Nothing arrives at other
    tensors that f uses. UsageError, ShapeError where what it gives does not fit.
    """

    @functools.wraps(f)
    def own(*arguments):
        made = f(*arguments)
        if not isinstance(made, tuple) or len(made) != 2 or not callable(made[1]):
            raise UsageError("[custom_gradient] the function gives a value and a function that takes gradients back")
        value, back = made
        values = value if isinstance(value, tuple) else (value,)
        inputs = _floats(arguments)

        def to(place):
            def backward(g):
                arrived = [g if i == place else v.zeros_like() for i, v in enumerate(values)]
                return _of_each(back(*arrived), arguments, "custom_gradient")

            return backward

        out = tuple(_strata._with_gradient(v, inputs, to(i)) for i, v in enumerate(values))
        return out if isinstance(value, tuple) else out[0]

    return own


def checkpoint(f):
    """The function, made once more when gradients go through it: what it computes on the way is not kept from forward to backward.

    It gives a tensor, of the same arguments and variables the same one both times; random numbers are those of the first time.
    """

    @functools.wraps(f)
    def checked(*arguments, **named):
        keys = _strata._Keys()

        def call(given, again):
            keys.enter(again)
            try:
                value = f(*given, **named)
            finally:
                keys.exit()
            if not isinstance(value, Tensor):
                raise UsageError(f"[checkpoint] the function gives a {type(value).__name__}: it must give a Tensor")
            return value

        places = [i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.dtype.is_float]

        def make(tensors):
            given = list(arguments)
            for i, t in zip(places, tensors):
                given[i] = t
            return call(given, True)

        return _strata._made_again(call(arguments, False), [arguments[i] for i in places], make)

    return checked


class no_grad:
    """What is made inside has no past: no gradient goes past it. For with, and as a decorator; of the thread that enters.

    with strata.no_grad():
        target = model(x)
    """

    def __init__(self, f=None):
        self._before = []
        self._function = f
        if f is not None:
            functools.update_wrapper(self, f)

    def __enter__(self):
        self._before.append(_strata._without_past(True))
        return self

    def __exit__(self, *_):
        _strata._without_past(self._before.pop())

    def __call__(self, *arguments, **named):
        if self._function is None:  # @no_grad()
            (f,) = arguments
            return no_grad(f)
        before = _strata._without_past(True)
        try:
            return self._function(*arguments, **named)
        finally:
            _strata._without_past(before)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)
