"""Derivatives of functions of tensors: grad, value_and_grad, vjp and jvp, each of which may be used inside another.
Also gradients of one's own, and functions that stop gradients or are recomputed for them."""

from __future__ import annotations

import functools
import threading
import types

from . import _strata
from ._checks import called, check_all, shown
from ._strata import DTypeError, ShapeError, Tensor, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Self

    from ._types import ArrayLike


def inside(times: int = 1) -> bool:
    """Is a function differentiated on this thread, nested at least `times` deep?"""
    return _strata._differentiating() >= times


def _function(f, name):
    if not callable(f):
        raise UsageError(f"[{name}] takes a function of tensors, not a {type(f).__name__}")
    return f


def _on_stand_ins(where, f, arguments, places, named=types.MappingProxyType({})):
    """f's result, the tensors that took the place of those arguments, and the arguments as tensors. Arguments and
    stand-ins have the values of the call, whatever f assigns to them."""
    given, originals, stand_ins = list(arguments), [], []
    for i in places:
        originals.append(_strata._twin(_tensor(given[i])))
        given[i] = _strata._stand_in(originals[-1])
        stand_ins.append(_strata._twin(given[i]))
    _strata._differentiating(1)
    before = _strata._no_grad(False)
    try:
        return called(where, f, given, named), stand_ins, originals
    finally:
        _strata._no_grad(before)
        _strata._differentiating(-1)


def _tensor(value):
    return value if isinstance(value, Tensor) else Tensor(value)


def _derivatives(y, stand_ins, originals, seed=None):
    """The gradients of y by each of the stand-ins, as graphs over the originals; 0 where y does not depend on one."""
    if not isinstance(y, Tensor):
        raise UsageError(f"[grad] the function gives a {type(y).__name__}: it must give a Tensor")
    found = _strata.gradients(y, stand_ins, seed)
    return [
        x.zeros_like() if g is None else _strata._replaced(g, stand_ins, originals) for g, x in zip(found, originals)
    ]


def _places(argnums):
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums) if isinstance(argnums, (tuple, list)) else ()
    if not places or not all(type(i) is int for i in places):
        raise UsageError(f"[grad] argnums {argnums!r}: the place of an argument, an int from 0 on, or a tuple of such")
    return places


def value_and_grad(f: Callable[..., object], argnums: int | tuple[int, ...] = 0) -> Callable[..., tuple[Tensor, Any]]:
    """A function that gives f's value, a Tensor of one element, and its derivative by an argument.

    argnums: which positional argument, or a tuple of several; then the derivatives are a tuple too. They have the
    arguments' shapes and types. An argument that f changes in place (x[0] = 1, x += 1, x.assign(y)) is changed for f
    alone. Derivatives are by the value given, which stays as it is. DTypeError for an argument that is not of floats.
    """
    places = _places(argnums)

    @functools.wraps(_function(f, "grad"))
    def both(*arguments, **named):
        if any(not -len(arguments) <= i < len(arguments) for i in places):
            raise UsageError(f"[grad] argument {argnums} of a call with {len(arguments)}")
        y, stand_ins, originals = _on_stand_ins("grad", f, arguments, places, named)
        if isinstance(y, Tensor) and y.size != 1:
            raise UsageError(f"[grad] the function gives shape {y.shape}: sum it, or use strata.vjp")
        found = _derivatives(y, stand_ins, originals)
        value = _strata._replaced(y, stand_ins, originals)
        return value, found[0] if isinstance(argnums, int) else tuple(found)

    return both


