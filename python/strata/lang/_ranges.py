"""Ranges that a kernel goes through."""

from .. import _strata
from .._strata import UsageError

_lang = _strata._lang
Value = _lang.Value
_MOST = 2**31 - 1


class Range:
    """The numbers from start, by step, as long as they are below stop; a loop over it is a loop of the kernel."""

    def __init__(self, start, stop, step=1):
        self.start, self.stop, self.step = start, stop, step
        if type(step) is not Value and step == 0:
            raise ValueError("range() arg 3 must not be zero")
        if type(step) is Value:
            raise UsageError("[range] the step of a range is a Python number: its sign decides where the range ends")
        for what, bound in (("start", start), ("stop", stop)):
            if isinstance(bound, float) or type(bound) is Value and not bound.dtype.is_integer:
                raise TypeError(f"[range] {what} is an integer, not {bound!r}")

    @classmethod
    def of(cls, *given):
        if len(given) == 1:
            return cls(0, given[0])
        if not 2 <= len(given) <= 3:
            raise TypeError(f"range expected 1 to 3 arguments, got {len(given)}")
        return cls(*given)

    unroll = stages = 1

    def scheduled(self, unroll, stages):
        """How the kernel goes through it."""
        for name, value in (("unroll", unroll), ("stages", stages)):
            if value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise UsageError(f"[range] {name} is a number from 1 on, not {value!r}")
            setattr(self, name, value)
        if self.unroll > 1 and self.stages > 1:
            raise UsageError(
                "[range] unroll= and stages= are for different loops: a step of a loop with stages copies once; unroll "
                "a loop inside of it"
            )
        return self

    def _python(self):
        if Value in (type(self.start), type(self.stop)):
            raise UsageError(
                "[range] the kernel decides how many numbers this range has: go through it with a for statement of the "
                "kernel's own source, or with lang.loop"
            )
        return range(self.start, self.stop, self.step)

    def __iter__(self):
        return iter(self._python())

    def __len__(self):
        return len(self._python())

    def __getitem__(self, at):
        return self._python()[at]

    def __repr__(self):
        return f"range({self.start!r}, {self.stop!r}, {self.step!r})"

    def count(self):
        """How many numbers there are."""
        if Value not in (type(self.start), type(self.stop)):
            return len(self._python())
        distance = self.stop - self.start if self.step > 0 else self.start - self.stop
        step = abs(self.step)
        return _lang.maximum(distance if step == 1 else (distance + (step - 1)) // step, 0)

    def is_empty(self):
        return Value not in (type(self.start), type(self.stop)) and not self._python()

    def open(self):
        """Begins the loop; the number of the first of its unrolled steps, from 0 on."""
        self.steps, by = self.count(), self.unroll
        if type(self.steps) is not Value:
            index = _lang.begin_loop(-(-self.steps // by))
            return index if by == 1 else index * by
        most = min(max(_lang.bounds(self.steps)[1], 1), _MOST)
        if _lang.is_uniform(self.steps):
            index = _lang.begin_loop(-(-most // by), self.steps if by == 1 else (self.steps + (by - 1)) // by)
            return index if by == 1 else index * by
        index = _lang.begin_loop(-(-most // by))
        index = index if by == 1 else index * by
        _lang.break_if(index >= self.steps)
        return index

    def has_rest(self):
        """Whether the loop may end between unrolled steps."""
        return self.unroll > 1 and (type(self.steps) is Value or self.steps % self.unroll != 0)

    def step_value(self, index):
        value = index if self.step == 1 else index * self.step
        return value if type(self.start) is not Value and self.start == 0 else value + self.start

    def has_a_step(self):
        return type(self.steps) is not Value and self.steps > 0

    def last(self):
        """The number of the last step, if the kernel need not run to tell."""
        if not self.has_a_step():
            return None
        return self._python()[-1]


def static_range(*bounds):
    """The numbers of Python's range as a tuple: each is traced by itself, and may index lists."""
    return tuple(range(*bounds))
