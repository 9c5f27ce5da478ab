"""The memory of a process stays near what its tensors need, however long it runs. Each case is a process of its
own, which prints by how many MiB it grew, at most and at its end.
"""

import os
import subprocess
import sys

import pytest

MEASURE = """
import gc, re
import numpy as np
import strata
from strata import Tensor

def resident(what):
    return int(re.search(what + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

x = Tensor(np.arange(64, dtype=np.float32)).realize()
with strata.config(no_cache=True):
    (x + 1).realize()  # with the compiler in the process
start = resident("VmRSS")
{case}
gc.collect()
print(resident("VmHWM") - start, resident("VmRSS") - start)
"""


def growth(case, **environment):
    code = MEASURE.replace("{case}", case)
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    most, end = map(float, done.stdout.split())
    return most, end


def test_a_tensor_that_grows_piece_by_piece_needs_a_few_times_its_size():
    case = """
piece = Tensor(np.ones(3 << 20, np.uint8)).realize()
y = piece
for _ in range(23):
    y = strata.cat([y, piece]).realize()
assert y.shape == (72 << 20,)
"""
    growth(case)  # fills the cache: what the compiler needs is not measured
    most, _ = growth(case, STRATA_EMU_POOL_MB="32")  # two of 72 MiB at a time, 64 in quarantine; 900 in all
    assert most < 320


def test_batches_of_random_sizes_use_the_memory_of_one_another():
    case = """
for n in np.random.default_rng(0).integers(1 << 18, 1 << 20, 24):
    y = (Tensor(np.ones((int(n), 8), np.float32)) * 2).realize()
"""
    growth(case)  # fills the cache
    most, _ = growth(case, STRATA_EMU_POOL_MB="32")  # 4 of at most 32 MiB at a time, 64 in quarantine; 960 in all
    assert most < 400


def test_arrays_that_are_dropped_without_being_used_are_freed():
    case = """
for _ in range(40):
    Tensor(np.ones(16 << 20, np.uint8))
"""
    most, _ = growth(case)  # 64 MiB of garbage, 64 in quarantine; 640 in all
    assert most < 260


def test_small_arrays_that_are_dropped_without_being_used_are_freed():
    case = """
a = np.ones(48 << 10, np.uint8)
for _ in range(12000):
    Tensor(a)
"""
    most, _ = growth(case)  # 560 in all
    assert most < 230


def test_graphs_that_are_dropped_without_being_used_are_freed():
    case = """
for i in range(40000):
    ((x * (i + 0.5) + 1).sin() * (i + 0.25)).sum()
"""
    most, _ = growth(case)  # 80 in all
    assert most < 24


def test_nodes_of_uop_graphs_that_are_dropped_are_freed():
    case = """
n = strata.uop.range(8, 0)
for i in range(120000):
    (n + i) * 3
"""
    most, _ = growth(case)  # 90 in all
    assert most < 24


def test_programs_of_ever_new_sizes_displace_one_another():
    case = """
def program(n):
    y = x[:n]
    for i in range(8):
        y = (y * (7 + i)).sin()
    return y.realize()

for n in range(1, 9):
    program(n)
first = program(10).numpy()
start = resident("VmRSS")
for i in range(30):
    program(11 + i)
assert strata.stats().evicted_programs > 15, strata.stats()
assert np.array_equal(program(10).numpy(), first)
"""
    growth(case, STRATA_PROGRAMS_MB="1")  # fills the cache: what the compiler needs is not measured
    _, end = growth(case, STRATA_PROGRAMS_MB="1")  # 12 in all
    assert end < 6


@pytest.mark.emulated
def test_launches_of_users_kernels_and_their_faults_leave_nothing_behind():
    case = """
kernel = strata.hip_kernel(
    'extern "C" __global__ void k(float* o, const float* a) { o[threadIdx.x] = a[threadIdx.x] + 1; }',
    name="k", grid=1, block=64)
short = Tensor(np.arange(32, dtype=np.float32)).realize()

def launch(n):
    for i in range(n):
        out = Tensor.empty(64)
        out.custom_kernel(x, kernel=kernel)[0].realize()
        try:
            out.custom_kernel(short, kernel=kernel)[0].realize()
        except strata.MemoryFault:
            continue
        raise AssertionError("it reads past the end")

launch(700)
start = resident("VmRSS")
launch(700)
"""
    _, end = growth(case)  # 20 in all
    assert end < 6


def test_stats_tell_what_is_held():
    import numpy as np
    import strata

    held = strata.Tensor(np.zeros(1 << 20, np.float32)).realize()
    after = strata.stats()
    assert after.live_bytes >= held.nbytes  # what was dropped before may be gone
    assert after.peak_bytes >= after.live_bytes
    (held + 1).realize()
    assert strata.stats().programs >= 1 and strata.stats().program_bytes > 0
    assert strata.stats().graph_nodes > 0 and strata.stats().collections > 0
    assert f"live_bytes={strata.stats().live_bytes}" in repr(strata.stats())
    strata.reset_stats()
    assert strata.stats().peak_bytes == strata.stats().live_bytes > 0


def test_small_graphs_leave_nothing_behind():
    """Graphs of different constants: neither nodes nor results stay."""
    case = """
def steps(first, count):
    for i in range(first, first + count):
        (x.reshape(2, 32) + i).sum(0).max()
        if i % 100 == 0:
            x.sum().item()  # what no tensor reaches goes at the end of a realize

steps(0, 3000)
start = resident("VmRSS")
steps(3000, 9000)
"""
    assert growth(case)[1] < 2


def test_steps_of_descent_keep_no_graphs():
    case = """
w, m = Tensor(np.ones(1 << 16, np.float32)).requires_grad_(), Tensor(np.zeros(1 << 16, np.float32))
for i in range(1200):
    w.grad = None
    (w * w).sum().backward()
    m = (m * 0.9 + w.grad).realize()
    w.assign(w - 0.01 * m).realize()
    if i == 200:
        start = resident("VmRSS")
"""
    assert growth(case)[1] < 24  # a step makes three of 256 KiB: 750 in all