def grad(f: Callable[..., object], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The derivative of f, whose value is a Tensor of one element, by an argument: value_and_grad without the value."""
    both = value_and_grad(f, argnums)

    @functools.wraps(f)
    def derivative(*arguments, **named):
        return both(*arguments, **named)[1]

    return derivative


def vjp(f: Callable[..., object], *arguments: ArrayLike) -> tuple[Tensor, Callable[[ArrayLike], tuple[Tensor, ...]]]:
    """f's value y, and a function that takes a tensor g of y's shape to the derivatives of sum(g * y) by all
    arguments.
    """
    places = tuple(range(len(arguments)))
    y, stand_ins, originals = _on_stand_ins("vjp", _function(f, "vjp"), arguments, places)
    if not isinstance(y, Tensor):
        raise UsageError(f"[vjp] the function gives a {type(y).__name__}: it must give a Tensor")
    y = _strata._twin(y)  # which may be an argument that f goes on to change

    def pull_back(g):
        return tuple(_derivatives(y, stand_ins, originals, _tensor(g)))

    return _strata._replaced(y, stand_ins, originals), pull_back


def jvp(
    f: Callable[..., object], arguments: Sequence[ArrayLike], tangents: Sequence[ArrayLike]
) -> tuple[Tensor, Tensor]:
    """f's value at the arguments, a sequence, and its derivative along the tangents, tensors of their shapes.

    By differentiating twice: what pull_back does is linear in g, and its derivative by g is the one along the tangents.
    ShapeError for a tangent of another shape.
    """
    _function(f, "jvp")
    for name, given in (("arguments", arguments), ("tangents", tangents)):
        if not isinstance(given, (list, tuple)):
            raise UsageError(
                f"[jvp] {name} are a list or tuple with one for each argument of the function, "
                f"not a {type(given).__name__}"
            )
    if len(tangents) != len(arguments):
        raise UsageError(f"[jvp] {len(tangents)} tangents for {len(arguments)} arguments")
    points, directions = [_strata._twin(_tensor(x)) for x in arguments], [_tensor(t) for t in tangents]
    for i, (x, tangent) in enumerate(zip(points, directions)):
        if tangent.shape != x.shape:
            raise ShapeError(
                f"[jvp] tangent {i} has shape {tangent.shape}, the argument {x.shape}: "
                f"a tangent has its argument's shape"
            )
        if not (tangent.dtype.is_float or tangent.dtype.is_complex):
            raise DTypeError(f"[jvp] tangent {i} is of {tangent.dtype.name}: cast it to {x.dtype.name}")
    y, pull_back = vjp(f, *points)
    g = _strata._stand_in(y.zeros_like())
    total = None
    for arrived, tangent in zip(pull_back(g), directions):
        part = (arrived.conj() * tangent).real.sum()
        total = part if total is None else total + part
    if total is None:
        raise UsageError("[jvp] of a function without arguments")
    return y, _derivatives(total, [g], [g.zeros_like()])[0]


def _words_of(given):
    if not isinstance(given, (tuple, list)):
        return f"a {type(given).__name__}"
    odd = next(g for g in given if g is not None and not isinstance(g, Tensor))
    return f"a {type(given).__name__} with a {type(odd).__name__}"


def _floats(arguments):
    return [x for x in arguments if isinstance(x, Tensor) and x.dtype.is_float]


def _of_each(given, arguments, what):
    """The gradients of the tensors of floats among the arguments, from a function's gradients of all of them."""
    given = (given,) if given is None or isinstance(given, Tensor) else given
    if not isinstance(given, (tuple, list)) or not all(g is None or isinstance(g, Tensor) for g in given):
        raise UsageError(
            f"[{what}] the gradient is {_words_of(given)}: it is a Tensor or None, "
            f"for several arguments a tuple of such"
        )
    if len(given) != len(arguments):
        raise UsageError(f"[{what}] gives {len(given)} gradients for {len(arguments)} arguments: one for each, or None")
    return [g for g, x in zip(given, arguments) if isinstance(x, Tensor) and x.dtype.is_float]


def of_kernel(results: tuple[Tensor, ...], inputs: Sequence[object], grad: Callable[..., object]) -> tuple[Tensor, ...]:
    """Results of a user's kernel, of which the first has the gradient that the function says."""
    if not callable(grad):
        raise UsageError(
            f"[custom_kernel] grad is {shown(grad)}: a function of what arrives at the result and of the inputs"
        )
    first = _strata._with_gradient(
        results[0],
        _floats(inputs),
        lambda g: _of_each(called("custom_kernel", grad, (g, *inputs)), inputs, "custom_kernel"),
    )
    return first, *results[1:]


def custom_gradient(f: Callable[..., object]) -> Callable[..., Any]:
    """A function whose gradient it says itself. f gives a value and a function that takes it back.

        @strata.custom_gradient
        def softsign(x):
            y = 1 + x.abs()
            return x / y, lambda g: g / (y * y)

    The value is a tensor or a tuple of them. The function gets the gradient of each, of its shape, and gives the
    gradient of each argument, or None; for one argument that alone. Gradients of the gradient go by its operations.
    Nothing arrives at other tensors that f uses. UsageError, ShapeError where what it gives does not fit.
    """

    @functools.wraps(_function(f, "custom_gradient"))
    def own(*arguments):
        inputs = [_strata._twin(x) for x in _floats(arguments)]  # as they are at the call
        made = called("custom_gradient", f, arguments)
        if not isinstance(made, tuple) or len(made) != 2 or not callable(made[1]):
            raise UsageError("[custom_gradient] the function gives a value and a function that takes gradients back")
        value, back = made
        values = value if isinstance(value, tuple) else (value,)
        for v in values:
            if not isinstance(v, Tensor):
                raise UsageError(
                    f"[custom_gradient] the value is a {type(v).__name__}: it is a Tensor, or a tuple of them"
                )

        def to(place):
            def backward(g):
                arrived = [g if i == place else v.zeros_like() for i, v in enumerate(values)]
                return _of_each(back(*arrived), arguments, "custom_gradient")

            return backward

        out = tuple(_strata._with_gradient(v, inputs, to(i)) for i, v in enumerate(values))
        return out if isinstance(value, tuple) else out[0]

    return own


def checkpoint(f: Callable[..., object]) -> Callable[..., Tensor]:
    """The function, made once more when gradients go through it: what it computes on the way is not kept from forward
    to backward.

    It gives a tensor, of the same arguments and variables the same one both times; random numbers are those of the
    first time.
    """

    @functools.wraps(_function(f, "checkpoint"))
    def checked(*arguments, **named):
        keys = _strata._Keys()
        before = [_strata._twin(x) if isinstance(x, Tensor) else x for x in arguments]  # as they are at the call

        def call(given, again):
            keys.enter(again)
            try:
                value = called("checkpoint", f, given, named)
            finally:
                keys.exit()
            if not isinstance(value, Tensor):
                raise UsageError(f"[checkpoint] the function gives a {type(value).__name__}: it must give a Tensor")
            return value

        places = [i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.dtype.is_float]

        def make(tensors):
            given, sources = [_strata._twin(x) if isinstance(x, Tensor) else x for x in before], []
            for i, t in zip(places, tensors):
                sources.append(
                    t if _strata._wants_gradient(t) else t.requires_grad_()
                )  # so that values in memory keep their history
                given[i] = _strata._twin(sources[-1])
            return call(given, True)

        return _strata._made_again(call(arguments, False), [before[i] for i in places], make)

    return checked


_blocks = threading.local()  # of no_grad that this thread is in: what was so before each


def _enter():
    block = [_strata._no_grad(True)]
    vars(_blocks).setdefault("stack", []).append(block)
    return block


def _leave(block):
    """Blocks that were entered within it stay in force."""
    stack = vars(_blocks).setdefault("stack", [])
    at = next((i for i, other in enumerate(stack) if other is block), None)
    if at is None:
        raise UsageError("[no_grad] is left on another thread than it was entered on")
    del stack[at]
    if at < len(stack):
        stack[at][0] = block[0]
    else:
        _strata._no_grad(block[0])


def _inside_no_grad(call, *given, **named):
    block = _enter()
    try:
        return call(*given, **named)
    finally:
        _leave(block)


def _steps(made):
    """Runs each step of a generator or coroutine inside the block; its caller stays outside."""
    try:
        value = _inside_no_grad(made.send, None)
        while True:
            try:
                given = yield value
            except GeneratorExit:
                _inside_no_grad(made.close)
                raise
            except BaseException as e:
                value = _inside_no_grad(made.throw, e)
            else:
                value = _inside_no_grad(made.send, given)
    except StopIteration as e:
        return e.value


@types.coroutine
def _awaited_steps(made):
    return (yield from _steps(made))


async def _awaited(made):
    return await _awaited_steps(made)


class no_grad:
    """Tensors made inside have no history: no gradient goes past them. For with, and as a decorator of functions,
    generators and coroutines.

    with strata.no_grad():
        target = model(x)

    A block belongs to the thread that enters it. It holds for other code of that thread while a generator or an asyncio
    task is suspended inside of it. Leave it before yield and await, or decorate the function, of which each step is
    inside then.
    """

    def __init__(self, f: Callable[..., object] | None = None) -> None:
        if f is not None and not callable(f):
            raise UsageError(
                f"[no_grad] takes a function, not a {type(f).__name__}: with strata.no_grad():, or @strata.no_grad"
            )
        self._entered: list[Any] = []
        self._function = f
        if f is not None:
            functools.update_wrapper(self, f)

    def __enter__(self) -> Self:
        self._entered.append(_enter())
        return self

    def __exit__(self, *_: object) -> None:
        if not self._entered:
            raise UsageError("[no_grad] is left that was not entered: use with strata.no_grad():")
        _leave(self._entered.pop())

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if self._function is None:  # @no_grad()
            if len(arguments) != 1 or named:
                raise UsageError("[no_grad] decorates one function: @strata.no_grad()")
            return no_grad(arguments[0])
        made = _inside_no_grad(called, "no_grad", self._function, arguments, named)
        if isinstance(made, types.GeneratorType):
            return _steps(made)
        if isinstance(made, types.AsyncGeneratorType):
            raise UsageError(
                "[no_grad] of an asynchronous generator: write with strata.no_grad(): around what is between its yields"
            )
        return _awaited(made) if isinstance(made, types.CoroutineType) else made

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


check_all(globals(), __name__)
