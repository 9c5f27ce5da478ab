"""The time of scheduling grows with the graph. It is measured in a process of its own, whose heap no other test has
used.

python test/python/kernels/test_schedule_time.py SHAPE     prints the processor's seconds of a small graph and of one
ten times as large
"""

import subprocess
import sys
import time

import numpy as np
import pytest
import strata
from strata import Tensor

SHAPES = ["one after the other", "side by side", "of one graph"]


def measured(shape):
    parts = [Tensor(np.array([float(v % 7)], np.float32)).realize() for v in range(3000)]

    def seconds(count):
        y = [p * 2 + 0.5 for p in parts[:count]]
        if shape != "side by side":
            total = y[0]
            for p in y[1:]:
                total = total + p
            y = [total * float(n + 2) for n in range(1 if shape == "one after the other" else count // 10)]
        start = time.process_time()
        strata.realize(y)
        return time.process_time() - start

    with strata.config(emu_timed=False):
        seconds(298)  # compiles what all need
        return min(seconds(300 - n) for n in range(2)), min(seconds(3000 - n) for n in range(2))


@pytest.mark.parametrize("shape", SHAPES)
def test_what_scheduling_takes_grows_with_the_graph(shape):
    """Ten times the graph may take forty times the processor's time, and not a hundred times."""
    run = subprocess.run([sys.executable, __file__, shape], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    small, large = map(float, run.stdout.split())
    assert large < 40 * small + 0.05


if __name__ == "__main__":
    print(*measured(sys.argv[1]))
