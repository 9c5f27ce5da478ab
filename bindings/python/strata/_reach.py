"""What a function can reach from its variables: the tensors it may read and change, and all else that decides what it does."""

import array
import collections
import dis
import functools
import mmap
import os
import re
import sys
import types

import numpy as np

from ._strata import DType, Tensor, UsageError, _Guards

PLAIN = (type(None), bool, int, float, complex, str, bytes, DType, type(...), range, np.generic, np.dtype)
DATA = (*PLAIN, Tensor, list, tuple, dict, set, frozenset)
BYTES = (np.ndarray, bytearray, memoryview, array.array, mmap.mmap)  # whose content can change
MOST = 200_000  # places
COMPARED = 1 << 16  # bytes of one of BYTES that each call compares
HIDDEN = ("__next__", "bit_generator", "getrandbits")  # of iterators and random generators, whose next value is another one


class Place:
    """Where a value was found: holder[key] of a dict, list, tuple or deque, the contents of a cell, an attribute of another holder,
    or the length of the holder. Of kind "content", the bytes of the value count too."""

    __slots__ = ("kind", "holder", "key", "value", "path", "content")

    def __init__(self, kind, holder, key, value, path, content=None):
        self.kind, self.holder, self.key, self.value, self.path, self.content = kind, holder, key, value, path, content

    def became(self, other):
        """Is it another value now?"""
        if self.kind == "tensor" or other.kind == "tensor" or self.content != other.content:
            return self.value is not other.value or self.content != other.content
        if self.value is other.value:
            return False
        if type(self.value) is not type(other.value) or not isinstance(self.value, (*PLAIN, frozenset, types.MethodType)):
            return True
        return repr(self.value) != repr(other.value) if isinstance(self.value, (float, complex)) else self.value != other.value


def is_of_user(module):
    """Is it neither Strata's, nor Python's, nor of an installed package?"""
    top = (module or "").partition(".")[0]
    if top in sys.stdlib_module_names and top != "__main__" or top in ("strata", "numpy"):
        return False
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return f"{os.sep}site-packages{os.sep}" not in file


def content_of(value):
    """(format, shape, bytes) of memory; None where those are many, or objects."""
    try:
        with memoryview(value) as view:
            return (view.format, view.shape, view.tobytes()) if view.nbytes <= COMPARED and "O" not in view.format else None
    except (BufferError, ValueError):  # dates; what is closed
        return None


def names_in(code):
    """(global names, all names with those of attributes, those whose value is read) that a code object and those inside it say."""
    of_globals, all_names, read, pending = {}, {}, set(), [code]
    while pending:
        one = pending.pop()
        all_names.update(dict.fromkeys(one.co_names))
        for i in dis.get_instructions(one):
            if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                of_globals[i.argval] = None
            if i.opname.startswith("LOAD_") and isinstance(i.argval, str):
                read.add(i.argval)
        pending += [c for c in one.co_consts if isinstance(c, types.CodeType)]
    return of_globals, all_names, read


