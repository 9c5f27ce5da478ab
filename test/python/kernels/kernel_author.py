"""Kernels written statement by statement: each statement comes after all before it, and a loop holds what is written in
it. What tests of control flow share.
"""

from contextlib import contextmanager

from strata import uop

ENDLESS = 2**31 - 1


class Author:
    """Registers, loads, stores and loops in the order in which they are written."""

    def __init__(self):
        self.last = []  # what the next statement comes after
        self.ids = self.slots = 0

    def after(self, x):
        return x.after(*self.last) if self.last else x

    def register(self, start, dtype="int32"):
        self.slots += 1
        memory = uop.placeholder(1, dtype, "reg", self.slots)
        self.store(memory, 0, uop.const(start, dtype) if not isinstance(start, uop.UOp) else start)
        return memory

    def load(self, memory, at=0):
        value = self.after(memory)[at].load()
        if self.last:  # what is stored later must not be read
            self.last = [*self.last, value.after(*self.last[:1])]
        return value

    def store(self, memory, at, value):
        self.last = [self.after(memory)[at].store(value)]

    def effect(self, effect):
        self.last = [effect]

    def barrier(self):
        effects = [u for u in self.last if u.dtype.name == "none" and u.op != "range"]
        self.last = [uop.barrier(*effects)]

    def break_if(self, condition):
        self.last = [uop.break_if(self.after(condition), self.loops[-1])]

    loops: list = []

    @contextmanager
    def loop(self, steps=ENDLESS, count=None):
        r = uop.range(steps, self.ids, steps=count)
        self.ids += 1
        self.last = [*self.last, r]
        self.loops = [*self.loops, r]
        yield r
        self.loops = self.loops[:-1]
        self.last = [self.last[0].end(r)]

    @contextmanager
    def where(self, condition):
        """An if: a loop of one step that threads leave first."""
        with self.loop(1):
            self.break_if(~condition)
            yield

    def sink(self, name="flow"):
        return uop.sink(self.last[0], name=name)
