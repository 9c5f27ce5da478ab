"""Nodes of syntax trees at the places of the user's."""

import ast

RUNTIME = "_strata_"  # the name of _control in rewritten code


def name(name, at, store=False):
    return ast.copy_location(ast.Name(name, ast.Store() if store else ast.Load()), at)


def call(function, at, *given):
    """RUNTIME.function(*given)."""
    of = ast.Attribute(name(RUNTIME, at), function, ast.Load())
    return ast.fix_missing_locations(ast.copy_location(ast.Call(ast.copy_location(of, at), list(given), []), at))


def start(at):
    """The place of a statement's head: Python puts a call of a method that spans lines at the last of them."""
    if at.lineno == at.end_lineno:
        return at
    head = getattr(at, "iter", None) or getattr(at, "test", None)
    place = ast.copy_location(ast.Pass(), at)
    place.end_lineno, place.end_col_offset = at.lineno, at.col_offset + 1
    if head is not None and head.end_lineno == at.lineno:
        place.end_col_offset = head.end_col_offset
    return place


def method(of, function, at, *given):
    at = start(at)
    what = ast.copy_location(ast.Attribute(name(of, at), function, ast.Load()), at)
    return ast.copy_location(ast.Call(what, list(given), []), at)


def constant(value, at):
    return ast.copy_location(ast.Constant(value), at)


def locals(at):
    return call("locals", at)
