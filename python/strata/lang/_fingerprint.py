"""A hash of all that decides a kernel beside its arguments: text and code of its function and of what it reaches.

Values of globals, closures and attributes that they read are a part of it.
"""

import contextlib
import enum
import functools
import hashlib
import itertools
import os
import sys
import threading
import types

from .. import _strata
from .._strata import DType, Tensor
from ._functions import _is_users
from ._reads import ANY_ATTRIBUTE, ANY_GLOBAL, asks_the_world, is_compiled, names_of, reads_any
from ._sources import text_of

_lang = _strata._lang
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
_MOST = 4000  # values; what reaches more is traced at each call
_MOST_BYTES = 1 << 20  # of an array; a larger one takes longer to hash than a kernel to trace
_OF_C = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE: a type that no class statement made
_LOCKS = (type(threading.Lock()), type(threading.RLock()))
_QUIET_MODULES = ("logging",)  # whose objects give kernels no values
_CONTAINERS = (tuple, list, dict, set, frozenset, object, type, types.SimpleNamespace, types.FunctionType)
_NOT_READ = frozenset(
    "__dict__ __weakref__ __doc__ __module__ __annotations__ __slots__ __init_subclass__ __subclasshook__".split()
)
_count = itertools.count()


def _never():
    return False


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


def _is_users_module(module):
    """Whether its names may change: one without a file and a loader was made by the program, or at a prompt."""
    of = vars(module)
    if of.get("__file__") is None:
        return of.get("__spec__") is None
    return _is_users(of["__file__"])


def _is_users_class(kind):
    module = sys.modules.get(kind.__module__)
    return not kind.__flags__ & _OF_C and (module is None or _is_users_module(module))


def _is_dunder(name):
    return name.startswith("__") and name.endswith("__") and name not in _NOT_READ


