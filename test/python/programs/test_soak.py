"""Random tensor programs of ever new shapes and constants for STRATA_FUZZ_SECONDS: right values, and memory
stays flat.
"""

import os
import subprocess
import sys

import pytest

SOAK = """
import re, sys, time
import numpy as np
import strata
from strata import Tensor

seconds, rng = float(sys.argv[1]), np.random.default_rng(int(sys.argv[2]))

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

def step(t, v):
    which, c = rng.integers(9), float(np.float32(rng.uniform(0.5, 2)))
    if which == 0:
        return t * c, v * np.float32(c)
    if which == 1:
        return t + c, v + np.float32(c)
    if which == 2:
        return t.sin(), np.sin(v)
    if which == 3 and v.ndim > 1:
        return t.sum(axis=0) / v.shape[0], v.sum(axis=0) / v.shape[0]
    if which == 4 and v.ndim > 1:
        return t.reshape(-1, v.shape[0]), v.reshape(-1, v.shape[0])
    if which == 5 and v.ndim:
        return strata.cat([t, t * c]), np.concatenate([v, v * np.float32(c)])
    if which == 6 and v.ndim and v.shape[0] > 1:
        return t[1:], v[1:]
    if which == 7 and v.ndim > 1:
        return t.permute(*reversed(range(v.ndim))), v.T
    return t.maximum(c), np.maximum(v, np.float32(c))

def program():
    v = rng.standard_normal(rng.integers(1, 24, rng.integers(1, 4))).astype(np.float32)
    t = Tensor(v)
    for _ in range(rng.integers(1, 6)):
        t, v = step(t, v)
        if rng.integers(8) == 0:
            t.realize()
    np.testing.assert_allclose(t.numpy(), v, rtol=1e-4, atol=1e-4)

def dropped():
    big = Tensor(np.ones(int(rng.integers(1, 4 << 20)), np.uint8))
    for _ in range(100):
        (big[:8] * int(rng.integers(200)) + 1).sum()

def run(until):
    n = 0
    while time.monotonic() < until:
        program()
        dropped()
        n += 1
    return n

for _ in range(40):
    Tensor(np.ones(4 << 20, np.uint8))  # freed memory that rests is there from the start
start = time.monotonic()
run(start + seconds / 2)
middle = resident()
n = run(start + seconds)
print(n, middle, resident(), strata.stats())
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_memory_is_flat_over_random_programs(seed):
    seconds = float(os.environ.get("STRATA_FUZZ_SECONDS", "12")) / 2
    budgets = {"STRATA_GARBAGE_MB": "8", "STRATA_PROGRAMS_MB": "1", "STRATA_EMU_POOL_MB": "16"}
    done = subprocess.run(
        [sys.executable, "-c", SOAK, str(seconds), str(seed)],
        env={**os.environ, **budgets},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    rounds, middle, end = map(float, done.stdout.split()[:3])
    assert rounds > 0
    assert end < middle + 24, done.stdout
