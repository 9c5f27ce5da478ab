"""jit: a function of tensors that is traced on its first calls, and after them launched as a list of kernels."""

from __future__ import annotations

import functools
import threading
import types
import warnings

from . import _derivatives, _strata
from ._checks import called
from ._closure import Closure
from ._jit_values import Arguments, Results, alike
from ._strata import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ._strata import Tensor
    from ._types import DTypeLike


STRIKES = 3  # calls in a row that differ
FEW = 8  # captures before a warning gives the reason
KEPT = 32


class _Captured:
    """The operations of a call, and its dependencies."""

    def __init__(self, function, args, kwargs, given, name):
        tensors, objects = given.tensors, given.objects
        self.before = Closure(function, objects)
        self.guards = self.before.guards(tensors)
        self.inputs = self.guards.met(tensors)
        if isinstance(self.inputs, int):
            where = self.before.places[self.inputs].path if self.inputs >= 0 else name
            raise UsageError(
                f"[jit] {where} gives another value each time it is looked at: take it outside, "
                f"and pass it as an argument"
            )
        self.capture = _strata._Capture(self.inputs)
        self.objects, self.confirmed, self.strange, exempt = objects, False, None, set()
        self.is_fast = given.are_exact  # the C slot knows other containers by what they are, not by what is in them
        outer, _fed_places.exempt = _fed_places.exempt, exempt
        self.capture.enter()
        try:
            value = called("jit", function, args, kwargs)
            after, seen = Closure(function, objects), Arguments(args, kwargs, name)
            replaced, self.strange = self.before.changes(after, exempt)
            if self.strange is None and (
                seen.key != given.key or any(a is not b for a, b in zip(seen.tensors, tensors))
            ):
                self.strange = "a container among the arguments was changed"
            results = Results(args, kwargs, after.has, name)
            self.value = results.described(value)
            places = [(p.holder, p.key, results.tensor(p.value)) for p in replaced]
            same = [(i, k) for i, r in enumerate(results.tensors) for k, t in enumerate(self.inputs) if r is t]
            if self.strange is None:
                self.guards = self.before.guards(tensors, exempt)
            self.capture.finish(results.tensors, self.guards, args, kwargs, self.value, same, places)
        finally:
            self.capture.exit()
            _fed_places.exempt = outer
        self.given = value

    def difference(self, other):
        if self.strange:
            return self.strange
        if not alike(self.value, other.value):
            return "other plain values or containers came back"
        return self.capture.difference(other.capture)


class _FedPlaces(threading.local):
    """Places that feeds change, of the function that this thread traces."""

    exempt = None


_fed_places = _FedPlaces()


def fed(
    numbers: Callable[[], Sequence[float]],
    owner: object,
    changes: Sequence[str],
    dtype: DTypeLike = "float32",
    device: str = "",
) -> Tensor:
    """A tensor of the numbers that numbers() gives: now, and again at each replay of a captured function that asked for
    them.

    It may change those attributes of the owner, as a count of steps.
    """
    if _fed_places.exempt is not None:
        _fed_places.exempt.update((id(vars(owner)), name) for name in changes)
    return _strata._fed(numbers, dtype, device)


