"""The objects that a function can reach from its variables: tensors it may read and change, and all else that decides
what it does. Closure guards compare them before a captured function is called again.
"""

import array
import collections
import contextvars
import dis
import functools
import gc
import mmap
import os
import re
import sys
import threading
import types
import weakref

import numpy as np

from ._strata import DType, Tensor, UsageError, _Calls, _Guards

PLAIN = (type(None), bool, int, float, complex, str, bytes, DType, type(...), range, np.generic, np.dtype)
BYTES = (np.ndarray, bytearray, memoryview, array.array, mmap.mmap)  # whose content can change
MOST = 200_000  # places
COMPARED = 1 << 16  # bytes of one of BYTES that each call compares
HEAP_TYPE = 1 << 9  # in __flags__ of a class that is made while Python runs
STRUCTURE = (
    "length",
    "keys",
    "object",
    "function",
    "bases",
    "attribute",
)  # kinds of places that say which values there are
HIDDEN = (
    "__next__",
    "bit_generator",
    "getrandbits",
)  # of iterators and random generators, whose next value is another one


class Place:
    """The place of a value, or of what decides which values are there: by kind as _Guards of
    bindings/python/capture/guards_p.h has them.

    holder[key] of a dict, list, tuple, deque or class, the contents of a cell or context variable, an attribute of
    another holder.
    """

    __slots__ = ("kind", "holder", "key", "value", "path", "content")

    def __init__(self, kind, holder, key, value, path, content=None):
        self.kind, self.holder, self.key, self.value, self.path, self.content = kind, holder, key, value, path, content

    def name(self):
        """The part that two looks at one place have in common."""
        if self.kind in STRUCTURE:
            return self.kind, id(self.holder)
        return "value", id(self.holder), self.key if type(self.key) in (str, type(None)) else repr(self.key)

    def became(self, other):
        """Is it another value now?"""
        if (
            self.kind != other.kind
            or self.content != other.content
            or self.kind in STRUCTURE
            and _differ(self.key, other.key)
        ):
            return True
        if self.kind in ("keys", "function"):
            return len(self.value) != len(other.value) or any(_differ(a, b) for a, b in zip(self.value, other.value))
        return self.value is not other.value if self.kind == "tensor" else _differ(self.value, other.value)


def _differ(a, b):
    if a is b:
        return False
    if type(a) is not type(b) or not isinstance(a, (*PLAIN, frozenset, types.MethodType)):
        return True
    return repr(a) != repr(b) if isinstance(a, (float, complex)) else a != b


def is_of_user(module):
    """Is it neither Strata's, nor Python's, nor of an installed package?"""
    if not isinstance(module, str):
        return True
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names and top != "__main__" or top in ("strata", "numpy"):
        return False
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return f"{os.sep}site-packages{os.sep}" not in file


def content_of(value):
    """(format, shape, bytes) of memory; None where those are many, or objects."""
    try:
        with memoryview(value) as view:
            return (
                (view.format, view.shape, view.tobytes())
                if view.nbytes <= COMPARED and "O" not in view.format
                else None
            )
    except (BufferError, ValueError):  # dates; what is closed
        return None


@functools.lru_cache(512)
def names_in(code):
    """Names that a code object and those inside it use. They are (global names, all names with those of attributes,
    those whose value is read, (module, level) of imports)."""
    of_globals, all_names, read, imports, pending = {}, {}, set(), {}, [code]
    while pending:
        one = pending.pop()
        all_names.update(
            dict.fromkeys((*one.co_names, *(c for c in one.co_consts if isinstance(c, str) and c.isidentifier())))
        )
        instructions = [*dis.get_instructions(one)]
        for at, i in enumerate(instructions):
            if i.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
                of_globals[i.argval] = None
            if i.opname == "IMPORT_NAME":
                level = instructions[at - 2].argval if at >= 2 else 0
                imports[i.argval, level if isinstance(level, int) else 0] = None
            if i.opname.startswith("LOAD_") and isinstance(i.argval, str):
                read.add(i.argval)
        pending += [c for c in one.co_consts if isinstance(c, types.CodeType)]
    return of_globals, all_names, read, imports


