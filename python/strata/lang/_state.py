"""The kernel that a thread traces: its open branches and loops, and the objects that they change."""

import builtins
import threading
import types

from .. import _strata
from ._carry import UNBOUND, Value, refuse

_lang = _strata._lang


class _State(threading.local):
    def __init__(self):
        self.trace = None  # of the kernel that this thread traces
        self.regions = []  # branches and loops that are open
        self.operands = []  # of and, or and conditional expressions
        self.missing = {}  # why a name has no value
        self.fast = False  # the decorator's hint


state = _State()


class Tracing:
    """A kernel that this thread traces, from here to its end."""

    def __init__(self, block, fast=False):
        self.block, self.fast = block, fast

    def __enter__(self):
        self.before = (state.trace, state.regions, state.operands, state.missing, state.fast)
        state.fast, self.divided = self.fast, _lang.divide_fast(self.fast)
        state.trace, state.regions, state.operands, state.missing = _lang.Trace(self.block), [], [], {}
        return state.trace

    def __exit__(self, *exception):
        state.trace.close()
        _lang.divide_fast(self.divided)
        state.trace, state.regions, state.operands, state.missing, state.fast = self.before


class Region:
    """A part of a kernel that may run or not, or several times."""

    decides_in_kernel = True

    def __init__(self, names, outer, line):
        self.names, self.line, self.values = names, line, {}
        self.changes, self.born = {}, {}
        if outer:
            refuse(
                f"line {line}: the kernel decides here whether the global name {outer[0]} is assigned, which outlives "
                f"it: return the value, or keep it in a tensor"
            )
        state.regions.append(self)

    def value(self, name):
        return self.values.get(name, UNBOUND)

    def close(self):
        if not state.regions or state.regions[-1] is not self:
            refuse(f"line {self.line}: an exception left a branch or loop of the kernel and was caught: catch it there")
        state.regions.pop()

    def picked(self, names):
        return {n: names[n] for n in self.names if n in names}

    def note(self, name, reason):
        state.missing[name] = reason


# Objects that statements change in place.

_OF_CLASSES = ("__dict__", "__weakref__")  # entries of a class that show its instances


def content_of(of):
    """A copy of what an object holds, that put_back takes."""
    if isinstance(of, (list, bytearray)):
        return builtins.list(of)
    if isinstance(of, (dict, set)):
        return of.copy()
    return {name: value for name, value in vars(of).items() if name not in _OF_CLASSES}


def put_back(of, content):
    if isinstance(of, (list, bytearray)):
        of[:] = content
    elif isinstance(of, (dict, set)):
        of.clear()
        of.update(content)
    elif isinstance(of, type):
        for name in content_of(of).keys() - content.keys():
            delattr(of, name)
        for name, value in content.items():
            if vars(of).get(name, UNBOUND) is not value:
                setattr(of, name, value)
    else:
        vars(of).clear()
        vars(of).update(content)


def changed(of, by_item=False):
    """An object that is about to be changed: what it holds now is kept for the way that does not change it.

    by_item: by of[i] = x. What a method of the user's does there is not seen.
    """
    if not state.regions or type(of).__module__.startswith("strata"):
        return of
    if by_item and isinstance(getattr(type(of), "__setitem__", None), types.FunctionType):
        refuse(
            f"an item of a {type(of).__name__} is assigned in line {state.regions[-1].line} or below, where the kernel "
            f"decides: its __setitem__ would run for all threads. Keep it in a view, or assign it before"
        )
    key = id(of)
    for region in reversed(state.regions):
        if key in region.born:
            break
        if key in region.changes:
            continue
        if not isinstance(of, (list, bytearray, dict, set)) and not hasattr(of, "__dict__"):
            if isinstance(of, (int, float, str, tuple, bytes, type(None), Value)):
                break  # x += 1 makes another one
            refuse(
                f"a {type(of).__name__} is changed in line {region.line} or below, where the kernel decides: keep it "
                f"in a view, or change it before"
            )
        region.changes[key] = (of, content_of(of))
    return of


def outlives(names, function):
    """A function is called that assigns names of functions around it or of its module."""
    if state.regions:
        refuse(
            f"line {state.regions[-1].line}: the kernel decides here, or in a loop, whether {function} is called. It "
            f"assigns {', '.join(names)}, which outlives it: return the value instead"
        )


def made(of):
    """An object that is new here: nothing outside of the region has it."""
    if state.regions:
        state.regions[-1].born[id(of)] = of
    return of


def take_back(region):
    """The changes of a region, undone: (object, before, after) of each."""
    taken = {}
    for key, (of, before) in region.changes.items():
        taken[key] = (of, before, content_of(of))
        put_back(of, before)
    region.changes = {}
    return taken
