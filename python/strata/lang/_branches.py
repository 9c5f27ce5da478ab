"""Branches that decide now or in the kernel."""

from .. import _strata
from ._carry import UNBOUND, Differs, Value, merged, refuse
from ._state import Join, Region, changed, put_back, take_back

_lang = _strata._lang


class _Now:
    """A branch that Python takes."""

    decides_in_kernel = False

    def __init__(self, taken):
        self.taken = taken

    def then(self, names):
        return self.taken

    def other(self, names):
        return not self.taken


_TAKEN, _NOT_TAKEN = _Now(True), _Now(False)


def branch(test, names, outer, line, then_lines, other_lines):
    if type(test) is not Value:
        return _TAKEN if test else _NOT_TAKEN
    return _Branch(test, names, outer, line, then_lines, other_lines)


class _Branch(Region):
    def __init__(self, test, names, outer, line, then_lines, other_lines):
        super().__init__(names, outer, line)
        self.test, self.lines = test, (dict(zip(names, then_lines)), dict(zip(names, other_lines)))
        self.after_then, self.join = None, Join(line)

    def then(self, names):
        self.before = self.picked(names)
        _lang.begin_if(self.test)
        return True

    def other(self, names):
        self.after_then, self.changed_then = self.picked(names), take_back(self)
        _lang.begin_else()
        self.values = self.before
        return True

    def end(self, names):
        if self.after_then is None:
            self.after_then, self.changed_then = self.picked(names), take_back(self)
            after_other, changed_other = self.before, {}
        else:
            after_other, changed_other = self.picked(names), take_back(self)
        _lang.end_if()
        self.close()
        self.values = {}
        for name in self.names:
            a, b = self.after_then.get(name, UNBOUND), after_other.get(name, UNBOUND)
            if a is UNBOUND and b is UNBOUND:
                continue
            if a is UNBOUND or b is UNBOUND:
                way, line = ("if", self.lines[0][name]) if b is UNBOUND else ("else", self.lines[1][name])
                self.note(name, f"the {way} of line {self.line} alone assigns it, in line {line}: assign it before")
                continue
            self.values[name] = self._joined(name, a, b)
        self._join_changes(self.changed_then, changed_other)

    def _joined(self, name, a, b):
        try:
            return merged(self.test, a, b, self.join)
        except Differs as found:
            first, second = (lines[name] for lines in self.lines)
            what = (
                f"what the function returns is {found.how}"
                if name == "_strata_result"
                else (f"{found.place(name)} is {found.how}")
            )
            where = f"lines {first} and {second}" if first != second else f"line {first}"
            refuse(f"{what} ({where}), and the kernel decides which in line {self.line}: give both one type")

    def _join_changes(self, then, other):
        for key in {**then, **other}:
            of, before = (then.get(key) or other.get(key))[:2]
            a = then[key][2] if key in then else before
            b = other[key][2] if key in other else before
            changed(of)
            try:
                joined = merged(self.test, a, b, self.join)
            except Differs as found:
                refuse(
                    f"line {self.line}: a {type(of).__name__} is changed where the kernel decides, and {found.how}: "
                    f"change it before, or make its elements values"
                )
            put_back(of, joined)
