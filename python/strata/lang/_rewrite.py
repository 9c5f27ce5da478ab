"""Rewrites the syntax tree of a kernel's function so that its control flow decides by the values that it
meets. A Python value decides while the kernel is traced, a value of the kernel in the kernel.

Nothing is moved into functions of its own: names stay names of the function, lines stay lines, and a traceback shows
the user's file. `_control` has what the rewritten code calls, under the name RUNTIME. An if becomes

    b = RUNTIME.branch(test, names, line)
    if b.then(locals()): ...
    if b.other(locals()): ...
    if b.decides_in_kernel: b.end(locals()); x = b.value("x")        # for each name that the if assigns

and a loop the same with cells of registers for its names. A jump becomes a flag, under which what follows does not run.
"""

import ast
import itertools

from . import _nodes as nodes
from ._assigned import CHANGES as CHANGES, always_jumps, assigned, bound, compares, jumps_of, outliving
from ._nodes import RUNTIME as RUNTIME

DONE, RESULT = "_strata_done", "_strata_result"  # flag and value of a return


class _Loop:
    """The flags of the loop around a place."""

    def __init__(self, stop, skip):
        self.stop, self.skip = stop, skip


class Rewriter(ast.NodeTransformer):
    """Rewrites one function; functions inside of it have their own."""

    def __init__(self):
        self.numbers = itertools.count()
        self.loops = []
        self.flags_return = False
        self.outer_names = set()
        self.bound = set()  # names of the function; an object of a closure or global has none here

    def _temporary(self, what="t"):
        return f"_strata_{what}{next(self.numbers)}"

    # Functions.

    def function(self, node):
        """The body of a function that is rewritten."""
        self.bound = bound(node)
        nested = any("return" in jumps_of([s]) for s in node.body if not isinstance(s, ast.Return))
        self.flags_return = nested
        always = always_jumps(node.body)
        start, kept = node.body[0], outliving(node)
        body = self._block(node.body)
        if kept:
            check = nodes.call("outlives", start, nodes.constant(tuple(kept), start), nodes.constant(node.name, start))
            body.insert(0, ast.copy_location(ast.Expr(check), start))
        if nested:
            start = node.body[0]
            end = ast.copy_location(
                ast.Return(
                    nodes.call(
                        "returned",
                        start,
                        nodes.constant(True, start) if always else nodes.name(DONE, start),
                        nodes.name(RESULT, start),
                    )
                ),
                node.body[-1],
            )
            body = [
                self._set(DONE, nodes.constant(False, start)),
                self._set(RESULT, nodes.call("nothing", start)),
                *body,
                end,
            ]
        node.body = body
        return node

    def _set(self, name, value):
        return ast.copy_location(ast.Assign([nodes.name(name, value, True)], value), value)

    def visit_FunctionDef(self, node):
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args = self._defaults(node.args)
        own = Rewriter()
        own.numbers = self.numbers
        return own.function(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def _defaults(self, args):
        args.defaults = [self.visit(d) for d in args.defaults]
        args.kw_defaults = [d and self.visit(d) for d in args.kw_defaults]
        return args

    def visit_Lambda(self, node):
        node.args = self._defaults(node.args)
        node.body = self.visit(node.body)
        return node

    def visit_ClassDef(self, node):
        node.body = [self.visit(s) if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)) else s for s in node.body]
        return node

    # Statements.

    def _block(self, statements):
        """Statements, what follows a jump under its flag."""
        out = []
        for at, statement in enumerate(statements):
            rest = statements[at + 1 :]
            jumps = jumps_of([statement])
            if isinstance(statement, ast.Return) and self.flags_return:
                value = self.visit(statement.value) if statement.value else nodes.constant(None, statement)
                out.append(ast.copy_location(ast.Assign([nodes.name(RESULT, statement, True)], value), statement))
                out.append(self._set(DONE, nodes.constant(True, statement)))
                break
            if isinstance(statement, (ast.Break, ast.Continue)):
                loop = self.loops[-1]
                flag = loop.stop if isinstance(statement, ast.Break) else loop.skip
                out.append(self._set(flag, nodes.constant(True, statement)))
                break
            if not jumps or not rest:
                out += self._statement(statement)
                continue
            if isinstance(statement, ast.If) and always_jumps(statement.body):
                out += self._if(statement, statement.body, statement.orelse + rest)
                break
            if isinstance(statement, ast.If) and statement.orelse and always_jumps(statement.orelse):
                out += self._if(statement, statement.body + rest, statement.orelse)
                break
            out += self._statement(statement)
            test = nodes.call("none_of", rest[0], *[nodes.name(f, rest[0]) for f in self._flags(jumps)])
            out += self._branch(test, rest[0], rest, [])
            break
        return out

    def _flags(self, jumps):
        flags = [DONE] if "return" in jumps else []
        if "break" in jumps:
            flags.append(self.loops[-1].stop)
        if "continue" in jumps:
            flags.append(self.loops[-1].skip)
        return flags

    def _statement(self, statement):
        made = self.visit(statement)
        return made if isinstance(made, list) else [made]

    def _suite(self, node):
        for field in ("body", "orelse", "finalbody"):
            if getattr(node, field, None):
                setattr(node, field, self._block(getattr(node, field)))

    def visit_Try(self, node):
        for handler in node.handlers:
            self._suite(handler)
        self._suite(node)
        return node

    visit_TryStar = visit_Try

    def visit_With(self, node):
        node.items = [self.visit(item) for item in node.items]
        self._suite(node)
        return node

    visit_AsyncWith = visit_With

    def visit_Match(self, node):
        node.subject = self.visit(node.subject)
        if any(compares(case.pattern) for case in node.cases):
            node.subject = nodes.call("subject", node.subject, node.subject)
        for case in node.cases:
            if case.guard:
                case.guard = nodes.call("plain", case.guard, self.visit(case.guard))
            self._suite(case)
        return node

    def visit_Assert(self, node):
        self.generic_visit(node)
        node.test = nodes.call("asserted", node.test, node.test)
        return node

    def visit_Global(self, node):
        self.outer_names.update(node.names)
        return node

    def _names(self, statements):
        jumps = jumps_of(statements)
        flags = [DONE, RESULT] if "return" in jumps else []
        if self.loops:
            flags += [self.loops[-1].stop] if "break" in jumps else []
            flags += [self.loops[-1].skip] if "continue" in jumps else []
        return flags + self._assigned(statements)

    def _assigned(self, statements):
        return [name for name in assigned(statements) if name in self.bound]

    def _take(self, region, names, at):
        """name = region.value("name") of each; without one the name is deleted."""
        out = []
        for name in names:
            out.append(
                ast.copy_location(
                    ast.Assign(
                        [nodes.name(name, at, True)], nodes.method(region, "value", at, nodes.constant(name, at))
                    ),
                    at,
                )
            )
            test = ast.copy_location(
                ast.Compare(
                    nodes.name(name, at),
                    [ast.Is()],
                    [ast.copy_location(ast.Attribute(nodes.name(RUNTIME, at), "UNBOUND", ast.Load()), at)],
                ),
                at,
            )
            out.append(
                ast.copy_location(
                    ast.If(
                        test,
                        [ast.copy_location(ast.Delete([ast.copy_location(ast.Name(name, ast.Del()), at)]), at)],
                        [],
                    ),
                    at,
                )
            )
        return out

    def _in_kernel(self, region, at, statements):
        test = ast.copy_location(ast.Attribute(nodes.name(region, at), "decides_in_kernel", ast.Load()), at)
        return ast.copy_location(ast.If(test, statements, []), at)

    def _described(self, names, at, *suites):
        """A region: its names, those of them that are global, its line, and where each suite assigns each name."""
        lines = [assigned(suite) for suite in suites]
        return [
            nodes.constant(tuple(names), at),
            nodes.constant(tuple(n for n in names if n in self.outer_names), at),
            nodes.constant(at.lineno, at),
            *(nodes.constant(tuple(of.get(n, at.lineno) for n in names), at) for of in lines),
        ]

    def visit_If(self, node):
        return self._if(node, node.body, node.orelse)

    def _if(self, node, body, orelse):
        return self._branch(self.visit(node.test), node, body, orelse)

    def _branch(self, test, at, body, orelse):
        names = self._names(body + orelse)
        region = self._temporary("if")
        out = [self._set(region, nodes.call("branch", at, test, *self._described(names, at, body, orelse)))]
        out.append(
            ast.copy_location(ast.If(nodes.method(region, "then", at, nodes.locals(at)), self._block(body), []), at)
        )
        if orelse:
            start = self._in_kernel(region, at, self._take(region, names, at) or [ast.copy_location(ast.Pass(), at)])
            other = ast.If(nodes.method(region, "other", at, nodes.locals(at)), [start, *self._block(orelse)], [])
            out.append(ast.copy_location(other, at))
        end = ast.copy_location(ast.Expr(nodes.method(region, "end", at, nodes.locals(at))), at)
        out.append(self._in_kernel(region, at, [end, *self._take(region, names, at)]))
        return out

    # Loops.

    def _open(self, node):
        """The flags of a loop, and the statements that clear them."""
        jumps = jumps_of(node.body)
        flags = _Loop(self._temporary("stop"), self._temporary("skip"))
        before = [self._set(flags.stop, nodes.constant(False, node))] if "break" in jumps else []
        each = [self._set(flags.skip, nodes.constant(False, node))] if "continue" in jumps else []
        leaves = ([flags.stop] if "break" in jumps else []) + ([DONE] if "return" in jumps else [])
        names = leaves + ([RESULT] if "return" in jumps else [])
        return flags, before, each, leaves, names + [n for n in self._assigned(node.body) if n not in names]

    def _after(self, node, leaves):
        """else of a loop: where nothing left it."""
        if not node.orelse:
            return []
        if not leaves:
            return self._block(node.orelse)
        at = node.orelse[0]
        return self._branch(nodes.call("none_of", at, *[nodes.name(f, at) for f in leaves]), at, node.orelse, [])

    def _loop(self, node, flags, leaves):
        """The body of a loop: what follows a jump does not run, in the same step or in a later one."""
        self.loops.append(flags)
        if leaves and not isinstance(node, ast.While):
            test = nodes.call("none_of", node, *[nodes.name(f, node) for f in leaves])
            body = self._branch(test, node, node.body, [])
        else:
            body = self._block(node.body)
        self.loops.pop()
        return body

    def _head(self, region, names, node):
        return self._in_kernel(region, node, self._take(region, names, node) or [ast.copy_location(ast.Pass(), node)])

    def _tail(self, region, node):
        leave = ast.If(
            nodes.method(region, "tail", node, nodes.locals(node)), [ast.copy_location(ast.Break(), node)], []
        )
        return ast.copy_location(leave, node)

    def visit_For(self, node):
        flags, before, each, leaves, names = self._open(node)
        region, item = self._temporary("for"), self._temporary("item")
        targets = list(assigned([ast.copy_location(ast.Assign([node.target], nodes.constant(None, node)), node)]))
        names += [n for n in targets if n not in names]
        described = self._described(names, node, node.body)
        target = ast.copy_location(ast.Assign([node.target], nodes.name(item, node)), node.target)
        iterated = self.visit(node.iter)
        given = [*described, nodes.constant(tuple(leaves), node), nodes.constant(tuple(targets), node)]
        start = nodes.call("loop", node, iterated, *given, nodes.locals(node))
        body = [self._head(region, names, node), target, *each, *self._loop(node, flags, leaves)]
        body.append(self._tail(region, node))
        loop = ast.copy_location(ast.For(nodes.name(item, node, True), nodes.name(region, node), body, []), node)
        end = self._head(region, names, node)
        return [*before, self._set(region, start), loop, end, *self._after(node, leaves)]

    def visit_While(self, node):
        flags, before, each, leaves, names = self._open(node)
        region, again = self._temporary("while"), self._temporary("again")
        names += [n for n in self._assigned([ast.copy_location(ast.Expr(node.test), node)]) if n not in names]
        start = nodes.call(
            "while_", node, *self._described(names, node, node.body), nodes.constant(tuple(leaves), node)
        )
        test = self._set(again, nodes.method(region, "test", node, self.visit(node.test), nodes.locals(node)))
        retry = ast.If(
            ast.copy_location(ast.Compare(nodes.name(again, node), [ast.Is()], [nodes.constant(None, node)]), node),
            [ast.copy_location(ast.Continue(), node)],
            [],
        )
        stop = ast.If(
            ast.copy_location(ast.UnaryOp(ast.Not(), nodes.name(again, node)), node),
            [ast.copy_location(ast.Break(), node)],
            [],
        )
        body = [self._head(region, names, node), test, retry, stop, *each, *self._loop(node, flags, leaves)]
        body.append(self._tail(region, node))
        loop = ast.copy_location(ast.While(nodes.method(region, "next", node, nodes.locals(node)), body, []), node)
        end = self._head(region, names, node)
        return [*before, self._set(region, start), loop, end, *self._after(node, leaves)]

    # Expressions.

    def visit_BoolOp(self, node):
        is_and = isinstance(node.op, ast.And)
        value = self.visit(node.values[0])
        for right in node.values[1:]:
            first = nodes.call("when" if is_and else "unless", node, value)
            second = ast.IfExp(nodes.call("then", node), self.visit(right), nodes.constant(None, node))
            value = nodes.call("both" if is_and else "either", node, first, ast.copy_location(second, node))
        return value

    def visit_IfExp(self, node):
        first = nodes.call("when", node, self.visit(node.test))
        then = ast.IfExp(nodes.call("then", node), self.visit(node.body), nodes.constant(None, node))
        other = ast.IfExp(nodes.call("other", node), self.visit(node.orelse), nodes.constant(None, node))
        return nodes.call("chosen", node, first, ast.copy_location(then, node), ast.copy_location(other, node))

    def visit_UnaryOp(self, node):
        node.operand = self.visit(node.operand)
        return nodes.call("not_", node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            found = nodes.call("contains", node, node.left, node.comparators[0])
            return found if isinstance(node.ops[0], ast.In) else nodes.call("not_", node, found)
        if len(node.ops) == 1:
            return node
        left, value = node.left, None
        for i, (op, right) in enumerate(zip(node.ops, node.comparators)):
            last = i + 1 == len(node.ops)
            compared = ast.Compare(left, [op], [right if last else nodes.call("keep", right, right)])
            compared = ast.copy_location(compared, node)
            if value is None:
                value = compared
            else:
                second = ast.copy_location(
                    ast.IfExp(nodes.call("then", node), compared, nodes.constant(None, node)), node
                )
                value = nodes.call("both", node, nodes.call("link", node, value), second)
            left = nodes.call("kept", node)
        return value

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "locals"):
            return node
        node.func = nodes.call("function", node.func, node.func)
        return nodes.call("result", node, node)

    def visit_BinOp(self, node):
        """Lists and dicts that + * and | make are new."""
        self.generic_visit(node)
        return nodes.call("result", node, node) if isinstance(node.op, (ast.Add, ast.Mult, ast.BitOr)) else node

    def _changed(self, node):
        self.generic_visit(node)
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            node.value = nodes.call(
                "changed", node.value, node.value, nodes.constant(isinstance(node, ast.Subscript), node)
            )
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            return nodes.call("result", node, node)
        return node

    visit_Subscript = visit_Attribute = _changed

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        look = ast.copy_location(ast.Expr(nodes.call("changed", node, nodes.name(node.target.id, node))), node)
        return [look, node]

    def visit_AnnAssign(self, node):
        node.target = self.visit(node.target)
        if node.value:
            node.value = self.visit(node.value)
        return node

    def _made(self, node):
        self.generic_visit(node)
        if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            return node
        return nodes.call("made", node, node)

    visit_List = visit_Dict = visit_Set = visit_ListComp = visit_SetComp = visit_DictComp = _made


def rewrite(node):
    """The function's or lambda's node, rewritten in place."""
    rewriter = Rewriter()
    if isinstance(node, ast.Lambda):
        node.body = rewriter.visit(node.body)
    else:
        rewriter.function(node)
    return ast.fix_missing_locations(node)
