"""Arguments and results of captured functions: the containers that they are made of, and the rebuilding of a result."""

import collections

import numpy as np

from ._closure import HEAP_TYPE, PLAIN
from ._strata import Tensor, UsageError

DEEPEST = 100  # containers within one another
MOST = 200_000  # values of one call
_BASES = (list, tuple, dict, collections.OrderedDict)


def is_bare(value):
    """Is it a container that has its items and nothing else: a list, tuple, dict or OrderedDict, or of a class over
    one?
    """
    cls = type(value)
    if cls in _BASES[:3]:
        return True
    if (
        not isinstance(value, (list, tuple, dict))
        or isinstance(value, collections.defaultdict)
        or hasattr(cls, "n_sequence_fields")
        or getattr(value, "__dict__", None)
    ):
        return False
    own = cls.__mro__[: next(i for i, base in enumerate(cls.__mro__) if base in _BASES)]
    return all(base.__flags__ & HEAP_TYPE and not vars(base).get("__slots__") for base in own)


class _Walk:
    """Through the values of a call; UsageError for what has no end."""

    def __init__(self, path):
        self.path, self._left, self._around = path, MOST, set()

    def enter(self, container):
        self._left -= len(container)
        if id(container) in self._around:
            raise UsageError(
                f"[jit] {self.path}: a {type(container).__name__} holds itself, which has no end: pass its parts"
            )
        if self._left < 0 or len(self._around) >= DEEPEST:
            raise UsageError(
                f"[jit] {self.path}: containers with more than {MOST} values, "
                f"or more than {DEEPEST} within one another: pass large data as tensors"
            )
        self._around.add(id(container))

    def leave(self, container):
        self._around.discard(id(container))


class Arguments(_Walk):
    """key: a hashable description of what a call was given; its tensors and other objects are in the lists.

    The key of a class over a container has the class, which is among the objects. are_exact: no container is of a class
    whose objects may get attributes, so that objects that are the same have the same items.
    """

    def __init__(self, args, kwargs, path):
        super().__init__(path)
        self.tensors, self.objects, self.are_exact = [], [], True
        self.key = self._parts((args, kwargs))

    def _parts(self, value):
        kind = type(value)
        if kind is Tensor or not isinstance(value, (list, tuple, dict)) and isinstance(value, Tensor):
            self.tensors.append(value)
            return Tensor
        if isinstance(value, (list, tuple, dict)) and is_bare(value):
            self.are_exact = self.are_exact and (
                kind in _BASES[:3] or isinstance(value, tuple) and not kind.__dictoffset__
            )
            if kind not in _BASES:
                self.objects.append(kind)
            self.enter(value)
            items = (
                [(key, self._parts(item)) for key, item in value.items()]
                if isinstance(value, dict)
                else map(self._parts, value)
            )
            found = kind, *items
            self.leave(value)
            return found
        if isinstance(value, PLAIN):
            return kind, repr(value) if isinstance(value, (float, complex, np.generic)) else value
        if isinstance(value, np.ndarray):
            raise UsageError(
                f"[jit] {self.path} holds a NumPy array, whose values a captured function would keep: "
                f"pass strata.Tensor(array)"
            )
        self.objects.append(value)
        return object, id(value)


def _ways_in(args, kwargs):
    """id -> the way to each bare container among the arguments: an argument's place or name, then keys."""
    ways, pending = {}, [((at,), value) for at, value in (*enumerate(args), *kwargs.items())]
    while pending:
        way, value = pending.pop()
        if isinstance(value, (list, tuple, dict)) and is_bare(value) and id(value) not in ways:
            ways[id(value)] = way
            pending += [
                ((*way, key), item) for key, item in (value.items() if isinstance(value, dict) else enumerate(value))
            ]
    return ways


class _Made:
    """Makes another container than a list, tuple or dict of its items, past what its class may do in a constructor of
    its own.
    """

    def __init__(self, value):
        self.cls, self.base = type(value), next(base for base in _BASES[::-1] if isinstance(value, base))
        self.keys = tuple(value) if isinstance(value, dict) else None
        self.factory = value.default_factory if self.cls is collections.defaultdict else None

    def __eq__(self, other):
        return type(other) is _Made and vars(self) == vars(other)

    def __call__(self, items):
        if self.base is tuple:
            return tuple.__new__(self.cls, items)
        made = self.cls(self.factory) if self.cls is collections.defaultdict else self.base.__new__(self.cls)
        if self.base is list:
            list.extend(made, items)
        else:
            for key, item in zip(self.keys, items):
                self.base.__setitem__(made, key, item)
        return made


class Results(_Walk):
    """described(value) is what _Capture.finish takes; tensors has its tensors, each once.

    What was there before the call, as an argument or where the function reaches it, comes back itself: reached(value)
    says so.
    """

    def __init__(self, args, kwargs, reached, path):
        super().__init__(path)
        self.tensors, self._reached, self._made = [], reached, {}
        self._ways, self._places = _ways_in(args, kwargs), {}

    def tensor(self, value):
        if id(value) not in self._places:
            self._places[id(value)] = len(self.tensors)
            self.tensors.append(value)
        return self._places[id(value)]

    def described(self, value):
        if isinstance(value, Tensor):
            return "tensor", self.tensor(value)
        if isinstance(value, PLAIN):
            return "plain", value
        if id(value) in self._ways:
            return "argument", self._ways[id(value)]
        if self._reached(value):
            return "plain", value
        if not isinstance(value, (list, tuple, dict)):
            raise UsageError(
                f"[jit] {self.path} gives a {type(value).__name__} back: tensors, plain values, lists, "
                f"tuples and dicts of them, and what was there before can be"
            )
        if id(value) in self._made:
            return "again", self._made[id(value)]
        self.enter(value)
        found = self._container(value)
        self.leave(value)
        self._made[id(value)] = len(self._made)
        return found

    def _container(self, value):
        if type(value) is dict:
            return dict, [(key, self.described(item)) for key, item in value.items()]
        parts = [self.described(item) for item in (value.values() if isinstance(value, dict) else value)]
        if type(value) in (list, tuple):
            return type(value), parts
        if not is_bare(value) and type(value) is not collections.defaultdict:
            raise UsageError(
                f"[jit] {self.path} gives a {type(value).__name__} back, which has more than its items: "
                f"give a {_Made(value).base.__name__} back, or its parts"
            )
        make = _Made(value)
        try:
            make(value.values() if make.keys is not None else value)
        except TypeError as e:
            raise UsageError(
                f"[jit] {self.path} gives a {type(value).__name__} back, which cannot be made of its items ({e}): "
                f"give a {make.base.__name__} back"
            ) from None
        return make, parts


def alike(a, b):
    """Do two descriptions say the same, but for the tensors' values?"""
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(alike, a, b))
    kind, value = a
    if kind != b[0]:
        return False
    if kind == "plain":
        return value is b[1] or isinstance(value, PLAIN) and type(value) is type(b[1]) and repr(value) == repr(b[1])
    return alike(value, b[1]) if isinstance(value, (list, tuple)) and kind != "argument" else value == b[1]
