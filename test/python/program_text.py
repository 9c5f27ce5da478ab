"""Programs of tensors as text: lines of one assignment each, the inputs they take, and the values they give back. The
same text runs on tensors and on bounded.Bounded; it is also what a failure prints.
"""

import re
from dataclasses import dataclass, replace
from functools import cached_property

import bounded
import numpy as np
from bounded_functions import REFERENCE

NAME = re.compile(r"\b[xv]\d+\b")
NUMBERS = [0.0, 1.0, -1.0, 0.5, 1.5, 2.0, 0.37, 3.0]  # what the Python number k of a program may be
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


@dataclass(frozen=True)
class Input:
    shape: tuple  # names of sizes
    dtype: str
    scale: float = 1.0


@dataclass(frozen=True)
class Program:
    """lines: text each, that assign v0, v1, ... or change one of them. by: inputs by which the sum of the results is
    differentiated.
    """

    sizes: dict
    inputs: dict
    lines: tuple = ()
    results: tuple = ()
    by: tuple = ()
    seed: int = 0
    number: float = 1.5

    def text(self, eager=False):
        """def program(inputs, k). eager: each value is computed before the next line."""
        names = list(self.inputs)
        lines = [
            line
            for text in self.lines
            for line in (text, *([f"{made(text)}.realize()"] if eager and made(text) else []))
        ]
        if not self.by:
            body = [*lines, f"return {', '.join(self.results)},"]
        else:
            wide = "float64" if any(x.dtype == "float64" for x in self.inputs.values()) else "float32"
            total = " + ".join(f'{r}.cast("{wide}").mean()' for r in self.results)
            places = tuple(names.index(n) for n in self.by)
            body = [
                f"def loss({', '.join(names)}):",
                *("    " + line for line in [*self.lines, f"return {total}"]),
                f"value, slopes = strata.value_and_grad(loss, {places})({', '.join(names)})",
                "return value, *slopes",
            ]
        return f"def program({', '.join([*names, 'k'])}):\n" + "\n".join("    " + line for line in body) + "\n"

    def function(self, strata, eager=False):
        scope = {"strata": strata}
        exec(self._code[bool(eager)], scope)
        return scope["program"]

    @cached_property
    def _code(self):
        """By whether each value is computed before the next line."""
        return {eager: compile(self.text(eager), f"<program {self.seed}>", "exec") for eager in (False, True)}

    def shape(self, name):
        return tuple(self.sizes[n] for n in self.inputs[name].shape)

    def arrays(self, turn=0):
        """Values of the inputs, other ones each turn, which their types hold."""
        return {
            name: drawn(x.dtype, self.shape(name), x.scale, [self.seed, turn, int(name[1:])])
            for name, x in self.inputs.items()
        }

    def reference(self, arrays, number=None):
        """The results with their bounds; None where rounding decides."""
        given = [bounded.Bounded(arrays[name], x.dtype) for name, x in self.inputs.items()]
        try:
            with np.errstate(all="ignore"):
                out = self.function(REFERENCE)(*given, self.number if number is None else number)
        except bounded.Ambiguous:
            return None
        return out if all(map(fit, out)) else None

    @cached_property
    def usual(self):
        """The inputs of the first turn, and the results with their bounds."""
        arrays = self.arrays()
        return arrays, self.reference(arrays)

    def used(self):
        """Without the lines and inputs that no result needs."""
        wanted, kept = {*self.results, *self.by}, []
        for line in reversed(self.lines):
            name = made(line) or NAME.search(line)[0]
            if name in wanted:
                kept.append(line)
                wanted |= set(NAME.findall(line))
        inputs = {name: x for name, x in self.inputs.items() if name in wanted}
        return replace(
            self,
            lines=tuple(reversed(kept)),
            inputs=inputs,
            sizes={n: s for n, s in self.sizes.items() if any(n in x.shape for x in inputs.values())},
        )


def made(line):
    """The name that a line assigns."""
    found = re.match(r"([xv]\d+) = ", line)
    return found and found[1]


def drawn(dtype, shape, scale, seed):
    rng = np.random.default_rng(seed)
    if dtype in bounded.UNIT:
        bits = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}[dtype]
        values = rng.standard_normal(shape) * scale
        exponent = np.frexp(values)[1]
        exponent = np.maximum(exponent, -13) if dtype == "float16" else exponent  # those below are subnormal
        return np.ldexp(np.round(np.ldexp(values, bits - exponent)), exponent - bits)
    return rng.integers(*{"b": (0, 2), "u": (0, 10), "i": (-9, 10)}[np.dtype(dtype).kind], shape).astype(dtype)


MOST = {"float16": 2e3, "bfloat16": 1e6, "float32": 1e6, "float64": 1e6}
LOOSE = {"float16": 0.05, "bfloat16": 0.2, "float32": 2e-3, "float64": 1e-10}


def fit(x):
    """Is a value finite, of an ordinary size, and known well enough that a wrong one shows?"""
    if x.dtype not in bounded.UNIT or not x.size:
        return True
    top = abs(x.v).max()
    return bool(
        np.isfinite(x.v).all()
        and np.isfinite(x.e).all()
        and top < MOST[x.dtype]
        and x.e.max() <= LOOSE[x.dtype] * max(top, 1e-3)
    )
