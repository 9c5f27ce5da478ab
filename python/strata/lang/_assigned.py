"""Names that statements assign, and jumps that leave them."""

import ast

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
# Methods of lists, dicts and sets that change them.
CHANGES = frozenset(
    "append extend insert pop remove clear sort reverse update setdefault popitem add discard appendleft popleft "
    "extendleft rotate".split()
)


class _Assigned(ast.NodeVisitor):
    """Names that statements assign, and names whose objects they change, with the last line that does."""

    def __init__(self):
        self.names = {}

    def _add(self, name, node):
        self.names[name] = node.lineno

    def visit_Name(self, node):
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            self._add(node.id, node)

    def _scope(self, node):
        if not isinstance(node, ast.Lambda):
            self._add(node.name, node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _scope

    def _comprehension(self, node):
        """Its targets are its own; an assignment expression in it is the function's."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                self._add(inner.target.id, inner)
            elif isinstance(inner, ast.Call):
                self._change(inner)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_alias(self, node):
        self._add((node.asname or node.name).partition(".")[0], node)

    def visit_ExceptHandler(self, node):
        if node.name:
            self._add(node.name, node)
        self.generic_visit(node)

    def visit_MatchAs(self, node):
        if node.name:
            self._add(node.name, node)
        self.generic_visit(node)

    def visit_MatchStar(self, node):
        if node.name:
            self._add(node.name, node)

    def visit_MatchMapping(self, node):
        if node.rest:
            self._add(node.rest, node)
        self.generic_visit(node)

    def _change(self, node):
        if isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            self._root(node.func.value)

    def visit_Call(self, node):
        self._change(node)
        self.generic_visit(node)

    def _root(self, node):
        while isinstance(node, (ast.Subscript, ast.Attribute)):
            node = node.value
        if isinstance(node, ast.Name):
            self._add(node.id, node)

    def _place(self, node):
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            self._root(node.value)
        self.generic_visit(node)

    visit_Subscript = visit_Attribute = _place


class _Bound(_Assigned):
    """Names that statements assign: what they change is somebody else's."""

    def _root(self, node):
        pass


def bound(function):
    """The names that a function binds, its parameters among them; others are of closures or globals."""
    visitor = _Bound()
    for statement in function.body:
        visitor.visit(statement)
    a = function.args
    parameters = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
    return {*visitor.names, *(p.arg for p in parameters if p)}


def outliving(function):
    """Names of functions around it and of its module that a function assigns, in order."""
    declared, inside = set(), list(function.body)
    while inside:
        node = inside.pop()
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            declared.update(node.names)
        elif not isinstance(node, _SCOPES):
            inside += ast.iter_child_nodes(node)
    return sorted(declared & bound(function))


def assigned(statements):
    """Names that the statements assign or whose objects they change, and where, in the order of the names."""
    visitor = _Assigned()
    for statement in statements:
        visitor.visit(statement)
    return dict(sorted(visitor.names.items()))


def jumps_of(statements):
    """Which of return, break and continue leave these statements: those of a loop inside stay in it."""
    found = set()

    def look(node, in_loop):
        if isinstance(node, _SCOPES):
            return
        if isinstance(node, ast.Return):
            found.add("return")
        elif isinstance(node, (ast.Break, ast.Continue)) and not in_loop:
            found.add("break" if isinstance(node, ast.Break) else "continue")
        elif isinstance(node, _LOOPS):
            for child in node.body:
                look(child, True)
            for child in node.orelse:
                look(child, in_loop)
        else:
            for child in ast.iter_child_nodes(node):
                look(child, in_loop)

    for statement in statements:
        look(statement, False)
    return found


def always_jumps(statements):
    """Whether what follows the statements never runs."""
    for statement in statements:
        if isinstance(statement, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
            return True
        if isinstance(statement, ast.If) and always_jumps(statement.body) and always_jumps(statement.orelse):
            return True
    return False


def compares(pattern):
    """Whether a pattern of match compares the subject itself with a value."""
    if isinstance(pattern, ast.MatchOr):
        return any(map(compares, pattern.patterns))
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is not None and compares(pattern.pattern)
    return isinstance(pattern, ast.MatchValue)
