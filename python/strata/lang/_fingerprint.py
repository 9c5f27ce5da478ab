"""A hash of all that decides a kernel beside its arguments: the bytes of its function and of all that it reaches.

Values of globals, closures and attributes that they read are a part of it.
"""

import dis
import enum
import functools
import hashlib
import linecache
import os
import sys
import types

from .. import _strata
from .._strata import DType, Tensor
from ._functions import _is_users

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
_MOST = 4000  # values; of more than that a kernel counts as one by itself
_MOST_BYTES = 1 << 20  # of an array


@functools.cache
def _own_sources():
    """A hash of the Python files of this package: they decide what a kernel becomes."""
    found = hashlib.blake2b(digest_size=16)
    here = os.path.dirname(__file__)
    for folder in (here, os.path.join(os.path.dirname(here), "layout")):
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py"):
                with open(os.path.join(folder, name), "rb") as file:
                    found.update(file.read())
    return found.hexdigest()


@functools.lru_cache(1024)
def _names_of(code):
    """The names of globals and of attributes that a code object reads, and the code in it."""
    of_globals, attributes = set(), set()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            of_globals.add(step.argval)
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            attributes.add(step.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _names_of(constant)
            of_globals |= inner[0]
            attributes |= inner[1]
    return frozenset(of_globals), frozenset(attributes)


class Fingerprint:
    """A hash of values, and of the code that functions among them reach.

    watched: (container, key, value) of what was read where it may change. is_portable: another process gives the same
    hash; not where a value is known by its identity alone. codes: its code objects, in an order that the hash fixes.
    """

    def __init__(self):
        self._hash = hashlib.blake2b(repr(sys.version_info).encode(), digest_size=16)
        self._seen, self._kept = {}, []
        self.watched, self.codes, self.is_portable = [], [], True

    def digest(self):
        return self._hash.hexdigest()

    def _put(self, *parts):
        found = []
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode()
            found += (b"%d " % len(data), data)
        self._hash.update(b"".join(found))

    def _watch(self, container, key, value):
        self.watched.append((container, key, value))

    def add(self, value, names=frozenset()):
        """names: of attributes that the code around reads."""
        kind = type(value)
        if kind in _PLAIN:
            return self._put(kind.__name__, value if kind is bytes else repr(value))
        if kind is tuple:  # one for two arguments is no other than two that are equal
            return self._tuple(value, names)
        at = self._seen.get(id(value))
        if at is not None:
            return self._put("again", at)
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        if len(self._seen) > _MOST:
            return self._unknown(value)
        for of, look in _BY_KIND:
            if isinstance(value, of):
                return look(self, value, names)
        return self._instance(value, names)

    def _unknown(self, value):
        self.is_portable = False
        self._put("object", id(value))

    def _tuple(self, value, names):
        self._put(type(value).__name__, len(value))
        for item in value:
            self.add(item, names)

    def _list(self, value, names):
        self._watch(value, -1, len(value))
        for i, item in enumerate(value):
            self._watch(value, i, item)
        self._tuple(value, names)

    def _dict(self, value, names):
        self._put("dict", len(value))
        for key, item in value.items():
            self._watch(value, key, item)
            self.add(key, names)
            self.add(item, names)

    def _set(self, value, names):
        self._put(type(value).__name__, *sorted(map(repr, value)))

    def _function(self, f, names):
        if not _is_users(f.__code__.co_filename):
            return self._put("function", f.__module__, f.__qualname__)
        of_globals, read = _names_of(f.__code__)
        self._code(f.__code__)
        self.add(f.__defaults__, read)
        self.add(f.__kwdefaults__, read)
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            self._put(name)
            try:
                content = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            self._watch(cell, None, content)
            self.add(content, read)
        for name in sorted(of_globals & f.__globals__.keys()):
            self._put(name)
            self._watch(f.__globals__, name, f.__globals__[name])
            self.add(f.__globals__[name], read)

    def _code(self, code):
        self.codes.append(code)
        self._put(  # the last: without a source its decisions are Python's, not the kernel's
            code.co_name, code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
            code.co_flags, code.co_argcount, code.co_exceptiontable, bool(linecache.getlines(code.co_filename)),
        )  # fmt: skip
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant)
            else:
                self.add(constant)

    def _method(self, value, names):
        self.add(value.__func__, names)
        self.add(value.__self__, names)

    def _builtin(self, value, names):
        self._put("builtin", value.__module__, value.__qualname__)
        own = getattr(value, "__self__", None)
        if own is not None and not isinstance(own, types.ModuleType):
            self.add(own, names)

    def _partial(self, value, names):
        for part in (value.func, value.args, value.keywords):
            self.add(part, names)

    def _module(self, value, names):
        self._put("module", value.__name__, getattr(value, "__version__", ""))
        if not _is_users(getattr(value, "__file__", None) or "<frozen"):
            return
        for name in sorted(names & vars(value).keys()):
            self._put(name)
            self._watch(vars(value), name, vars(value)[name])
            self.add(vars(value)[name], names)

    def _class(self, value, names):
        self._put("class", value.__module__, value.__qualname__)
        module = sys.modules.get(value.__module__)
        if not _is_users(getattr(module, "__file__", None) or "<frozen"):
            return
        for base in value.__mro__[1:]:
            self.add(base, names)
        for name in sorted(vars(value).keys() & (names | {"__call__", "__init__"})):
            self._put(name)
            self._watch(value, name, vars(value)[name])
            self.add(vars(value)[name], names)

    def _wrapped(self, value, names):
        self.add(value.__func__, names)

    def _property(self, value, names):
        self.add(value.fget, names)

    def _enum(self, value, names):
        self._put(type(value).__qualname__, value.name)
        self.add(value.value, names)

    def _shown(self, value, names):
        self._put(type(value).__qualname__, repr(value))

    def _instance(self, value, names):
        kind = type(value)
        if isinstance(value, Tensor):
            return self._unknown(value)
        if kind.__name__ == "Kernel" and kind.__module__ == "strata.lang._kernel":
            return self.add(value.function, names)
        if kind.__module__.startswith("strata"):
            return self._shown(value, names) if " at 0x" not in repr(value) else self._unknown(value)
        if hasattr(value, "dtype") and hasattr(value, "tobytes"):
            if value.nbytes > _MOST_BYTES:
                return self._unknown(value)
            return self._put(kind.__qualname__, value.dtype, getattr(value, "shape", ()), value.tobytes())
        if not hasattr(value, "__dict__"):
            return self._unknown(value)
        self.add(kind, names)
        for name in sorted(vars(value)):
            self._put(name)
            self._watch(vars(value), name, vars(value)[name])
            self.add(vars(value)[name], names)


