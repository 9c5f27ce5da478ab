"""The kernel that a thread traces: its open branches and loops, and the objects that they change."""

import builtins
import sys
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
        self.outside = None  # objects, globals and cells that the trace changes
        self.new = {}  # containers that the trace made, by id: (the container, its number)
        self.joined = {}  # containers that stand for one of two, by id: (the container, line)


state = _State()


class Join:
    """Two ways of a decision become one. An object that has another name, too, is then a copy of one of two."""

    def __init__(self, line):
        self.line, self.first, self.merged = line, len(state.new), {}

    def known(self, a, b):
        """The object that stands for the two already, under another name."""
        found = self.merged.get((id(a), id(b)))
        return found[0] if found else None

    def _keep(self, made, a, b):
        self.merged[id(a), id(b)] = made, a, b
        return made

    def fragment(self, made, a, b):
        _lang.choose(made, a, b, self.line)
        return self._keep(made, a, b)

    def container(self, made, a, b):
        if not isinstance(made, tuple) and not (self._is_new(a) and self._is_new(b)):
            state.joined[id(made)] = made, self.line
        return self._keep(made, a, b)

    def _is_new(self, of):
        """Whether one of the ways made it, so that no name from before is its."""
        return state.new.get(id(of), (None, -1))[1] >= self.first


class Tracing:
    """A kernel that this thread traces, from here to its end."""

    def __init__(self, block, fast=False):
        self.block, self.fast = block, fast

    def __enter__(self):
        self.before = vars(state).copy()
        self.divided = _lang.divide_fast(self.fast)
        vars(state).update(
            trace=_lang.Trace(self.block), regions=[], operands=[], missing={}, fast=self.fast, new={}, joined={}
        )
        state.outside = Outside()
        return state.trace

    def __exit__(self, *exception):
        state.trace.close()
        state.outside.restore()
        _lang.divide_fast(self.divided)
        vars(state).update(self.before)


_OF_A_TRACE = (_lang.Value, _lang.View, _lang.Place)


def _has_of_a_trace(values):
    """Whether one of the values, or what they hold, means something in one kernel alone."""
    todo, seen = list(values), set()
    while todo:
        value = todo.pop()
        if isinstance(value, _OF_A_TRACE):
            return True
        if isinstance(value, (list, tuple, set, frozenset, dict)) and id(value) not in seen:
            seen.add(id(value))
            todo += value.values() if isinstance(value, dict) else value
    return False


class Outside:
    """Objects, globals and cells that a trace changes. Values of the kernel do not stay there when it ends."""

    def __init__(self):
        self.objects, self.places = {}, []

    def keep(self, of):
        """An object that is about to be changed."""
        if id(of) in self.objects or id(of) in state.new:
            return
        if isinstance(of, (list, bytearray, dict, set)) or hasattr(of, "__dict__"):
            self.objects[id(of)] = of, content_of(of)

    def keep_place(self, of, name):
        """A global, by the dict and its name, or a cell, that a function may assign."""
        self.places.append((of, name, _held(of, name)))

    def restore(self):
        for of, before in self.objects.values():
            now = content_of(of)
            if _has_of_a_trace(now.values() if isinstance(now, dict) else now):
                put_back(of, before)
        for of, name, before in reversed(self.places):
            if not _has_of_a_trace([_held(of, name)]):
                continue
            if isinstance(of, dict):
                of.pop(name) if before is UNBOUND else of.update({name: before})
            elif before is UNBOUND:
                del of.cell_contents
            else:
                of.cell_contents = before


def _held(of, name):
    if isinstance(of, dict):
        return of.get(name, UNBOUND)
    try:
        return of.cell_contents
    except ValueError:  # an empty cell
        return UNBOUND


_LEFT = "line {}: an exception left a branch or loop of the kernel and was caught: catch it there"


def check_closed(kernel):
    """At the end of a kernel: nothing left a branch or loop of it."""
    if state.regions:
        refuse(f"[{kernel}] " + _LEFT.format(state.regions[0].line))
    if state.operands:
        refuse(f"[{kernel}] an exception left a conditional expression of the kernel and was caught: catch it there")


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
            refuse(_LEFT.format(self.line))
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
    if type(of).__module__.startswith("strata"):
        return of
    if id(of) in state.joined:
        line, kind = state.joined[id(of)][1], type(of).__name__
        refuse(
            f"line {line} takes one of two {kind}s by a decision of the kernel, and this changes it: neither of them "
            f"would change. Take a copy, as in {kind}(a if p else b)"
        )
    if state.outside is not None:
        state.outside.keep(of)
    if not state.regions:
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
    if state.trace is not None:
        state.new.setdefault(id(of), (of, len(state.new)))
    if state.regions:
        state.regions[-1].born[id(of)] = of
    return of


_ALONE = (lambda of: sys.getrefcount(of))([])  # references to an argument that its caller has let go of


def result(of):
    """The value of an expression. An object that nothing else refers to is new here, and so is what it alone holds."""
    if state.regions and sys.getrefcount(of) <= _ALONE and _may_change(of):
        made(of)
        _made_with(of)
    return of


def _may_change(of):
    if type(of).__module__.startswith("strata"):
        return False
    return isinstance(of, (list, bytearray, dict, set)) or hasattr(of, "__dict__")


def _made_with(of):
    held = vars(of) if hasattr(of, "__dict__") else of
    for part in held.values() if isinstance(held, dict) else held:
        if sys.getrefcount(part) <= _ALONE + 1 and _may_change(part):  # the holder's
            made(part)
            _made_with(part)


def take_back(region):
    """The changes of a region, undone: (object, before, after) of each."""
    taken = {}
    for key, (of, before) in region.changes.items():
        taken[key] = (of, before, content_of(of))
        put_back(of, before)
    region.changes = {}
    return taken
