"""The tests of operations pass by direct lowering as they do through HIP. They run on every arch in strict mode; on
the second arch of a kind, one of three does. They run through AMD's provider too, whose library is Strata's own here.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import strata
from strata import Tensor
from strata.cli.hip_run import library

PARTS = {"gfx1100": 1, "gfx1201": 3, "gfx942": 1, "gfx90a": 3}  # an arch: one test of how many runs
OPERATIONS = [
    "cast",
    "creation",
    "elementwise",
    "exactness",
    "index_range",
    "indexing",
    "matmul",
    "movement",
    "narrow_programs",
    "nn",
    "random",
    "random_graphs",
    "reduce",
]
OF_CARDS = ["cast", "creation", "elementwise", "movement", "random", "reduce"]


def run_operations(names, at_least, **env):
    files = [str(next(Path(__file__).parents[1].glob(f"*/test_{name}.py"))) for name in names]
    env = {**os.environ, "TESTED_TARGET": "asm", **env}
    env.pop("PYTEST_XDIST_WORKER", None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *files],
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
    )
    last = done.stdout.splitlines()[-1] if done.stdout else done.stderr
    assert done.returncode == 0 and int(last.split()[0]) > at_least, done.stdout[-4000:]


@pytest.mark.parametrize(("arch", "part"), PARTS.items())
def test_operations_by_direct_lowering(arch, part):
    given = {"TESTED_DEVICE": f"emu:{arch}", "TESTED_CHECK": "raise", "TESTED_PART": str(part)}
    run_operations(OPERATIONS, 700 // part, **given)


@pytest.mark.amd
def test_operations_through_amds_provider():
    run_operations(OF_CARDS, 150, TESTED_DEVICE="hip", LD_LIBRARY_PATH=str(library()))


@pytest.mark.amd
def test_the_setting_decides_between_targets_within_a_process():
    x = Tensor(np.arange(100, dtype=np.float32)).realize()
    for target in ("hip", "asm", "hip"):
        with strata.config(target=target):
            assert (x * 3 + 1).sum().item() == 14950
            made = strata.compile(x * 3 + 1)
            assert bool(made.source.strip()) == (target == "hip")


@pytest.mark.amd
def test_what_it_wrote_is_readable():
    text = strata.compile(Tensor(np.ones((64, 300), np.float32)).sum(axis=1), target="asm").assembly
    assert "; val0 = load float32" in text and "global_load_b32" in text and text.rstrip().endswith("s_endpgm")
