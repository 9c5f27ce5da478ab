"""The host's time for a captured function that is called again, where kernels do nothing. It runs in a process of its
own, because reset_stats() makes a process time its launches by the clock.
"""

import subprocess
import sys
import time

import numpy as np
import pytest
import strata
from strata import Tensor, _strata


def in_plain_calls(call, aim, calls=500, patience=8):
    """CPU time of a call, in units of a Python function that does nothing, each where the machine disturbs it least.
    The search ends once it is below the aim.
    """

    def idle(x):
        return x

    least, least_idle, end, rounds = float("inf"), float("inf"), time.monotonic() + patience, 0
    while rounds < 20 or least >= aim * least_idle and time.monotonic() < end:
        least = min(least, seconds(call, calls))
        least_idle = min(least_idle, seconds(lambda: idle(0), calls))
        rounds += 1
    return least / least_idle


def seconds(call, calls):
    start = time.thread_time()
    for _ in range(calls):
        call()
    return time.thread_time() - start


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


def main(length, aim):
    _strata._add_null_devices()
    with strata.config(device="null:gfx1100"):
        print(in_plain_calls(chain(length), aim))


@pytest.mark.parametrize("length", [1, 2, 4, 8, 32])
def test_a_replay_takes_few_plain_calls_of_python(length):
    """A call of 0.064 us: 0.88 us for one kernel, which are 14, then 0.15 for each, 2.5."""
    most = 14 + 3 * length
    run = subprocess.run([sys.executable, __file__, str(length), str(most)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < most


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