def _name_of(function):
    """A function's own, of another callable object that of its class, of a partial one that of what it calls."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


class jit(_strata._Calls):
    """The function, run by a list of launches from the third call on: no graph is built, no Python of its body runs.

        @strata.jit
        def train(x, y):
            loss = nn.cross_entropy(net(x), y)
            loss.backward()
            step()
            return loss

    The first calls run the function and write down what it launches; two that do the same make the list, whose memory
    is planned once. The list belongs to the signature of the calls: shapes, types, devices and settings, and plain
    values among the arguments. Whatever the function can reach by name belongs to it too: variables, modules that it
    imports, code and members of functions and classes, and attributes. So do containers and their order, and the bytes
    of small arrays in them (64 KiB). Where some of it is another, the function is traced again, so each size of a
    tensor has a list of its own. Three things go on as without jit. They are tensors that the body assigns to or leaves
    gradients in, tensors that it puts in place of others, and random numbers. The function may be a module, a
    functools.partial or another object that is called. Arguments and results are tensors, plain values, and lists,
    tuples and dicts of them. Modules and other objects may be arguments too, and objects that were there before the
    call may come back. Results have no history: gradients do not go through them, so loss.backward() belongs inside.

    UsageError for operations that a replay would not do again. These are reading values of tensors (item(), numpy(), if
    x > 0) and tensors out of its sight. NumPy arrays and random generators that the body uses are such too. (Small
    arrays that objects hold are compared instead.) From the third call in a row on, so are other things that the body
    changes (a counter, a list that grows). So are numbers that come from nowhere. Inside of grad, vjp and other
    captured functions it is the plain function.

    Changes after the second call are not seen where no name of the function leads to them. Examples are files,
    environment variables, and the time and random numbers of the host that stay the same for two calls. The inside of
    objects of other C extensions and of installed packages is not seen. Nor are large arrays that are reached by other
    ways than their name (vars(), getattr() with a made-up name). Pass what such things give as a tensor or a plain
    value.

    symbolic=True is for sizes that differ from call to call, as a text's length. Each size still has a list of its own,
    traced twice. From the second size on kernels serve all sizes up to the next power of two, so that few are compiled.
    They mask what is beyond a size. Kernels with scans, those that divide by a size, and all under a beam are compiled
    for each size.

    captures: how many lists there are. launches: kernels of the last one. reason: why the last trace was made.
    """

    def __new__(cls, function: Any = None, *, symbolic: bool = False) -> Any:
        return functools.partial(cls, symbolic=symbolic) if function is None else super().__new__(cls)

    def __init__(self, function: Callable[..., object], *, symbolic: bool = False) -> None:
        if not callable(function):
            raise UsageError(f"[jit] of a {type(function).__name__}: it takes a function")
        super().__init__()
        functools.update_wrapper(self, function, updated=())
        self.__name__ = _name_of(function)
        self.function, self.reason = function, None
        self._known: dict[Any, Any] = {}
        self.symbolic, self._warned = symbolic, False
        self._last, self._tracing = None, threading.Lock()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    @property
    def captures(self) -> int:
        return sum(one.confirmed for known in self._known.values() for one in known)

    @property
    def launches(self) -> int:
        return self._last.capture.launches if self._last else 0

    def _otherwise(self, *args, **kwargs):
        """A call that is not what was captured last."""
        if _strata._capturing() or _strata._tracing() or _derivatives.inside():
            return called("jit", self.function, args, kwargs)
        before = _strata._no_grad(False)
        try:
            return self._call(args, kwargs)
        finally:
            _strata._no_grad(before)

    def _call(self, args, kwargs):
        given = Arguments(args, kwargs, self.__name__)
        captured, inputs, _ = self._find(given)
        if captured and captured.confirmed:
            self._use(captured)
            return captured.capture.replay(inputs, args, kwargs)
        if not self._tracing.acquire(blocking=False):  # by another thread, which may wait for this one
            return called("jit", self.function, args, kwargs)
        try:
            candidate, _, why = self._find(given)
            return self._trace(args, kwargs, given, candidate, why)
        finally:
            self._tracing.release()

    def _use(self, captured):
        self._last = captured
        self._set_last(captured.capture if captured.confirmed and captured.is_fast else None)

    def _find(self, given):
        """(the capture that fits, its inputs, why others do not)."""
        whys = []
        for captured in tuple(self._known.get(given.key, ())):
            inputs = captured.guards.met(given.tensors)
            if isinstance(inputs, int):
                whys.append(
                    f"{captured.before.places[inputs].path} is another"
                    if inputs >= 0
                    else "other tensors are one and the same"
                )
                continue
            if (other := captured.capture.mismatch(inputs)) is not None:
                whys.append(other)
                continue
            return captured, inputs, None
        whys.append("other plain values or containers were given" if self._known else "it was called first")
        return None, None, whys[0]

    def _trace(self, args, kwargs, given, candidate, why):
        before = _strata._any_sizes(self.symbolic)
        try:
            now = _Captured(self.function, args, kwargs, given, self.__name__)
        finally:
            _strata._any_sizes(before)
        now.strikes, value, now.given = 1, now.given, None
        known = self._known.setdefault(given.key, [])
        differs = now.strange
        if candidate:
            known.remove(candidate)
            differs = differs or candidate.strange or candidate.difference(now)
            now.confirmed = differs is None
            now.strikes = candidate.strikes + (differs is not None)
        elif now.strange:
            struck = [c for c in known if c.strange]
            now.strikes += max((c.strikes for c in struck), default=0)
            for c in struck:
                known.remove(c)
        known.insert(0, now)
        self._use(now)
        self.reason = differs or (self.reason if candidate else why)
        if now.strikes >= STRIKES:
            raise UsageError(
                f"[jit] {self.__name__} does not do the same in each call: {differs}. Pass what changes as a tensor, "
                f"or leave jit out"
            )
        self._keep_few()
        return value

    def _keep_few(self):
        """Warns where captures are made again and again, and drops the first of too many."""
        count = sum(map(len, self._known.values()))
        if count > FEW and not self._warned and not self.symbolic:
            self._warned = True
            warnings.warn(
                f"[jit] {self.__name__} was captured {count} times; the last time since {self.reason}. "
                f"Pass what changes as a tensor",
                stacklevel=4,
            )
        while sum(map(len, self._known.values())) > KEPT:
            first = next(iter(self._known))
            self._known[first].pop()
            if not self._known[first]:
                del self._known[first]
