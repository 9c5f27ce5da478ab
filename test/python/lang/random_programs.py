"""Random functions with nested control flow, as text: their numbers stay small, their loops end."""

import random

NAMES = ["a", "b", "c", "d"]


class Drawn:
    """The text of a function f(a, b, given) of two integers and a list of three."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0
        body = self.block(1, 0, False)
        self.text = "\n".join(
            ["def f(a, b, given):", "    c = 1", "    d = a - b", *body, "    return (a, b, c, d, tuple(given))", ""]
        )

    def number(self, depth=0):
        at, pick = self.random.random(), self.random.choice
        below = depth + 1
        if depth > 2 or at < 0.3:
            return pick([*NAMES, str(self.random.randint(-5, 9))])
        if at < 0.6:
            return f"(({self.number(below)} {pick('+-*')} {self.number(below)}) % 97)"
        if at < 0.7:
            return f"({self.number(below)} if {self.condition(below)} else {self.number(below)})"
        if at < 0.8:
            return f"{pick(['max', 'min'])}({self.number(below)}, {self.number(below)})"
        if at < 0.9:
            return f"helper({self.number(below)}, {self.number(below)})"
        return f"({self.number(below)} {pick(['%', '//'])} {pick(['7', '-3'])})"

    def condition(self, depth=0):
        at, below = self.random.random(), depth + 1
        if depth > 2 or at < 0.4:
            return f"{self.number(below)} {self.random.choice(['<', '<=', '==', '!=', '>'])} {self.number(below)}"
        if at < 0.7:
            return f"({self.condition(below)} {self.random.choice(['and', 'or'])} {self.condition(below)})"
        if at < 0.8:
            return f"not {self.condition(below)}"
        return f"{self.number(below)} < {self.number(below)} <= {self.number(below)}"

    def name(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def block(self, indent, depth, in_loop):
        out = []
        for _ in range(self.random.randint(1, 3)):
            made = self.statement(indent, depth, in_loop)
            out += made
            if made[-1].split()[0] in ("break", "continue", "return"):
                break
        return out

    def statement(self, indent, depth, in_loop):
        at, pad, pick = self.random.random(), "    " * indent, self.random.choice
        inner = (indent + 1, depth + 1)
        if depth < 3 and at < 0.25:
            out = [f"{pad}if {self.condition()}:", *self.block(*inner, in_loop)]
            if self.random.random() < 0.3:
                out += [f"{pad}elif {self.condition()}:", *self.block(*inner, in_loop)]
            return out + ([f"{pad}else:", *self.block(*inner, in_loop)] if self.random.random() < 0.5 else [])
        if depth < 3 and at < 0.4:
            i = self.name("i")
            numbers = pick(["range(3)", "range(a % 4)", "range(1, 6, 2)", "range(b % 5, -2, -2)", "(4, 2, 1)"])
            out = [f"{pad}for {i} in {numbers}:", f"{pad}    a = (a + {i}) % 97", *self.block(*inner, True)]
            return out + ([f"{pad}else:", *self.block(*inner, in_loop)] if self.random.random() < 0.3 else [])
        if depth < 3 and at < 0.48:
            i = self.name("w")
            head = [f"{pad}{i} = 0", f"{pad}while {i} < 4 and {self.condition()}:", f"{pad}    {i} += 1"]
            return head + self.block(*inner, True)
        if at < 0.56 and in_loop:
            return [pad + pick(["break", "continue"])]
        if at < 0.6 and depth > 0:
            return [f"{pad}return ({self.number()}, {self.number()}, c, d, tuple(given))"]
        if at < 0.7:
            return [f"{pad}given[{self.random.randint(0, 2)}] = {self.number()}"]
        if at < 0.75:
            return [f"{pad}{pick(NAMES)} = {self.number()} + (t := {self.number()}) - t"]
        return [f"{pad}{pick(NAMES)} = ({pick(NAMES)} {pick('+-')} {self.number()}) % 97"]
