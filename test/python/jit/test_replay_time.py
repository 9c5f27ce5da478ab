"""A captured function that is called again calls no Python. A count of calls stands for the host's time, which
`strata bench train` measures: time depends on what else the machine does.
"""

import sys

import numpy as np
import pytest
import strata
from strata import Tensor


def calls_of(run):
    """Names of all functions that a call of `run` reaches, of Python and of extension modules."""
    seen = []

    def note(frame, event, argument):
        if event == "call":
            seen.append(frame.f_code.co_name)
        elif event == "c_call":
            seen.append(argument.__qualname__)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return seen[:-1]  # the last is setprofile


def chain(length):
    w = Tensor(np.ones(64, np.float32)).realize()

    @strata.jit
    def run(x):
        for _ in range(length):
            x = (x * 1.5 + w).contiguous()
        return x

    x = Tensor(np.ones(64, np.float32)).realize()
    for _ in range(4):
        run(x)
    assert run.launches == length and run.captures == 1
    return run, x


@pytest.mark.parametrize("length", [1, 2, 8, 32])
def test_a_replay_calls_no_function_of_python_however_many_kernels_it_launches(length):
    run, x = chain(length)
    assert calls_of(lambda: run(x)) == ["<lambda>"]


def test_a_call_that_is_not_the_last_one_is_seen_by_the_count():
    run, x = chain(2)
    assert "_otherwise" in calls_of(lambda: run(Tensor(np.ones((2, 64), np.float32))))