_BY_KIND = (
    (enum.Enum, Fingerprint._enum),
    (tuple, Fingerprint._tuple),
    (list, Fingerprint._list),
    (dict, Fingerprint._dict),
    ((set, frozenset), Fingerprint._set),
    (types.FunctionType, Fingerprint._function),
    (types.MethodType, Fingerprint._method),
    (types.BuiltinFunctionType, Fingerprint._builtin),
    (functools.partial, Fingerprint._partial),
    (types.ModuleType, Fingerprint._module),
    (type, Fingerprint._class),
    ((staticmethod, classmethod), Fingerprint._wrapped),
    (property, Fingerprint._property),
    ((DType, slice, range), Fingerprint._shown),
)


def cache_key(fingerprint, parts, arch):
    """64 hex digits of all that decides a kernel's code; the same in another process where the fingerprint is
    portable."""
    found = hashlib.blake2b(digest_size=32)
    of_call = Fingerprint()
    of_call.add(parts)
    toolchain = _strata._lang.toolchain_of(arch)
    for part in (fingerprint.digest(), of_call.digest(), arch, _strata._lang.route(), toolchain, _own_sources()):
        found.update(f"{len(part)} {part}".encode())
    return found.hexdigest()


def disk_key(fingerprint, parts, arch):
    """The key on disk of a kernel; None where nothing is kept, or another process would not have the same."""
    toolchain = _strata._lang.toolchain_of(arch) if fingerprint.is_portable else ""
    if not toolchain:
        return None
    of_call = Fingerprint()
    of_call.add(parts)
    if not of_call.is_portable:
        return None
    return " ".join((fingerprint.digest(), of_call.digest(), arch, toolchain, _own_sources()))
