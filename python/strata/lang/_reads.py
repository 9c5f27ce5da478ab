"""Names that code reads, and installed functions whose results no identity of an object shows."""

import dis
import functools
import types

ANY_ATTRIBUTE, ANY_GLOBAL = "getattr()", "globals()"  # in place of names: attributes, globals that are computed
_OF_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_OF_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM")
_READS_ANY = {
    **dict.fromkeys(("getattr", "hasattr", "vars", "dir", "__dict__", "attrgetter", "methodcaller"), ANY_ATTRIBUTE),
    **dict.fromkeys(("globals", "eval", "exec", "__globals__", "import_module", "__import__"), ANY_GLOBAL),
}
_COMPILED = (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)
# Modules whose functions ask the system, a clock, a generator or a stream.
_OF_THE_WORLD = frozenset(
    "_datetime _io _random _socket asyncio contextvars datetime gc genericpath getpass glob inspect io locale nt "
    "ntpath os pathlib platform posix posixpath random secrets select shutil socket subprocess sys tempfile threading "
    "time uuid".split()
)
_BUILTINS_OF_THE_WORLD = frozenset(("hash", "id", "input", "open"))


def reads_any(*names):
    """Markers of functions or attributes among these names that read by a computed name."""
    return {_READS_ANY[name] for name in names if name in _READS_ANY}


@functools.lru_cache(1024)
def is_compiled(kind):
    """Whether a type is not written in Python: it has methods that are not."""
    return any(
        isinstance(value, _COMPILED) or isinstance(value, types.BuiltinFunctionType) and name == "__new__"
        for name, value in vars(kind).items()
    )


@functools.lru_cache(1024)
def names_of(code):
    """Names of globals that a code object and those in it read, names of attributes, and modules that they import."""
    of_globals, attributes, modules = set(), set(), set()
    for step in dis.get_instructions(code):
        if step.opname in _OF_GLOBALS:
            of_globals.add(step.argval)
        elif step.opname in _OF_ATTRIBUTES:
            attributes.add(step.argval)
        elif step.opname == "IMPORT_NAME":
            modules.add(step.argval)
        elif step.opname == "MATCH_CLASS":
            attributes.add(ANY_ATTRIBUTE)
    attributes |= reads_any(*of_globals, *attributes)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            for own, inner in zip((of_globals, attributes, modules), names_of(constant)):
                own |= inner
    return frozenset(of_globals), frozenset(attributes), frozenset(modules)


@functools.lru_cache(1024)
def stored_outside(code):
    """Names of globals and of cells around it that a code object and those in it assign."""
    found = set()
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            found.add(step.argval)
        elif step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in code.co_freevars:
            found.add(step.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inside = stored_outside(constant)
            found |= {name for name in inside if name not in code.co_cellvars}
    return frozenset(found)


def asks_the_world(f):
    """Whether two calls of an installed function may differ though no object of the program does."""
    own = getattr(f, "__self__", None)
    module = getattr(f, "__module__", None)
    if not isinstance(module, str):
        module = type(own).__module__
    if module == "builtins" and (own is None or isinstance(own, types.ModuleType)):
        return getattr(f, "__name__", "") in _BUILTINS_OF_THE_WORLD
    return module.partition(".")[0] in _OF_THE_WORLD or ".random" in module