def dict_of(value):
    """Its attributes, past what its class says of them; None: it has none."""
    if type(value).__dictoffset__:
        return object.__getattribute__(value, "__dict__")
    own = getattr(value, "__dict__", None) if isinstance(value, threading.local) else None
    return own if isinstance(own, dict) else None


class Closure:
    """All places, once each. `objects` are arguments that are neither tensors nor plain values."""

    def __init__(self, function, objects):
        self.places, self._seen, self._kept, self._functions, self._large = [], set(), [], [], []
        self._pending = collections.deque()
        self._visit_inside(function, getattr(function, "__name__", "the function"))
        for i, value in enumerate(objects):
            path = f"argument {type(value).__name__}"
            self._visit_bytes(objects, i, value, path) if isinstance(value, BYTES) else self._visit_inside(value, path)
        while self._pending:  # not one within the other: lists of lists may be deep
            visit, *given = self._pending.popleft()
            visit(*given)
        self._refuse_large()

    def has(self, value):
        """Is it an object that was found?"""
        return id(value) in self._seen

    def guards(self, of_call, exempt=()):
        """Guards that all but the exempt places is as it was, for a call with these tensors."""
        guards = _Guards()
        self.places = [p for p in self.places if not exempt or (id(p.holder), p.key) not in exempt]
        for p in self.places:
            guards.add(p.kind, (p.holder, p.key, p.value))
        first = {}
        guards.sees([first.setdefault(id(t), i) for i, t in enumerate([*of_call, *self.tensors()])])
        return guards

    def tensors(self):
        return [p.value for p in self.places if p.kind == "tensor"]

    def changes(self, later, exempt):
        """(places that hold another tensor later, what else is not as it was, in words)."""
        then, replaced = {p.name(): p for p in later.places}, []
        for p in self.places:
            now = then.pop(p.name(), None)
            if exempt and (id(p.holder), p.key) in exempt:
                continue
            if now is None:
                return replaced, f"{p.path} is not there any more"
            if p.kind == now.kind == "tensor":
                replaced += [now] if p.became(now) else []
            elif p.became(now):
                return replaced, f"{p.path} was {_shown(p)}, then {_shown(now)}"
        new = next((p for p in then.values() if not exempt or (id(p.holder), p.key) not in exempt), None)
        return replaced, f"{new.path} came new" if new else None

    def _add(self, kind, holder, key, value, path, content=None):
        if len(self.places) >= MOST:
            raise UsageError(
                f"[jit] the function reaches more than {MOST} values, of {path} and others: pass large data as tensors"
            )
        self.places.append(Place(kind, holder, key, value, path, content))

    def _visit(self, holder, key, value, path, named=False):
        if isinstance(value, Tensor):
            return self._add("tensor", holder, key, value, path)
        if isinstance(value, np.ndarray):
            raise UsageError(
                f"[jit] {path} is a NumPy array, whose values a captured function would keep: "
                f"make it a strata.Tensor before"
            )
        if isinstance(value, BYTES):
            return self._visit_bytes(holder, key, value, path)
        if named and not isinstance(value, (type, types.ModuleType)) and any(hasattr(value, name) for name in HIDDEN):
            raise UsageError(
                f"[jit] {path} gives another value each time, and a captured function would keep one: "
                f"draw it outside and pass it as a tensor"
            )
        self._add("same", holder, key, value, path)
        self._visit_inside(value, path)

    def _visit_inside(self, value, path):
        """The places inside of a value that can change, later."""
        if isinstance(value, (*PLAIN, types.ModuleType, types.CodeType)) or id(value) in self._seen:
            return
        self._seen.add(id(value))
        self._kept.append(value)
        self._pending.append((self._inside, value, path))

    def _inside(self, value, path):
        kind = type(value)
        if isinstance(value, dict):
            self._add("keys", value, None, tuple(value), path)
            self._items(value, value.items(), path)
            if isinstance(value, collections.defaultdict):
                self._add("attribute", value, "default_factory", value.default_factory, f"{path}.default_factory")
        elif isinstance(value, (set, frozenset)):
            if isinstance(value, set):
                self._add("keys", value, None, tuple(value), path)
            for item in value:
                self._visit_inside(item, path)
        elif isinstance(value, (list, collections.deque)):
            self._add("length", value, None, len(value), path)
            self._items(value, enumerate(value), path)
        elif isinstance(value, tuple):
            for i, item in enumerate(value):  # which is there for as long as the tuple
                self._visit_attribute(value, i, item, f"{path}[{i}]") if isinstance(
                    item, (Tensor, *BYTES)
                ) else self._visit_inside(item, f"{path}[{i}]")
        elif isinstance(value, types.FunctionType):
            return self._visit_function(value, path)
        elif isinstance(value, types.MethodType):
            self._visit_inside(value.__self__, path)
            return self._visit_inside(value.__func__, path)
        elif isinstance(value, _Calls):  # a captured function
            return self._visit(vars(value), "function", vars(value).get("function"), path)
        elif kind.__module__ == "strata.lang._kernel":  # what it keeps of calls is its own
            for name in ("function", "grid", "block"):
                self._visit(vars(value), name, vars(value)[name], f"{path}.{name}")
            return
        elif isinstance(value, type):
            return self._visit_class(value)
        if kind not in (dict, list, tuple, set, frozenset, collections.deque):
            self._visit_object(value, path)

    def _visit_object(self, value, path):
        own = dict_of(value)
        if own is not None or type(value).__flags__ & HEAP_TYPE:  # others keep their class
            self._add("object", value, type(value), own, f"the class or __dict__ of {path}")
        if own is not None and id(own) not in self._seen:
            self._seen.add(id(own))
            self._add("keys", own, None, tuple(own), f"the attributes of {path}")
            for name, item in own.items():
                self._visit_attribute(own, name, item, f"{path}.{name}")
        for cls in type(value).__mro__:
            slots = (
                [name for name, member in vars(cls).items() if isinstance(member, types.MemberDescriptorType)]
                if is_of_user(cls.__module__)
                else ()
            )
            for name in slots:
                try:
                    found = object.__getattribute__(value, name)
                except AttributeError:
                    self._add("absent", value, name, None, f"{path}.{name}")
                else:
                    self._visit_attribute(value, name, found, f"{path}.{name}")
        if isinstance(value, contextvars.ContextVar):
            self._visit_variable(value, path)
        elif isinstance(value, weakref.ref):
            self._visit_inside(value(), path)
        elif not is_of_user(type(value).__module__):  # of an extension: what it says that it holds
            for part in gc.get_referents(value):
                self._visit_inside(part, path)
        self._visit_inside(type(value), path)

    def _visit_variable(self, value, path):
        try:
            found = value.get()
        except LookupError:
            return self._add("absent", value, None, None, path)
        self._visit(value, None, found, path)

    def _visit_attribute(self, own, name, value, path):
        """Data that an object holds may be for others than the function."""
        visit = self._visit_bytes if isinstance(value, np.ndarray) else self._visit
        visit(own, name, value, path)

    def _visit_bytes(self, holder, key, value, path):
        """A place that is not compared may be for others: that is known once all of the function's names are."""
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
                raise UsageError(
                    f"[jit] {path} is an array of objects or of more than {COMPARED} bytes, "
                    f"whose values a captured function would keep: make it a strata.Tensor before"
                )

    def _items(self, holder, items, path):
        for key, item in items:
            self._visit_attribute(holder, key, item, f"{path}[{key!r}]")
            if not isinstance(key, PLAIN):
                self._visit_inside(key, path)

    def _visit_function(self, function, path, called=None):
        """called: the name that it runs under, none: it may run in any case."""
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if ("cell", id(cell)) not in self._seen:  # which functions may share
                self._seen.add(("cell", id(cell)))
                if cell == types.CellType():  # nothing is in it
                    self._add("absent", cell, 0, None, name)
                else:
                    self._visit(cell, 0, cell.cell_contents, name, named=True)
        for value in (function.__defaults__, function.__kwdefaults__):
            self._visit_inside(value, f"a default of {path}")
        if own := vars(function):
            self._add("keys", own, None, tuple(own), f"the attributes of {path}")
            self._items(own, own.items(), path)
        if is_of_user(function.__globals__.get("__name__")):
            self._add(
                "function",
                function,
                function.__code__,
                (function.__defaults__, function.__kwdefaults__),
                f"the code of {path}",
            )
            of_globals, names, read, imports = names_in(function.__code__)
            self._functions.append((called, read))
            self._visit_names(function.__globals__, of_globals, names, "")
            self._visit_imports(function.__globals__, imports, names)

    def _visit_names(self, namespace, names, attributes, prefix):
        for name in names:
            if (id(namespace), name) in self._seen:
                continue
            if name in namespace:
                self._seen.add((id(namespace), name))
                value = namespace[name]
                self._visit(namespace, name, value, prefix + name, named=True)
                self._visit_module(value, attributes, prefix + name)
            elif not prefix:  # a builtin name, until it is assigned
                self._seen.add((id(namespace), name))
                self._add("absent", namespace, name, None, name)
                own = namespace.get("__builtins__", {})
                self._visit_names(own if isinstance(own, dict) else vars(own), [name], (), "builtins.")

    def _visit_module(self, value, attributes, path):
        if isinstance(value, types.ModuleType) and is_of_user(value.__name__):
            self._visit_names(vars(value), attributes, attributes, f"{path}.")

    def _visit_imports(self, namespace, imports, attributes):
        package = namespace.get("__package__") or ""
        for name, level in imports:
            if level:
                above = package.rsplit(".", level - 1)[0] if level > 1 else package
                name = f"{above}.{name}".rstrip(".")
            parts = name.split(".")
            for full in (".".join(parts[: i + 1]) for i in range(len(parts))):
                if (id(sys.modules), full) in self._seen:
                    continue
                self._seen.add((id(sys.modules), full))
                if full in sys.modules:
                    self._add("same", sys.modules, full, sys.modules[full], full)
                    self._visit_module(sys.modules[full], attributes, full)
                else:
                    self._add("absent", sys.modules, full, None, f"the module {full}")

    def _visit_class(self, cls):
        """The contents of a user's class, and the objects that its methods reach."""
        for base in cls.__mro__:
            if ("class", id(base)) in self._seen or not is_of_user(base.__module__):
                continue
            self._seen.add(("class", id(base)))
            self._kept.append(base)
            self._add("bases", base, len(vars(base)), base.__mro__, f"the class {base.__name__}")
            for name, member in vars(base).items():
                self._visit_member(base, name, member, f"{base.__name__}.{name}")
        self._visit_inside(type(cls), cls.__name__)

    def _visit_member(self, base, name, member, path):
        overrides = any(name in vars(b) for b in base.__mro__ if not is_of_user(b.__module__))
        functions = [getattr(member, part, None) for part in ("fget", "fset", "fdel", "__func__")] + [member]
        functions = [f for f in functions if isinstance(f, types.FunctionType)]
        for f in functions:
            if id(f) not in self._seen:
                self._seen.add(id(f))
                self._kept.append(f)
                self._visit_function(f, path, None if overrides or name.startswith("__") else name)
        if (
            not functions and name.startswith("__") and not callable(member) or name == "_abc_impl"
        ):  # names and caches of Python's own
            return
        if functions or name.startswith("__"):
            return self._add("same", base, name, member, path)
        self._visit_attribute(base, name, member, path)


def _shown(place):
    if place.kind == "absent":
        return "not there"
    text = repr(place.value)
    return text if len(text) <= 60 else text[:57] + "..."
