"""Values that a branch or a loop carries: numbers, fragments, and tuples, lists and dicts of them."""

import collections

from .. import _strata
from .._strata import DType, UsageError

_lang = _strata._lang
Value, View = _lang.Value, _lang.View


class Unbound:
    """Stands for a name without a value."""

    def __repr__(self):
        return "<no value>"


class Nothing:
    """The value of a function before its return."""


UNBOUND, NOTHING = Unbound(), Nothing()
_PLAIN = (bool, int, float)


def is_number(value):
    return type(value) in (Value, *_PLAIN) or hasattr(value, "item") and getattr(value, "shape", None) == ()


def is_fragment(value):
    """Whether it is a view of registers."""
    return isinstance(value, View) and value.space == "reg"


def kind_of(value):
    """The name of a value in a message."""
    if type(value) is Value:
        return f"{value.dtype.name}"
    if isinstance(value, (tuple, list, dict)):
        return f"{type(value).__name__} of {len(value)}"
    return repr(value) if isinstance(value, (bool, int, float, str, type(None))) else type(value).__name__


def children(value):
    """(key, child) of a tuple, list or dict; None of anything else."""
    if isinstance(value, (tuple, list)):
        return list(enumerate(value))
    return list(value.items()) if isinstance(value, dict) else None


def rebuilt(value, parts):
    """A tuple, list or dict like this one with other children, in order."""
    if isinstance(value, dict):
        made = dict(zip(value, parts))
        return made if type(value) is dict else collections.OrderedDict(made)
    if isinstance(value, list):
        return list(parts)
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


class Differs(Exception):
    """Two values that cannot be one; says how, and below which keys."""

    def __init__(self, how, path=()):
        super().__init__(how)
        self.how, self.path = how, path

    def place(self, name):
        return name + "".join(f"[{key!r}]" for key in self.path)


def same_structure(a, b):
    if type(a) is not type(b) or len(a) != len(b) or isinstance(a, dict) and list(a) != list(b):
        raise Differs(f"{kind_of(a)} one way and {kind_of(b)} the other")


def is_same(a, b):
    """Whether two objects without numbers are the same for a kernel."""
    if a is b:
        return True
    plain = (str, bytes, type(None), DType, type, range, slice, complex)
    return type(a) is type(b) and isinstance(a, plain) and a == b


def merged(condition, a, b, join=None):
    """a where the condition holds, else b; Differs where that is nothing that a kernel can carry. join: a _state.Join,
    which knows the objects that are two names' from here on."""
    if a is b or b is NOTHING:
        return a
    if a is NOTHING:
        return b
    if is_number(a) and is_number(b):
        if type(a) in _PLAIN and type(a) is type(b) and a == b:
            return a
        try:
            return _lang.merge(condition, a, b)
        except _strata.DTypeError as error:
            raise Differs(str(error)) from None
    if join and (known := join.known(a, b)) is not None:
        return known
    if is_fragment(a) and is_fragment(b):
        made = a.map(lambda x, y: merged(condition, x, y), b)
        return join.fragment(made, a, b) if join else made
    if children(a) is not None and children(b) is not None:
        made = rebuilt(a, _merged_parts(condition, a, b, join))
        return join.container(made, a, b) if join else made
    if is_same(a, b):
        return a
    raise Differs(f"{kind_of(a)} one way and {kind_of(b)} the other")


def _merged_parts(condition, a, b, join):
    same_structure(a, b)
    made = []
    for (key, x), (_, y) in zip(children(a), children(b)):
        try:
            made.append(merged(condition, x, y, join))
        except Differs as found:
            raise Differs(found.how, (key, *found.path)) from None
    return made


class Cell:
    """A number of a loop in a register: stored before the loop and at the end of each step, loaded at its head."""

    def __init__(self, first, dtype=None, before_loop=False):
        self.first, self.weak = first, False
        if dtype is None:
            value = _lang.valued(first)
            self.weak = _lang.is_weak(value)
            dtype = _lang.machine_value(value).dtype
        self.dtype = dtype
        self.memory = _lang.registers_before_loop(1, dtype) if before_loop else _lang.registers(1, dtype)
        _lang.store(self.memory, 0, first)

    def load(self):
        value = _lang.load(self.memory, 0)
        return _lang.weak(value) if self.weak else value

    def fits(self, value):
        """Whether a step may end with this value; else the type to trace the loop with. Differs where there is none."""
        value = _lang.valued(value)
        own = value.dtype
        if own.name == "index":  # a number of threads or steps goes into the register that the first one has
            own = self.dtype if self.dtype.is_integer else own
        if own == self.dtype:
            self.weak = self.weak and _lang.is_weak(value)
            return None
        if _lang.is_weak(value) and self._takes(own):
            return None
        if self.weak and not own.is_bool and not self.dtype.is_bool:
            return _lang.machine_value(value).dtype
        raise Differs(f"{self.dtype.name} before the loop and {own.name} after a step")

    def _takes(self, own):
        return own.is_bool == self.dtype.is_bool and (self.dtype.is_float or not own.is_float)


def refuse(message):
    raise UsageError(message)
