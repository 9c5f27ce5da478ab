"""Loops that Python or the kernel takes."""

from .. import _strata
from ._carried import Carried, FlagCell, escape
from ._carry import UNBOUND, Differs, Value, is_fragment, refuse
from ._logic import none_of, not_
from ._ranges import Range
from ._state import Region, changed, content_of, put_back, state, take_back

_lang = _strata._lang
_MOST_TRACES = 16  # of a step: each finds another object that it changes, or another type of a number


def loop(iterated, names, outer, line, lines, leaves, targets, found):
    if isinstance(iterated, range):
        iterated = Range(iterated.start, iterated.stop, iterated.step)
    if state.trace is None or not isinstance(iterated, Range) or iterated.is_empty():
        return _For(iter(iterated), leaves)
    return _KernelFor(iterated, names, outer, line, lines, leaves, targets, found)


class _For:
    """A loop of Python's: each step is traced by itself."""

    decides_in_kernel = False

    def __init__(self, iterator, leaves):
        self.iterator, self.leaves = iterator, leaves

    def __iter__(self):
        return self.iterator

    def tail(self, names):
        return any(names[flag] is True for flag in self.leaves)


class _KernelLoop(Region):
    """A loop that the kernel takes. It is traced once, again where a number in it needs another type than it had."""

    def __init__(self, names, outer, line, lines, leaves, found):
        super().__init__(names, outer, line)
        self.lines, self.leaves = dict(zip(names, lines)), leaves
        self.found, self.types, self.extra = self.picked(found), {}, []
        self.mark, self.operand_count = state.trace.mark(), len(state.operands)
        self.again, self.traces = True, 0

    def begin(self):
        """Cells for what the loop carries; the names' values at the head of a step."""
        take_back(self)
        state.trace.undo_to(self.mark)
        self.again = False
        flags = {*self.leaves, "_strata_result"}
        self.carried = {
            name: Carried(value, self.types, (name,), self.line)
            for name, value in self.found.items()
            if name not in flags and name not in self.targets
        }
        for of in self.extra:
            changed(of)
            self.carried[id(of)] = Carried(content_of(of), self.types, (id(of),), self.line)
        for carried in self.carried.values():
            self._keepcontent_of(carried)
        # A flag is False at the head of each step, since a step that sets one is the last.
        self.flags = {f: FlagCell() for f in self.leaves}
        self.open()
        self.values = {**self.found, **dict.fromkeys(self.leaves, False)}
        for key, carried in self.carried.items():
            value = carried.value(Carried.head)
            if isinstance(key, str):
                self.values[key] = value
        for of in self.extra:
            put_back(of, self.carried[id(of)].value(lambda c: c.loaded))

    def _keepcontent_of(self, carried):
        if carried.parts is None:
            return
        if carried.in_place and carried.path[0] in self.found:
            changed(carried.first)
        for part in carried.parts:
            self._keepcontent_of(part)

    def _differs(self, name, found):
        if not isinstance(name, str):
            kind = next(type(of).__name__ for of in self.extra if id(of) == name)
            refuse(f"a {kind} is changed in the loop of line {self.line}: {found.how}")
        refuse(
            f"{found.place(name)} is {found.how} (line {self.lines[name]}) of the loop of line {self.line}: give it "
            f"that type before the loop, e.g. dtypes.float32(0)"
        )

    def _check_replaced(self):
        """A list that a step replaces stays as it was: another name of it would miss a change."""
        for name, one in self._replaced():
            if id(one.first) in self.changes or id(one.at_head) in self.changes:
                kind = type(one.first).__name__
                refuse(
                    f"{name} becomes another {kind} (line {self.lines[name]}) in the loop of line {self.line}, which "
                    f"also changes the {kind} that {name} was before: another name of it would miss that. Change it in "
                    f"place alone, as in {name}[0] = x, or begin with a copy, {kind}({name})"
                )

    def _check(self, ends):
        self._check_replaced()
        types = {}
        for name, carried in self.carried.items():
            try:
                carried.check(ends[name], types, not isinstance(name, str))
            except Differs as found:
                self._differs(name, found)
        known = {id(of) for of in self.extra} | {id(c.first) for c in self._lists()}
        unknown = [of for key, (of, _) in self.changes.items() if key not in known]
        self.extra += unknown
        self.traces += 1
        if unknown and self.traces > _MOST_TRACES:
            refuse(
                f"the loop of line {self.line} changes a {type(unknown[0]).__name__} that each step creates, and "
                f"that something else refers to: make it in the step by a literal or a call of its type"
            )
        if types and all(self.types.get(path) == dtype for path, dtype in types.items()):
            refuse(f"line {self.line}: no type of a register holds what the loop carries: cast before the loop")
        self.types.update(types)
        return bool(types or unknown)

    def _replaced(self):
        """Lists and dicts that steps replace by others, each with its name."""
        for name, carried in self.carried.items():
            todo = [carried] if isinstance(name, str) else []
            while todo:
                one = todo.pop()
                todo += one.parts or []
                if one.parts is not None and not one.in_place and isinstance(one.first, (list, dict)):
                    yield name, one

    def _lists(self):
        todo = list(self.carried.values())
        while todo:
            one = todo.pop()
            todo += one.parts or []
            if one.parts is not None and one.in_place:
                yield one

    def tail(self, names):
        """The end of a step."""
        ends = {name: names.get(name, UNBOUND) for name in self.carried if isinstance(name, str)}
        for name, end in ends.items():
            if end is UNBOUND:
                refuse(f"{name} has no value after a step of the loop of line {self.line}, and had one before it")
        for of in self.extra:
            ends[id(of)] = content_of(of)
        self.again = self._check(ends)
        if self.again:
            self.copy = 0
            return False
        if self.goes_on(ends, names):
            return False
        self._store(ends, names)
        self.end_of_step(names)
        self.end_loop()
        self._finish(names)
        return False

    copy = 0  # which of the unrolled steps is traced

    def goes_on(self, ends, names):
        """Whether another step is traced into the same one of the kernel."""
        return False

    def end_loop(self):
        _lang.end_loop()

    def _store(self, ends, names):
        stores = [pair for name, carried in self.carried.items() for pair in carried.ends(ends[name])]
        # All are computed before one changes.
        stores = [(to, value.load() if is_fragment(value) else _lang.valued(value)) for to, value in stores]
        for to, value in stores:
            if is_fragment(to):
                _lang.renew(to, value)
            else:
                _lang.store(to.memory, 0, value)
        for name, flag in self.flags.items():
            flag.set(names[name])
        self.escaped = {}
        for name in self.names:
            if name in self.carried or name in self.flags or name in self.targets or name not in names:
                continue
            value = names[name]
            sure = self.is_sure()
            if sure or name == "_strata_result":
                # In a branch that is not taken the loop takes no step, and its values are loaded all the same.
                self.escaped[name] = escape(value, sure and len(state.regions) == 1)
            else:
                self.escaped[name] = UNBOUND

    def _finish(self, names):
        self.close()
        for of in self.extra:
            self.changes.pop(id(of), None)
        self.values = {name: flag.after() for name, flag in self.flags.items()}
        for key, carried in self.carried.items():
            value = carried.value(Carried.after)
            if isinstance(key, str):
                self.values[key] = value
        for of in self.extra:
            changed(of)
            put_back(of, self.carried[id(of)].value(Carried.after))
        for name, value in self.escaped.items():
            if value is UNBOUND:
                self.note(
                    name,
                    f"the loop of line {self.line}, which may take no step, assigns it, in line {self.lines[name]}: "
                    f"assign it before",
                )
            else:
                self.values[name] = value()

    def end_of_step(self, names):
        set_flags = [names[f] for f in self.leaves if names[f] is not False]
        if set_flags:
            _lang.break_if(not_(none_of(*set_flags)))

    targets = ()


