"""A captured function that is called again calls no Python. `strata bench train` measures the time of a call."""

import numpy as np
import pytest
import strata
from called import called_by
from strata import Tensor


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
    assert called_by(lambda: run(x)) == []


def test_a_call_that_is_not_the_last_one_is_seen_by_the_count():
    run, x = chain(2)
    assert "_otherwise" in called_by(lambda: run(Tensor(np.ones((2, 64), np.float32))))
