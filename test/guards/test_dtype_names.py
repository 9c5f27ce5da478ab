"""A branch of the Python package asks for a dtype, not for its name. A name that no type has is never equal, and
nothing reports it.
"""

import ast

import pytest
from tree import CHECKOUT

FOLDERS = ("python/strata", "tools")
KINDS = {"dtype", "kind", "part", "type"}


def is_type(node):
    """x.dtype, x.dtype.part, dtype: what a dtype is called."""
    return (isinstance(node, ast.Attribute) and node.attr in KINDS) or (isinstance(node, ast.Name) and node.id in KINDS)


def is_name(node):
    if isinstance(node, ast.Call):
        return (
            isinstance(node.func, ast.Name) and node.func.id == "str" and len(node.args) == 1 and is_type(node.args[0])
        )
    return isinstance(node, ast.Attribute) and node.attr == "name" and is_type(node.value)


def is_text(node):
    """A text, or several; tables by name, of types that strata has not, are another thing."""
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    return all(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts)


def branches(text):
    compared = [
        (node.lineno, [node.left, *node.comparators])
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare)
    ]
    return sorted(line for line, sides in compared if any(map(is_name, sides)) and any(map(is_text, sides)))


@pytest.mark.parametrize(
    "path", sorted(p for f in FOLDERS for p in (CHECKOUT / f).rglob("*.py")), ids=lambda p: str(p.relative_to(CHECKOUT))
)
def test_no_branch_is_on_a_name(path):
    assert branches(path.read_text()) == []


def test_such_a_branch_is_found():
    assert branches(
        'if mask.dtype.name == "bool" or str(x.dtype) in ("int", "half"): pass\ny = "half" != dtype.name'
    ) == [1, 1, 2]
    assert branches('f"{x.dtype.name}"\nx.name == "s_barrier"\narray.dtype.name in TABLE') == []