class Reach:
    """All places, once each. `objects` are arguments that are neither tensors nor plain values."""

    def __init__(self, function, objects):
        self.places, self._seen, self._kept, self._functions, self._large = [], set(), [], [], []
        self._visit_function(function, getattr(function, "__name__", "the function"))
        for i, value in enumerate(objects):
            path = f"argument {type(value).__name__}"
            self._visit_bytes(objects, i, value, path) if isinstance(value, BYTES) else self._visit_inside(value, path)
        self._refuse_large()

    def guards(self, of_call, exempt=()):
        """What says whether all but the exempt places is as it was, for a call with these tensors."""
        guards = _Guards()
        self.places = [p for p in self.places if (id(p.holder), p.key) not in exempt]
        for p in self.places:
            guards.add(p.kind, (p.holder, p.key, p.value))
        first = {}
        guards.sees([first.setdefault(id(t), i) for i, t in enumerate([*of_call, *self.tensors()])])
        return guards

    def tensors(self):
        return [p.value for p in self.places if p.kind == "tensor"]

    def changes(self, later, exempt):
        """(places that hold another tensor later, what else is not as it was, in words)."""
        then, replaced = {(p.kind == "length", id(p.holder), p.key if type(p.key) is str else repr(p.key)): p for p in later.places}, []
        for p in self.places:
            now = then.pop((p.kind == "length", id(p.holder), p.key if type(p.key) is str else repr(p.key)), None)
            if (id(p.holder), p.key) in exempt:
                continue
            if now is None:
                return replaced, f"{p.path} is not there any more"
            if p.kind == now.kind == "tensor":
                replaced += [now] if p.became(now) else []
            elif p.became(now):
                return replaced, f"{p.path} was {_shown(p.value)}, then {_shown(now.value)}"
        new = next((p for p in then.values() if (id(p.holder), p.key) not in exempt), None)
        return replaced, f"{new.path} came new" if new else None

    def _add(self, kind, holder, key, value, path, content=None):
        if len(self.places) >= MOST:
            raise UsageError(f"[jit] the function reaches more than {MOST} values, of {path} and others: pass large data as tensors")
        self.places.append(Place(kind, holder, key, value, path, content))

    def _visit(self, holder, key, value, path, named=False):
        if isinstance(value, Tensor):
            return self._add("tensor", holder, key, value, path)
        if isinstance(value, (set, frozenset)):
            self._add("length", value, None, len(value), path)
            return self._add("same", holder, key, value, path)
        if isinstance(value, np.ndarray):
            raise UsageError(f"[jit] {path} is a NumPy array, whose values a captured function would keep: make it a strata.Tensor before")
        if isinstance(value, BYTES):
            return self._visit_bytes(holder, key, value, path)
        if named and any(hasattr(value, name) for name in HIDDEN) and not isinstance(value, (type, types.ModuleType)):
            raise UsageError(f"[jit] {path} gives another value each time, and a captured function would keep one: draw it outside and pass it as a tensor")
        self._add("same", holder, key, value, path)
        self._visit_inside(value, path)

    def _visit_inside(self, value, path):
        """The places inside of a value that can change."""
        if isinstance(value, PLAIN) or id(value) in self._seen:
            return
        self._seen.add(id(value))
        self._kept.append(value)
        if isinstance(value, dict):
            self._items(value, value.items(), path)
        elif isinstance(value, (list, collections.deque)):
            self._items(value, enumerate(value), path)
        elif isinstance(value, tuple):
            for i, item in enumerate(value):
                self._visit(value, i, item, f"{path}[{i}]")
        elif isinstance(value, (types.FunctionType, types.MethodType, functools.partial)) or hasattr(value, "__wrapped__"):
            self._visit_function(value, path)
        elif isinstance(value, type):
            self._visit_class(value)
        elif not isinstance(value, types.ModuleType):
            self._visit_object(value, path)

    def _visit_object(self, value, path):
        if hasattr(value, "__dict__"):
            own = vars(value)
            self._add("length", own, None, len(own), f"the attributes of {path}")
            for name, item in own.items():
                self._visit_attribute(own, name, item, f"{path}.{name}")
        for cls in type(value).__mro__:
            slots = [name for name, member in vars(cls).items() if isinstance(member, types.MemberDescriptorType)] if is_of_user(cls.__module__) else ()
            for name in slots:
                if hasattr(value, name):
                    self._visit_attribute(value, name, getattr(value, name), f"{path}.{name}")
        self._visit_class(type(value))

    def _visit_attribute(self, own, name, value, path):
        """Data that an object holds may be for others than the function."""
        visit = self._visit_bytes if isinstance(value, np.ndarray) else self._visit
        visit(own, name, value, path)

    def _visit_bytes(self, holder, key, value, path):
        """What is not compared may be for others: that is known when all names are that the function says."""
        content = content_of(value)
        if not content:
            self._large.append(path)
        self._add("content" if content else "same", holder, key, value, path, content)

    def _refuse_large(self):
        """Arrays that are not compared, where what runs in a call says the name that they are held by."""
        live, pending = set(), [*self._functions]
        while now := [f for f in pending if f[0] is None or f[0] in live]:
            pending = [f for f in pending if f not in now]
            live.update(*(names for _, names in now))
        for path in self._large:
            if re.findall(r"\w+", re.sub(r"\[.*?\]", "", path))[-1] in live:
                raise UsageError(f"[jit] {path} is an array of objects or of more than {COMPARED} bytes, whose values a captured function would keep: make it a strata.Tensor before")

    def _items(self, holder, items, path):
        self._add("length", holder, None, len(holder), path)
        for key, item in items:
            self._visit_attribute(holder, key, item, f"{path}[{key!r}]")

    def _visit_function(self, function, path, called=None):
        """called: the name that it runs under, none: it may run in any case."""
        if isinstance(function, functools.partial):
            for part, name in ((function.func, ".func"), (function.args, ".args"), (function.keywords, ".keywords")):
                self._visit_inside(part, path + name)
            return
        if isinstance(function, types.MethodType):
            self._visit_inside(function.__self__, path)
            function = function.__func__
        function = getattr(function, "__wrapped__", function)
        if not isinstance(function, types.FunctionType):
            return self._visit_inside(function, path)
        self._seen.add(id(function))
        self._kept.append(function)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if ("cell", id(cell)) not in self._seen and cell != types.CellType():  # something is in it
                self._seen.add(("cell", id(cell)))  # which functions may share
                self._visit(cell, 0, cell.cell_contents, name, named=True)
        for value in (function.__defaults__, function.__kwdefaults__):
            self._visit_inside(value, f"a default of {path}")
        if is_of_user(function.__module__):
            of_globals, names, read = names_in(function.__code__)
            self._functions.append((called, read))
            self._visit_names(function.__globals__, of_globals, names, "")

    def _visit_names(self, namespace, names, attributes, prefix):
        for name in names:
            if name not in namespace or (id(namespace), name) in self._seen:
                continue
            self._seen.add((id(namespace), name))
            value = namespace[name]
            self._visit(namespace, name, value, prefix + name, named=True)
            if isinstance(value, types.ModuleType) and is_of_user(value.__name__):
                self._visit_names(vars(value), attributes, attributes, f"{prefix}{name}.")

    def _visit_class(self, cls):
        """What a user's class holds, and what its methods reach."""
        if ("class", id(cls)) in self._seen:
            return
        self._seen.add(("class", id(cls)))
        for base in cls.__mro__:
            if not is_of_user(base.__module__) or base is object:
                continue
            for name, member in vars(base).items():
                member = getattr(member, "fget", None) or getattr(member, "__func__", member)
                if isinstance(member, types.FunctionType) and id(member) not in self._seen:
                    overrides = any(name in vars(b) for b in base.__mro__ if not is_of_user(b.__module__))
                    self._visit_function(member, f"{cls.__name__}.{name}", None if overrides or name.startswith("__") else name)
                elif not name.startswith("__") and (isinstance(member, DATA) or is_of_user(type(member).__module__)):
                    self._visit_attribute(base, name, member, f"{cls.__name__}.{name}")


def _shown(value):
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
