"""Values that a loop carries from step to step, and those that outlive it: cells of registers for their numbers."""

from .. import _strata
from ..layout import Layout
from ._carry import NOTHING, Cell, Differs, Value, children, is_fragment, is_number, is_same, kind_of, rebuilt
from ._state import put_back

_lang = _strata._lang


class Carried:
    """A name's value through a loop: a cell for each number in it."""

    def __init__(self, first, types, path, line):
        self.first, self.cell, self.parts = first, None, None
        below = children(first)
        self.in_place = isinstance(first, (list, dict)) and types.get(path) != "another object"
        if below is not None:
            self.parts = [Carried(child, types, (*path, key), line) for key, child in below]
        elif is_number(first):
            self.cell = Cell(first, types.get(path))
        # A fragment that steps replace by others is in registers of the loop's own.
        self.fragment = None
        if types.get(path) == "another object" and is_fragment(first):
            self.fragment = first.load()
            _lang.choose(self.fragment, first, first, line)
        self.path = path
        self.changed = False
        self.at_head = None  # the object that stands for a list or dict which steps replace by another

    def value(self, take):
        """The value that holds take(cell) for each number."""
        if self.parts is not None:
            values = [part.value(take) for part in self.parts]
            if self.in_place:
                put_back(self.first, values if isinstance(self.first, list) else dict(zip(self.first, values)))
                return self.first
            self.at_head = rebuilt(self.first, values)
            return self.at_head
        if self.fragment is not None:
            return self.fragment
        return take(self) if self.cell else self.first

    def head(self):
        self.loaded = self.cell.load()
        return self.loaded

    def after(self):
        return self.cell.load() if self.changed else self.first

    def check(self, end, types, is_content=False):
        """Whether a step may end so; types gets those to trace the loop with again."""
        if self.parts is not None:
            below = children(end)
            if type(end) is not type(self.first) or [key for key, _ in below] != [part.path[-1] for part in self.parts]:
                was = f"{type(self.first).__name__} of {len(self.parts)}"
                raise Differs(f"{was} before the loop and {kind_of(end)} after a step")
            if self.in_place and end is not self.first and not is_content:
                types[self.path] = "another object"
            for part, (_, child) in zip(self.parts, below):
                try:
                    part.check(child, types)
                except Differs as found:
                    raise Differs(found.how, (part.path[-1], *found.path)) from None
        elif is_fragment(self.first):
            if not is_fragment(end) or end.shape != self.first.shape or end.dtype != self.first.dtype:
                raise Differs(f"{self.first!r} before the loop and {end!r} after a step")
            if self.fragment is None and end is not self.first:
                types[self.path] = "another object"
        elif self.cell is None:
            if not is_same(self.first, end):
                raise Differs(f"{kind_of(self.first)} before the loop and {kind_of(end)} after a step")
        elif end is not self.loaded:
            if not is_number(end):
                raise Differs(f"{kind_of(self.first)} before the loop and {kind_of(end)} after a step")
            self.changed = True
            wanted = self.cell.fits(end)
            if wanted is not None:
                types[self.path] = wanted

    def ends(self, end):
        """(cell or fragment, value) of what the step changed."""
        if self.fragment is not None and end is not self.fragment:
            yield self.fragment, end
        if self.parts is not None:
            for part, (_, child) in zip(self.parts, children(end)):
                yield from part.ends(child)
        elif self.cell is not None and self.changed:
            yield self.cell, end


def escape(value, sure):
    """Stores what a step ends with; a function that gives it after the loop. sure: the loop takes a step; else 0 is
    what it gives where no step stored."""
    if value is NOTHING:
        return lambda: NOTHING
    below = children(value)
    if below is not None:
        parts = [escape(child, sure) for _, child in below]
        return lambda: rebuilt(value, [part() for part in parts])
    if is_fragment(value) and not sure:
        memory = _lang.registers_before_loop(value.size, value.dtype)
        kept = _lang.make_view(memory, Layout(value.shape))
        kept.store(value)
        return lambda: kept
    if type(value) is not Value:
        return lambda: value
    return Cell(value, before_loop=not sure).load


class FlagCell:
    """Whether a step was the last. Before the loop no flag is set: else the loop would not be reached."""

    def __init__(self):
        self.memory = _lang.registers(1, "boolean")
        _lang.store(self.memory, 0, False)
        self.is_set = False

    def set(self, flag):
        if flag is not False:
            self.is_set = True
            _lang.store(self.memory, 0, flag)

    def after(self):
        return _lang.load(self.memory, 0) if self.is_set else False
