"""Lowerings that are made wrong by a hook: strata compare finds each.

The hook changes a kernel's graph on its way to machine code. The interpreter computes the graph of tensors.
"""

import json
import re

import pytest
import strata
from strata import uop
from strata.cli.parser import parser
from tested import EMULATED

pytestmark = pytest.mark.skipif(not EMULATED, reason="compares emulated devices")

SOURCE = """
import numpy as np
from strata import Tensor, where

def samples():
    r = np.random.default_rng(3)
    x, n = r.standard_normal((SIZE, 24)).astype("float32") * 3, r.integers(-90, 90, (SIZE, 24)).astype("int32")
    return Tensor(x), Tensor(n)

def floats(x, n):
    return (x - x.exp2()) * 2 + (x / 3).abs()

def narrow(x, n):
    return ((x.cast("bfloat16") * 3).cast("float16") + 1).cast("float32") * 1.5

def integers(x, n):
    return ((n << 3) ^ (n * 5)) - (n >> 2) // 3 % 7

def choices(x, n):
    return where(x < 0.5, x * 2, -x).maximum(-1).minimum(4)

def padded(x, n):
    return x.pad(((1, 2), (0, 1)))[1:] + 1

def sums(x, n):
    return x.sum(1)

def extremes(x, n):
    return n.max(1)

def transposed(x, n):
    return (n.permute(1, 0) + 1).contiguous()

def unsigned(x, n):
    return n.cast("uint32") >> 1
"""


def line_by_line(rule):
    """Changes the first line that the rule changes."""

    def change(text):
        lines = text.splitlines()
        for i, line in enumerate(lines):
            if (new := rule(line)) != line:
                return "\n".join([*lines[:i], new, *lines[i + 1 :]]) + "\n"
        return text

    return change


def first(pattern, instead):
    return line_by_line(lambda line: re.sub(pattern, instead, line))


def swapped(op):
    return first(rf"(= {op} .*<- )(%\d+), (%\d+)", r"\1\3, \2")


def other(op, instead):
    return first(rf"= {op} ", f"= {instead} ")


def number(before, after):
    return first(rf"(= constant \w+) {re.escape(before)}$", rf"\1 {after}")


def everywhere(pattern, instead):
    return lambda text: re.sub(pattern, instead, text)


# name: (function, what becomes of the graph's text)
WRONG = {
    "operands of a difference swapped": ("floats", swapped("sub")),
    "a difference as a sum": ("floats", other("sub", "add")),
    "a power of another base": ("floats", other("exp2", "exp")),
    "an absolute value lost": ("floats", other("abs", "freeze")),
    "a factor lost": ("floats", number("2", "1")),
    "a rounding to bfloat16 lost": ("narrow", everywhere("bfloat16", "float32")),
    "a rounding to float16 lost": ("narrow", everywhere(r"\bfloat16", "float32")),
    "a product as a sum": ("integers", other("mul int32", "add int32")),
    "a shift by one more": ("integers", number("3", "4")),
    "xor as or": ("integers", other("bit_xor", "bit_or")),
    "a remainder as a quotient": ("integers", other("mod int32", "idiv int32")),
    "a shift the other way": ("integers", other("shr", "shl")),
    "a comparison turned round": ("choices", swapped("cmplt")),
    "arms of a choice exchanged": ("choices", first(r"(= where .*<- %\d+), (%\d+), (%\d+)", r"\1, \3, \2")),
    "a threshold moved": ("choices", number("0.5", "0.25")),
    "a negation lost": ("choices", other("neg", "freeze")),
    "a maximum as a minimum": ("choices", other("max", "min")),
    "a minimum as a maximum": ("choices", other("min", "max")),
    "padding by another number": ("padded", first(r"(= constant float32) 0$", r"\1 1")),
    "a reduction of another kind": ("sums", first(r"(= reduce \w+) add", r"\1 max")),
    "a loop one step short": ("sums", first(r"(= range index r\d+) 6 reduce", r"\1 5 reduce")),
    "a largest element that is the smallest": ("extremes", first(r"(= reduce \w+) max", r"\1 min")),
    "a stride off by one": ("transposed", first(r"(= constant index) 24$", r"\1 23")),
    "a shift with a sign": ("unsigned", everywhere("uint32", "int32")),
}


class Hook:
    """Lowers another graph; counts how often."""

    def __init__(self, change):
        self.change, self.changed = change, 0

    def __call__(self, text):
        new = self.change(text)
        self.changed += new != text
        return new


@pytest.mark.parametrize("name", WRONG)
def test_compare_finds_a_wrong_lowering(name, tmp_path, capsys):
    function, change = WRONG[name]
    size = 8 + list(WRONG).index(name)  # another kernel each time: what is compiled is kept
    (tmp_path / "given.py").write_text(SOURCE.replace("SIZE", str(size)))
    words = ["compare", f"{tmp_path}/given.py:{function}", "--samples", "samples", "--targets", "asm", "--json"]
    args = parser().parse_args([*words, "--devices", "emu:gfx1100", "--repeat", "1"])
    hook = Hook(change)
    uop._on_lowering(hook)
    try:
        with strata.config(no_cache=True):
            status = args.call(args)
    finally:
        uop._on_lowering(None)
    row = json.loads(capsys.readouterr().out)["results"][1]
    assert hook.changed, "the graph has nothing of the kind"
    assert (status, row["status"]) == (1, "mismatch"), row["error"]