class _KernelFor(_KernelLoop):
    def __init__(self, iterated, names, outer, line, lines, leaves, targets, found):
        if len(targets) != 1:
            refuse(f"line {line}: a loop over a range has one number a step")
        self.range, self.targets, self.copy = iterated, targets, 0
        if iterated.unroll > 1 and leaves:
            refuse(f"line {line}: unroll={iterated.unroll} of a loop that break or return leaves: leave unroll out")
        super().__init__(names, outer, line, lines, leaves, found)

    def __iter__(self):
        return self

    def __next__(self):
        if not self.again:
            raise StopIteration
        if self.copy == 0:
            self.begin()
            return self.range.step_value(self.index)
        return self.range.step_value(self.index + self.copy)

    def open(self):
        self.index = self.range.open()

    def goes_on(self, ends, names):
        # The values that a step ends with are those that the next unrolled one begins with.
        self.copy = (self.copy + 1) % self.range.unroll
        self.again = self.copy > 0
        if self.again and self.range.has_rest():
            self._store(ends, names)
            _lang.break_if(self.index + self.copy >= self.range.steps)
        if self.again:
            self.values = {**self.found, **{name: end for name, end in ends.items() if isinstance(name, str)}}
        return self.again

    def end_loop(self):
        _lang.end_loop(self.range.stages)

    def is_sure(self):
        return self.range.has_a_step() and not self.range.has_rest()

    def _finish(self, names):
        super()._finish(names)
        name = self.targets[0]
        last = self.range.last()
        if last is not None and not self.leaves:
            self.values[name] = last
        elif name in self.found:
            self.note(name, f"it was the number of a step of the loop of line {self.line}: keep it in another name")
        else:
            self.note(name, f"it is the number of a step of the loop of line {self.line}: keep it in another name")


