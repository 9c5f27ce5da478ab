"""A process that may have few addresses (ulimit -v) gets errors that say so, and no signal."""

import subprocess
import sys

import pytest

CHILD = """
import math, resource, sys
import numpy  # while there are addresses for it
import strata
from strata import Tensor

used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv[1]) << 20),) * 2)

def elementwise():
    a, b = (Tensor([1.0, 2.0]) * 3.25).sin().tolist()
    assert abs(a - math.sin(3.25)) < 1e-6 and abs(b - math.sin(6.5)) < 1e-6

def hip():
    kernel = strata.hip_kernel('extern "C" __global__ void f(float* x) { x[threadIdx.x] += 2; }', name="f", grid=1, block=64)
    assert kernel(Tensor.zeros(64))[0].tolist() == [2.0] * 64

def until_full():
    kept = []
    for i in range(64):
        kept.append(Tensor.ones(1 << 24).contiguous().realize())

with strata.config(no_cache=True):
    for work in (elementwise, hip, until_full, elementwise, hip):
        try:
            work()
            print("did", work.__name__)
        except strata.Error as e:
            print("refused", work.__name__, type(e).__name__, ascii(str(e)))
"""  # noqa: E501


@pytest.mark.parametrize("megabytes", [1, 64, 128, 256, 512, 2048])
def test_few_addresses_are_an_error_that_says_so(megabytes):
    done = subprocess.run([sys.executable, "-c", CHILD, str(megabytes)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.stdout, done.stderr)
    lines = done.stdout.splitlines()
    assert len(lines) == 5 and (megabytes < 2048 or lines[0].startswith("did") and lines[1].startswith("did"))
    for line in lines:
        assert line.startswith("did") or "(ulimit -v)" in line, line
