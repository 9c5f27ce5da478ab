"""Launch plans outlive the process: another reads them with the machine code, and never those of anything else."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tested import EMULATED

PROGRAM = """
import json, sys
import numpy as np
import strata
from strata import Tensor, uop

def one_more(out, x):
    i = uop.range(30, 0, "global")
    return uop.sink(out[i].store(x[i].load() + 1.0).end(i))

def step(data, number, classes=5):
    x = Tensor(np.asarray(data, np.float32)).realize()
    y = (x * number).softmax(-1).contiguous().cumsum(-1)
    (y,) = Tensor.empty(6, 5).custom_kernel(y, kernel=one_more, outputs=[0])
    return y.sum(axis=0).argmax(-1), y.mT[::-1] - y.mean()

def wanted(data, number):
    v = np.asarray(data, np.float32) * np.float32(number)
    e = np.exp(v - v.max(-1, keepdims=True))
    y = np.cumsum(e / e.sum(-1, keepdims=True), -1) + 1
    return y.sum(axis=0).argmax(-1), y.T[::-1] - y.mean()

rng = np.random.default_rng(int(sys.argv[1]))
counts = []
for number in json.loads(sys.argv[2]):
    data = rng.standard_normal((6, 5))
    strata.reset_stats()
    got = step(data, number)
    strata.realize(got)
    s = strata.stats()
    counts.append([s.plans_made, s.plans_found])
    for t, want in zip(got, wanted(data, number)):
        np.testing.assert_allclose(t.numpy(), want, rtol=1e-4, atol=1e-5)
print(json.dumps(counts))
"""


def run(folder, seed, numbers, **settings):
    env = {**os.environ, "STRATA_CACHE_DIR": str(folder), **settings}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(seed), json.dumps(numbers)],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def plans(folder):
    return [p for p in Path(folder).rglob("*") if p.is_file() and "plans" in p.parent.parts]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    folder.chmod(0o700)
    assert run(folder, 1, [1.5, 1.5, 2.5, 3.5]) == [[1, 0], [0, 1], [1, 0], [0, 1]]
    return folder


def test_another_process_schedules_nothing(filled):
    assert len(plans(filled)) == 2
    assert run(filled, 2, [1.5, 2.5, 9.5]) == [[0, 1], [0, 1], [0, 1]]


def test_a_number_that_came_first_elsewhere_has_a_plan_of_its_own(filled, tmp_path):
    folder = shutil.copytree(filled, tmp_path / "cache")
    assert run(folder, 3, [7.5, 8.5, 1.5]) == [[1, 0], [0, 1], [0, 1]]


@pytest.mark.parametrize(
    "settings",
    [{"STRATA_DEVICE": "emu:gfx942"}, {"STRATA_TARGET": "asm"}, {"STRATA_BEAM": "1"}, {"STRATA_NO_CACHE": "1"}],
)
def test_other_settings_have_other_plans(filled, settings):
    if settings == {"STRATA_TARGET": "asm"} and (os.environ.get("STRATA_TARGET") == "asm" or not EMULATED):
        settings = {"STRATA_DEVICE": "emu:gfx90a"}
    assert run(filled, 4, [1.5], **settings) == [[1, 0]]


@pytest.mark.parametrize("damage", ["cut", "empty", "bits", "longer"])
def test_a_damaged_plan_is_made_anew(damage, tmp_path):
    tmp_path.chmod(0o700)
    run(tmp_path, 1, [1.5])
    (entry,) = plans(tmp_path)
    content = bytearray(entry.read_bytes())
    if damage == "bits":
        content[len(content) // 2] ^= 4
    entry.write_bytes(
        {"cut": content[:-100], "empty": b"", "bits": bytes(content), "longer": content + b"\0" * 8}[damage]
    )
    assert run(tmp_path, 5, [1.5]) == [[1, 0]]
    assert run(tmp_path, 6, [1.5]) == [[0, 1]]
