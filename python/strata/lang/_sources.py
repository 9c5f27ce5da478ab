"""The source of a function: the text that a cache key holds, and the syntax tree that is rewritten."""

import ast
import functools
import importlib.machinery
import linecache
import sys
import textwrap
import types

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class NoSource(Exception):
    """The source of a function is not to be had: it runs as it is."""


def text_of(code):
    """A function's definition as its file has it now; empty where there is no file.

    It ends where the definition does, which may be later than where the code did when it was compiled.
    """
    lines = linecache.getlines(code.co_filename)
    first = code.co_firstlineno - 1
    last = max((line for _, _, line in code.co_lines() if line), default=first)
    block = lines[first:last]
    indent = len(block[0]) - len(block[0].lstrip()) if block else 0
    for line in lines[last:]:
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        block.append(line)
    return _without_comments("\n".join(line.rstrip() for line in block).rstrip())


@functools.lru_cache(1024)
def _without_comments(text):
    """The syntax tree of a definition without its decorators, as text; other text, such as a lambda's, as it is."""
    try:
        (node,) = ast.parse(textwrap.dedent(text)).body
    except (SyntaxError, ValueError):
        return text
    node.decorator_list = []
    return ast.dump(node)


@functools.lru_cache(64)
def _parsed(file, source):
    try:
        tree = ast.parse(source, file)
    except SyntaxError as error:
        raise NoSource(f"{file} was edited and does not parse") from error
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.parent = node
    return tree


@functools.lru_cache(64)
def _compiled(file, source):
    return compile(_parsed(file, source), file, "exec", dont_inherit=True)


@functools.lru_cache(4096)
def _is_imported(file):
    """Whether Python's own import compiled the file: code of other loaders differs from its text on purpose."""
    for module in list(sys.modules.values()):
        names = object.__getattribute__(module, "__dict__") if isinstance(module, types.ModuleType) else {}
        if names.get("__file__") == file:
            return type(names.get("__loader__")) is importlib.machinery.SourceFileLoader
    return False


def inner(code, name, line):
    """The code objects of this name and first line in another one."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_name == name and constant.co_firstlineno == line:
                yield constant
            yield from inner(constant, name, line)


def _is_same(a, b):
    """Whether two code objects do the same, wherever they are."""
    for fact in ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags"):
        if getattr(a, fact) != getattr(b, fact):
            return False
    return len(a.co_consts) == len(b.co_consts) and all(map(_is_same_constant, a.co_consts, b.co_consts))


def _is_same_constant(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, types.CodeType):
        return _is_same(a, b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_is_same_constant, a, b))
    return a == b if isinstance(a, frozenset) else repr(a) == repr(b)


def _span(code):
    spans = [p for p in code.co_positions() if None not in p]
    body = [p for p in spans if (p[0], p[2]) != (p[1], p[3])]
    return (min((p[0], p[2]) for p in body), max((p[1], p[3]) for p in body)) if body else None


def _first_line(node):
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def node_of(code):
    """The definition of a code object in its file; NoSource where the file is another one than was imported."""
    lines = linecache.getlines(code.co_filename)
    if not lines:
        raise NoSource(f"{code.co_filename} has no source")
    text = "".join(lines)
    tree = _parsed(code.co_filename, text)
    is_lambda = code.co_name == "<lambda>"
    found = []
    for node in ast.walk(tree):
        if is_lambda and isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno:
            found.append(node)
        elif isinstance(node, DEFINITIONS) and node.name == code.co_name and _first_line(node) == code.co_firstlineno:
            found.append(node)
    if is_lambda and len(found) > 1:
        span = _span(code)
        found = [n for n in found if span and (n.body.lineno, n.body.col_offset) == span[0]] or found[:1]
    if found and _is_imported(code.co_filename):
        now = inner(_compiled(code.co_filename, text), code.co_name, code.co_firstlineno)
        found = found if any(_is_same(code, one) for one in now) else []
    if not found:
        raise NoSource(f"{code.co_filename} was edited since it was imported")
    return found[0]
