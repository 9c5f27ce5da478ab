"""Functions that a kernel calls. Those of the user's are rewritten, once for each code object. Built-in ones have a
form of their own where they would ask a value of the kernel for something unknown."""

import __future__

import ast
import builtins
import collections
import functools
import os
import sys
import types

from .. import _strata
from . import _ranges, _state
from ._carry import refuse
from ._reads import stored_outside
from ._rewrite import CHANGES, RUNTIME, rewrite
from ._sources import DEFINITIONS, NoSource, inner, node_of

_lang = _strata._lang
Value = _lang.Value
_FUTURE = functools.reduce(
    lambda a, b: a | b, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names)
)


@functools.cache
def _installed():
    # sysconfig has them too, and takes a millisecond to be imported and asked.
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    folders = {os.path.dirname(os.__file__), os.path.join(sys.base_exec_prefix, sys.platlibdir, version)}
    folders.update(p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages"))
    # In a build tree the package's files are links into the checkout.
    folders.update(os.path.dirname(os.path.dirname(path(__file__))) for path in (os.path.abspath, os.path.realpath))
    return tuple(os.path.realpath(f) + os.sep for f in folders if f)


@functools.lru_cache(4096)
def _is_users(file):
    """Whether a file belongs to the user, not to an installed package."""
    if file.startswith("<frozen"):
        return False
    return not os.path.realpath(file).startswith(_installed())


def _copy(node):
    """A deep copy without what points to parents."""
    if isinstance(node, list):
        return [_copy(n) for n in node]
    if not isinstance(node, ast.AST):
        return node
    made = type(node)(**{f: _copy(getattr(node, f)) for f in node._fields if hasattr(node, f)})
    return ast.copy_location(made, node)


_rewritten: dict = {}  # id of a code object -> (the object, its rewritten form; None where there is no source)
_forms: set = set()  # ids of code objects that are rewritten forms


def _remember(code):
    _forms.add(id(code))
    _keep.append(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _remember(constant)


_keep: list = []  # so that ids of _forms stay theirs


def _compiled(code):
    found = node_of(code)
    node, of_class = _copy(found), _class_of(found)
    rewrite(node)
    arguments = node.args
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [d and ast.Constant(None) for d in arguments.kw_defaults]
    for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if a:
            a.annotation = None
    if isinstance(node, ast.Lambda):
        line = node.lineno
        inside = ast.Return(node)
    else:
        node.decorator_list, node.returns = [], None
        line = node.lineno
        inside = node
    statements = [inside]
    if of_class:  # names with two underscores, and super()
        statements = [ast.ClassDef(of_class, [], [], [inside], [])]
    free = [RUNTIME, *(name for name in code.co_freevars if name != "__class__")]
    # The name of the definition stays a global where it was one, and is no local of the function around.
    defined = of_class or getattr(inside, "name", "")
    if defined and defined not in free:
        statements.insert(0, ast.Global([defined]))
    outer = ast.FunctionDef(
        "_strata_outer", ast.arguments([], [ast.arg(n) for n in free], None, [], [], None, []), statements, [], None
    )
    if hasattr(outer, "type_params"):
        outer.type_params = []
    module = ast.fix_missing_locations(ast.Module([outer], []))
    made = compile(module, code.co_filename, "exec", code.co_flags & _FUTURE, True)
    found = next(inner(made, code.co_name, line))
    found = found.replace(co_qualname=code.co_qualname)
    _remember(found)
    return found


def _class_of(node):
    parent = getattr(node, "parent", None)
    while parent is not None and not isinstance(parent, (ast.ClassDef, *DEFINITIONS, ast.Module)):
        parent = getattr(parent, "parent", None)
    return parent.name if isinstance(parent, ast.ClassDef) else ""


def _form_of(code):
    known = _rewritten.get(id(code))
    if known is None:
        try:
            form = _compiled(code)
        except NoSource:
            form = None
        known = _rewritten[id(code)] = (code, form)
    return known[1]


_packages: set = set()  # installed ones that have kernels


def _package(f):
    return (f.__module__ or "").partition(".")[0]


def admit(f):
    """Makes functions of a kernel's package the user's, wherever it is installed."""
    if _package(f) != __package__.partition(".")[0]:
        _packages.add(_package(f))


def rewritten(f, always=False):
    """A function whose control flow may decide in the kernel; itself where it has no source or is not the user's.
    always: of this package too."""
    code = f.__code__
    if id(code) in _forms or not (always or _is_users(code.co_filename) or _package(f) in _packages):
        return f
    form = _form_of(code)
    if form is None:
        return f
    cells = dict(zip(code.co_freevars, f.__closure__ or ()))
    from . import _control

    if _state.state.outside is not None:
        for name in stored_outside(form):
            _state.state.outside.keep_place(cells.get(name, f.__globals__), name)
    cells[RUNTIME] = types.CellType(_control)
    made = types.FunctionType(
        form, f.__globals__, f.__name__, f.__defaults__, tuple(cells[name] for name in form.co_freevars)
    )
    made.__kwdefaults__, made.__dict__ = f.__kwdefaults__, f.__dict__
    return made


# Built-in functions with a form for values.


def _extreme(name, python):
    def extreme(*given, **named):
        values = given[0] if len(given) == 1 and not named and isinstance(given[0], (list, tuple)) else given
        if named or not any(type(v) is Value for v in values):
            return python(*given, **named)
        of = getattr(_lang, name)
        return functools.reduce(of, values)

    return extreme


def _range(*given):
    return _ranges.Range.of(*given)


def _bool(value=False):
    return (
        value if type(value) is Value and value.dtype.is_bool else value != 0 if type(value) is Value else bool(value)
    )


def _all(values):
    result = True
    for value in values:
        if type(value) is not Value and not value:
            return False
        if type(value) is Value:
            result = _bool(value) if result is True else result & _bool(value)
    return result


def _any(values):
    result = False
    for value in values:
        if type(value) is not Value and value:
            return True
        if type(value) is Value:
            result = _bool(value) if result is False else result | _bool(value)
    return result


def _next(of, *default):
    _state.changed(of)
    return next(of, *default)


_FORMS = {
    builtins.next: _next,
    builtins.range: _range,
    builtins.bool: _bool,
    builtins.all: _all,
    builtins.any: _any,
    builtins.min: _extreme("minimum", min),
    builtins.max: _extreme("maximum", max),
}
_BY_KEY = frozenset(("get", "pop", "setdefault", "remove", "discard", "__contains__"))
_FRESH = (list, dict, set, sorted)


def function(f):
    """The function that a kernel calls where its text has f."""
    kind = type(f)
    if kind is types.FunctionType:
        return rewritten(f)
    if kind is types.MethodType:
        of = f.__func__
        return types.MethodType(rewritten(of), f.__self__) if type(of) is types.FunctionType else f
    if getattr(f, "__module__", None) == "math" or kind.__module__ == "numpy" and kind.__name__ == "ufunc":
        return functools.partial(_of_host, f)
    if kind is types.BuiltinFunctionType or kind is type:
        form = _FORMS.get(f)
        if form is not None:
            return form
        if f in _FRESH:
            return functools.partial(_fresh, f)
        own = getattr(f, "__self__", None)
        if kind is types.BuiltinFunctionType and isinstance(own, (list, dict, set, bytearray, collections.deque)):
            if f.__name__ in CHANGES:
                _state.changed(own)
            if f.__name__ in _BY_KEY and isinstance(own, (dict, set)):
                return functools.partial(_by_key, f)
        return f
    if kind is functools.partial:
        inner = function(f.func)
        return f if inner is f.func else functools.partial(inner, *f.args, **f.keywords)
    of = vars(kind).get("__call__")
    if type(of) is types.FunctionType and not isinstance(f, type):
        return types.MethodType(rewritten(of), f)
    return f


def _by_key(f, *given):
    """A method of a dict or set that looks up a key. A value of the kernel is found by identity alone."""
    if given and type(given[0]) is Value and not builtins.any(key is given[0] for key in f.__self__):
        kind = type(f.__self__).__name__
        refuse(
            f"{kind}.{f.__name__} looks up a key while the kernel is traced, and this is a value of the kernel: "
            f"compare it, as in if i == key, or keep the numbers in lang.registers"
        )
    return f(*given)


def _of_host(f, *given, **named):
    """A function of math or a ufunc of NumPy's, which knows no values of the kernel."""
    if any(isinstance(value, (Value, _lang.View)) for value in given):
        module = "math" if getattr(f, "__module__", None) == "math" else "numpy"
        from . import __all__ as names

        write = f"write lang.{f.__name__}" if f.__name__ in names else "write it with functions of lang"
        refuse(f"{module}.{f.__name__} computes numbers of the host, and was given a value of the kernel: {write}")
    return f(*given, **named)


def _fresh(f, *given, **named):
    return _state.made(f(*given, **named))