def while_(names, outer, line, lines, leaves):
    return _While(names, outer, line, lines, leaves)


class _While:
    """A loop of Python's until its test, or what ends it, is a value of the kernel."""

    def __init__(self, names, outer, line, lines, leaves):
        self.given = (names, outer, line, lines, leaves)
        self.leaves, self.kernel, self.over = leaves, None, False
        self.mark = self.first = None

    @property
    def decides_in_kernel(self):
        return self.kernel is not None

    def value(self, name):
        return self.kernel.value(name)

    def next(self, names):
        if self.kernel is None:
            if self.first is None and state.trace is not None:
                self.first, self.mark = dict(names), state.trace.mark()
                self.region = _Watch(self.given[2])
            return True
        if self.kernel.again:
            self.kernel.begin()
            return True
        return False

    def _in_kernel(self):
        """The loop from its start again, in the kernel."""
        self.region.undo()
        state.trace.undo_to(self.mark)
        self.kernel = _KernelWhile(*self.given, self.first)

    def test(self, value, names):
        if self.kernel is not None:
            return self.kernel.test(value)
        if type(value) is Value:
            self._in_kernel()
            return None
        if not value and self.first is not None:
            self.region.keep()
        return bool(value)

    def tail(self, names):
        if self.kernel is not None:
            return self.kernel.tail(names)
        flags = [names[f] for f in self.leaves]
        if any(type(f) is Value for f in flags):
            self._in_kernel()
            return False
        if any(f is True for f in flags):
            if self.first is not None:
                self.region.keep()
            return True
        return False


class _Watch(Region):
    """Changes of objects while it is open that may be undone."""

    def __init__(self, line):
        super().__init__((), (), line)

    def undo(self):
        take_back(self)
        self.close()

    def keep(self):
        self.close()


class _KernelWhile(_KernelLoop):
    def open(self):
        _lang.begin_loop(2**31 - 1)
        self.always = False

    def test(self, value):
        if type(value) is not Value:
            if not value:
                _lang.break_if(True)
            self.always = bool(value)
        else:
            _lang.break_if(not_(value))
        return True

    def is_sure(self):
        return self.always