class Fingerprint:
    """A hash of values, and of the code that functions among them reach.

    watched: (container, key, value) of what was read where it may change. probes: (function, value) of what is read
    where no identity shows a change. is_portable: another process gives the same hash; not where a value is known by
    its identity alone. is_volatile: nothing shows whether a value changed, so that no two fingerprints are equal.
    codes: its code objects, in an order that the hash fixes.
    """

    def __init__(self, *values, names=frozenset(), watches=True):
        """names: of attributes that code elsewhere reads. Those that the code in here reads are added until all are
        known, since one function may read what another one names."""
        while True:
            self.names, self._found = names, set(names)
            self._hash = hashlib.blake2b(repr(sys.version_info).encode(), digest_size=16)
            self._seen, self._kept, self._probing = {}, [], not watches
            self.watched, self.probes, self.codes = [], [], []
            self.is_portable, self.is_volatile = True, False
            try:
                for value in values:
                    self.add(value)
            except RecursionError:
                self._volatile()
            if len(self._found) == len(names):
                break
            names = frozenset(self._found)
        if self.is_volatile:
            self._put("volatile", next(_count))
            self.probes.append((_never, True))

    def digest(self):
        return self._hash.hexdigest()

    def _put(self, *parts):
        found = []
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode()
            found += (b"%d " % len(data), data)
        self._hash.update(b"".join(found))

    def _watch(self, container, key, value):
        if not self._probing:  # else the probe sees it
            self.watched.append((container, key, value))

    def _probe(self, value):
        """Watches an object by a hash of it."""
        if not self._probing:
            self.probes.append((functools.partial(_content, value, self.names), _content(value, self.names)))

    def _volatile(self):
        self.is_volatile, self.is_portable = True, False

    def _unknown(self, value):
        self.is_portable = False
        self._put("object", id(value))

    def add(self, value):
        kind = type(value)
        if kind in _PLAIN:
            return self._put(kind.__name__, value if kind is bytes else repr(value))
        if kind is tuple:  # one for two arguments is no other than two that are equal
            return self._tuple(value)
        at = self._seen.get(id(value))
        if at is not None:
            return self._put("again", at)
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        if len(self._seen) > _MOST:
            return self._volatile()
        for of, look in _BY_KIND:
            if isinstance(value, of):
                look(self, value)
                if isinstance(value, type) or not _is_users_class(kind):
                    return
                return self._members(value)
        self._instance(value)

    # Containers.

    def _tuple(self, value):
        self._put(type(value).__name__, len(value))
        for item in value:
            self.add(item)

    def _list(self, value):
        self._watch(value, _lang.SIZE, len(value))
        for i, item in enumerate(value):
            self._watch(value, i, item)
        self._tuple(value)

    def _dict(self, value):
        self._put("dict", len(value))
        self._watch(value, _lang.SIZE, len(value))
        for key, item in value.items():
            self._watch(value, key, item)
            self.add(key)
            self.add(item)

    def _set(self, value):
        """Elements have no order: each has a hash of its own."""
        self._probe(value)
        apart = [Fingerprint(item, names=self.names, watches=False) for item in value]
        for one in apart:
            self._found |= one.names
            self.is_portable &= one.is_portable
            self.is_volatile |= one.is_volatile
        self._put(type(value).__name__, *sorted(one.digest() for one in apart))

    def _view(self, value):
        self._probe(value)
        self._dict(dict(value))

    def _entries(self, of, names):
        """Those of a dict of names, or of a class's."""
        entries = of if isinstance(of, dict) else vars(of)
        for name in sorted(names):
            self._put(name)
            self._watch(of, name, entries[name])
            self.add(entries[name])

    # Functions.

    def _function(self, f):
        code = f.__code__
        if not _is_users(code.co_filename):
            return self._installed(f)
        of_globals, attributes, modules = names_of(code)
        self._found |= attributes
        self._watch(f, None, code)
        # Without a source its decisions are Python's, not the kernel's.
        self._put("function", text_of(code))
        self._code(code)
        self.add(f.__defaults__)
        self.add(f.__kwdefaults__)
        for name, cell in zip(code.co_freevars, f.__closure__ or ()):
            self._put(name)
            try:
                content = cell.cell_contents
            except ValueError:
                self._watch(cell, None, _lang.ABSENT)
                continue
            self._watch(cell, None, content)
            self.add(content)
        space = f.__globals__
        if ANY_GLOBAL in attributes:
            self._watch(space, _lang.SIZE, len(space))
            of_globals |= {name for name in space if not _is_dunder(name)}
        self._entries(space, of_globals & space.keys())
        self._builtins(space, of_globals - space.keys())
        for name in sorted(modules):
            self._imported(name)
        self._watch(vars(f), _lang.SIZE, len(vars(f)))
        self._entries(vars(f), vars(f).keys())

    def _builtins(self, space, names):
        """Built-in functions, which a global of the name would hide."""
        of_python = space.get("__builtins__", {})
        of_python = of_python if isinstance(of_python, dict) else vars(of_python)
        for name in sorted(names & of_python.keys()):
            self._watch(space, name, _lang.ABSENT)
            if asks_the_world(of_python[name]):
                self._volatile()

    def _imported(self, name):
        """A module that a function imports as it runs."""
        for module in {name, name.partition(".")[0]}:
            self._watch(sys.modules, module, sys.modules.get(module, _lang.ABSENT))
            if module in sys.modules:
                self.add(sys.modules[module])

    def _installed(self, f):
        """A function of an installed package: its name stands for it."""
        if f is os.getenv:
            return self.add(os.environ)
        self._put("function", getattr(f, "__module__", ""), getattr(f, "__qualname__", type(f).__qualname__))
        self._found |= reads_any(getattr(f, "__name__", ""))
        if asks_the_world(f):
            self._volatile()

    def _code(self, code):
        self.codes.append(code)
        self._put(
            code.co_name, code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
            code.co_flags, code.co_argcount, code.co_exceptiontable,
        )  # fmt: skip
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant)
            else:
                self.add(constant)

    def _method(self, value):
        self.add(value.__func__)
        self.add(value.__self__)

    def _builtin(self, value):
        self._installed(value)
        own = getattr(value, "__self__", None)
        if own is not None and not isinstance(own, types.ModuleType):
            self.add(own)

    def _partial(self, value):
        for part in (value.func, value.args, value.keywords):
            self.add(part)

    # Modules and classes.

    def _module(self, value):
        self._put("module", value.__name__, getattr(value, "__version__", ""))
        of = vars(value)
        if not _is_users_module(value):
            return self._installed_module(value.__name__, of)
        names = self.names & of.keys()
        if ANY_ATTRIBUTE in self.names:
            self._watch(of, _lang.SIZE, len(of))
            names = {name for name in of if not _is_dunder(name)}
        self._entries(of, names)

    def _installed_module(self, module, of):
        """Values that it holds, such as sys.flags; its functions are known by their names."""
        if module.partition(".")[0] == "strata":
            return
        for name in sorted(self.names & of.keys()):
            item = of[name]
            if callable(item):
                self._installed(item)
            else:
                self._entries(of, {name})

    def _class(self, value):
        self._put("class", value.__module__, value.__qualname__)
        if not _is_users_class(value):
            return self._installed(value)
        for base in value.__mro__[1:]:
            self.add(base)
        if type(value) is not type:
            self.add(type(value))
        of = vars(value)
        self._watch(value, _lang.SIZE, len(of))
        kinds = (types.FunctionType, property, staticmethod, classmethod)
        names = {name for name, item in of.items() if _is_dunder(name) and isinstance(item, kinds)}
        names |= self.names & of.keys() - _NOT_READ
        if ANY_ATTRIBUTE in self.names:
            names |= {name for name in of if not _is_dunder(name)} - _NOT_READ
        self._entries(value, names)

    def _wrapped(self, value):
        self.add(value.__func__)

    def _property(self, value):
        self.add(value.fget)
        self.add(value.fset)

    def _enum(self, value):
        self._put(type(value).__qualname__, value.name)
        self.add(value.value)

    def _shown(self, value):
        self._put(type(value).__qualname__, repr(value))

    # Other objects.

    def _instance(self, value):
        kind = type(value)
        if isinstance(value, Tensor):
            return self._unknown(value)
        if kind.__name__ == "Kernel" and kind.__module__ == "strata.lang._kernel":
            return self.add(value.function)
        if kind.__module__.partition(".")[0] == "strata":
            return self._shown(value) if " at 0x" not in repr(value) else self._unknown(value)
        if kind in _LOCKS or kind.__module__ in _QUIET_MODULES:
            return self._put("object", kind.__qualname__)
        if hasattr(kind, "dtype") and hasattr(kind, "tobytes"):
            return self._array(value)
        self._members(value)

    def _array(self, value):
        self._put(type(value).__qualname__, value.dtype, getattr(value, "shape", ()))
        if value.nbytes > _MOST_BYTES or getattr(value.dtype, "hasobject", False):
            return self._volatile()
        self._put(value.tobytes())
        if type(value).__hash__ is None:  # its elements may change
            self._probe(value)

    def _members(self, value):
        """The class of an object, its attributes, and what a base that is not written in Python holds."""
        kind = type(value)
        if _is_users_class(kind):
            self.add(kind)
        else:
            self._put("object", kind.__module__, kind.__qualname__)
        of = getattr(value, "__dict__", None)
        if isinstance(of, dict):
            self._watch(of, _lang.SIZE, len(of))
            self._entries(of, of.keys())
        self._slots(value)
        base = next(filter(is_compiled, kind.__mro__))
        if base not in _CONTAINERS:
            self._reduced(value, base)

    def _slots(self, value):
        written = [base for base in type(value).__mro__ if not is_compiled(base)]
        slots = [s for base in written for s in vars(base).values() if isinstance(s, types.MemberDescriptorType)]
        if not slots:
            return
        self._probe(value)
        self._probing += 1
        for slot in slots:
            self._put(slot.__name__)
            with contextlib.suppress(AttributeError):  # not assigned yet
                self.add(slot.__get__(value))
        self._probing -= 1

    def _reduced(self, value, base):
        """An object of a type that is not written in Python: what a copy of it is made of."""
        if base in _PLAIN:
            return self._put(base.__repr__(value))
        try:
            parts = value.__reduce_ex__(4)
            if isinstance(parts, str):
                return self._put("named", parts)
            parts = [part if i < 3 or part is None else list(part) for i, part in enumerate(parts)]
        except Exception:  # it cannot be copied
            return self._installed(value) if callable(value) else self._volatile()
        self._probe(value)
        self._probing += 1
        self._tuple(parts)
        self._probing -= 1


def _content(value, names):
    return Fingerprint(value, names=names, watches=False).digest()


_BY_KIND = (
    (enum.Enum, Fingerprint._enum),
    (tuple, Fingerprint._tuple),
    (list, Fingerprint._list),
    (dict, Fingerprint._dict),
    ((set, frozenset), Fingerprint._set),
    (types.MappingProxyType, Fingerprint._view),
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
    toolchain = _lang.toolchain_of(arch)
    for part in (fingerprint.digest(), Fingerprint(parts).digest(), arch, _lang.route(), toolchain, _own_sources()):
        found.update(f"{len(part)} {part}".encode())
    return found.hexdigest()


def disk_key(fingerprint, parts, arch):
    """The key on disk of a kernel; None where nothing is kept, or another process would not have the same."""
    toolchain = _lang.toolchain_of(arch) if fingerprint.is_portable else ""
    if not toolchain:
        return None
    of_call = Fingerprint(parts)
    if not of_call.is_portable:
        return None
    return " ".join((fingerprint.digest(), of_call.digest(), arch, toolchain, _own_sources()))
