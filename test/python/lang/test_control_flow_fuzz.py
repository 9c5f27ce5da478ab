"""Random programs with nested control flow: the device, k.interpret and Python itself agree.

STRATA_FUZZ_SECONDS: how long programs are made beyond the first ones; STRATA_FUZZ_SEED: where they start.
"""

import itertools
import linecache
import os
import time

import numpy as np
import pytest
import strata
from random_programs import Drawn
from strata import Tensor, lang
from tested import TARGETS

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]
COLUMNS = [0, 3, 7, -4, 2, 96, -50], [1, -2, 7, 9, 0, -96, 13]
FIRST = 4  # programs of every run of the tests


def helper(x, y):
    if x > y:
        return x - y
    while y > 3:
        y -= 5
        if y == x:
            break
    return y * 2 + 1


def program(seed, folder):
    """The function of a seed, and its text."""
    text, file = Drawn(seed).text, str(folder / f"drawn{seed}.py")
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"helper": helper}
    exec(compile(text, file, "exec"), space)
    return space["f"], text


def kernel_of(f):
    @strata.kernel(grid=1, block=len(COLUMNS[0]))
    def kernel(out, a, b):
        i = lang.thread_idx.x
        given = [a[i], b[i], 3]
        *numbers, listed = f(a[i], b[i], given)
        for k, x in enumerate((*numbers, *listed, *given)):
            out[i, k] = x

    return kernel


def rows_of(f):
    rows = []
    for x, y in zip(*COLUMNS):
        given = [x, y, 3]
        *numbers, listed = f(x, y, given)
        rows.append([*numbers, *listed, *given])
    return rows


def check(seed, folder):
    f, text = program(seed, folder)
    kernel, want = kernel_of(f), rows_of(f)
    out, *given = (Tensor.zeros(len(want), 10, dtype="int32"), *(Tensor(np.array(c, "int32")) for c in COLUMNS))
    arch, target = ARCHS[seed % len(ARCHS)], TARGETS[seed // len(ARCHS) % len(TARGETS)]
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        found = {
            "the interpreter": kernel.interpret(out, *given)[0].numpy().tolist(),
            f"{arch} by {target}": kernel(out, *given)[0].numpy().tolist(),
        }
    for who, got in found.items():
        assert got == want, f"seed {seed}: {who} has {got}, and Python {want}\n{text}"


@pytest.mark.parametrize("seed", [12])  # a return in a loop that is in a branch
def test_programs_that_once_differed_agree(seed, tmp_path):
    check(seed, tmp_path)


def test_device_interpreter_and_python_agree_on_random_programs(tmp_path):
    until = time.monotonic() + float(os.environ.get("STRATA_FUZZ_SECONDS", "0"))
    start = int(os.environ.get("STRATA_FUZZ_SEED", "1000"))
    for count in itertools.count():
        if count >= FIRST and time.monotonic() >= until:
            break
        check(start + count, tmp_path)
    print(f"{count} programs agree")
