"""strata bench: every benchmark runs, prints JSON and nothing else, and measures something."""

import json
import subprocess
import sys

import pytest


def bench(*arguments):
    return subprocess.run([sys.executable, "-m", "strata", "bench", *arguments], capture_output=True, text=True)


def numbers(value):
    if isinstance(value, dict):
        return [n for v in value.values() for n in numbers(v)]
    return [value] if isinstance(value, (int, float)) else []


@pytest.mark.parametrize("name", ["import", "graph", "compile", "emu", "sum", "beam"])
def test_a_benchmark_prints_json_with_the_machine(name):
    run = bench("--quick", name)
    assert (run.returncode, run.stderr) == (0, "")
    out = json.loads(run.stdout)
    assert set(out) == {"machine", name}
    assert out["machine"]["cores"] >= 1 and out["machine"]["cpu"]
    costs = out[name].pop("instructions", {})  # differences of times, which may be lost in noise
    assert all(n >= 0 for n in numbers(costs)) and (name != "emu" or max(numbers(costs)) > 1)
    assert numbers(out[name]) and all(n > 0 for n in numbers(out[name]))


def test_compilation_is_measured_on_the_route_that_is_named():
    routes = json.loads(bench("--quick", "compile").stdout)["compile"]
    assert routes["rendered, subprocess"]["route"] == "clang (subprocess)"
    assert routes["hip_runtime.h, precompiled"]["route"] == "clang (subprocess)"
    assert routes["rendered, in process"]["route"].startswith("clang (")


def test_an_unknown_benchmark_is_named_with_those_there_are():
    run = bench("nothing")
    assert run.returncode != 0
    assert "nothing" in run.stderr and "emu" in run.stderr
