"""What the host does for a captured function that is called again, where kernels do nothing."""

import time

import numpy as np
import pytest

import strata
from strata import Tensor, _strata


@pytest.fixture(scope="module")
def null():
    if "null:gfx1100" not in _strata.devices():
        _strata._add_null_devices()
    with strata.config(device="null:gfx1100"):
        yield


def microseconds(call, aim, calls=2000, patience=5):
    """CPU time of a call where the machine disturbs it least; looked for no longer once it is below the aim."""
    best, end = float("inf"), time.monotonic() + patience
    while best >= aim and time.monotonic() < end:
        start = time.thread_time()
        for _ in range(calls):
            call()
        best = min(best, (time.thread_time() - start) / calls * 1e6)
    return best


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
    return lambda: run(x)


def test_a_replay_takes_less_than_a_microsecond_a_kernel_from_four_on(null):
    for length in (4, 8, 32):
        assert microseconds(chain(length), length) < length


def test_a_replay_of_one_kernel_takes_few_microseconds(null):
    assert microseconds(chain(1), 4) < 4
