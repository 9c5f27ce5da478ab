"""strata compare and strata targets."""

import json
import os
import subprocess
import sys

import pytest
import strata
from tested import EMULATED

pytestmark = pytest.mark.skipif(not EMULATED, reason="compares emulated devices")

SOURCE = """
import numpy as np, strata
from strata import Tensor

def samples():
    r = np.random.default_rng(0)
    return tuple(Tensor(r.standard_normal((8, 16)).astype("float32")) for _ in range(2))

def both(x, y):
    return {"exp": (x + 1).exp() * y, "order": x.argsort(-1)}

def off_by(x, y):
    at_reference = x.device == "interp"
    return x * y + (0 if at_reference else 1e-3), (y > (0 if at_reference else 0.5)).cast("int32")

def narrow():
    return [Tensor.arange(40).cast(t) * 1.5 for t in ("bfloat16", "float16", "float64")]

def never(x, y):
    raise ValueError("it never works")

def fails_elsewhere():
    assert strata.settings()["device"] == "interp", "only the interpreter can"
    return Tensor.ones(3)

def in_place(out, x):
    out += x

def at_reference():
    return strata.settings()["device"] == "interp"

def other_shape():
    return Tensor.ones(3 if at_reference() else 4)

def other_type():
    return Tensor.ones(3).cast("float32" if at_reference() else "float16")

def other_count():
    return (Tensor.ones(3),) * (1 if at_reference() else 2)

def nan():
    return Tensor([float("nan") if at_reference() else 1.0, 2.0])

def infinity():
    return Tensor([1.0 if at_reference() else float("-inf"), 2.0]), np.float32([np.inf, 1])

def text():
    return Tensor.ones(2), "abc"

def closure():
    return lambda: 1

def objects():
    return {"a": np.array([None, 1])}

def leaves():
    raise SystemExit(7)

def leaving_samples():
    raise SystemExit(0)

def harness(device, target, arch):
    x = Tensor(np.arange(8, dtype="float32"))
    seen = []
    return {
        "compile": lambda: seen.append((device, target, arch)) or x * 2,
        "run": lambda lazy: (lazy + 1).realize(),
        "results": lambda value: {"sum": value.sum(), "of": len(seen)},
    }

TEXT = 'extern "C" __global__ void k(float* x, const float* y) { x[0] = 1; }'
HIP = strata.hip_kernel(TEXT, name="k", grid=1, block=1)

def hip(x, y):
    HIP(x, y)
"""


def run(tmp_path, *arguments):
    (tmp_path / "given.py").write_text(SOURCE)
    return subprocess.run(
        [sys.executable, "-m", "strata", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )


def compare(tmp_path, name, *arguments, status=0, factory="samples"):
    of = ["--samples", factory] if factory else []
    done = run(tmp_path, "compare", f"given.py:{name}", *of, "--targets", "asm", "--json", *arguments)
    assert done.returncode == status, done.stderr + done.stdout
    return json.loads(done.stdout)["results"] if status != 2 else done.stderr


def test_compare_holds_every_device_against_the_interpreter(tmp_path):
    rows = compare(tmp_path, "both", "--devices", "emu:gfx1100,emu:gfx942,interp:gfx942", "--repeat", "2")
    assert [(r["device"], r["target"], r["arch"], r["status"]) for r in rows] == [
        ("interp", None, "gfx1100", "ok"),
        ("emu:gfx1100", "asm", "gfx1100", "ok"),
        ("emu:gfx942", "asm", "gfx942", "ok"),
        ("interp:gfx942", None, "gfx942", "ok"),
    ]
    reference, row = rows[:2]
    assert set(row) == set(
        "device target arch status reason error compile_ms from_cache cold_ms warm_ms warm_median_ms modelled artifact "
        "outputs".split()
    )
    assert row["modelled"] and not reference["modelled"] and row["warm_median_ms"] > 0 and row["error"] is None
    assert len(row["artifact"]["sha256"]) == 64
    exp, order = row["outputs"]
    assert set(exp) == set("name dtype shape sha256 max_abs max_rel max_ulp where".split())
    assert exp["name"] == "result['exp']" and exp["shape"] == [8, 16] and exp["max_ulp"] <= 4
    assert order["max_abs"] == 0 and order["sha256"] == reference["outputs"][1]["sha256"]


def test_a_mismatch_says_where_and_how_far(tmp_path):
    _, row = compare(tmp_path, "off_by", status=1)
    assert row["status"] == "mismatch"
    floats, integers = row["outputs"]
    assert floats["max_abs"] == pytest.approx(1e-3, rel=1e-2) and len(floats["where"]) == 2 and floats["max_ulp"] > 4
    assert integers["max_abs"] == 1 and integers["max_ulp"] is None
    compare(tmp_path, "off_by", "--rtol", "1", status=1)  # integers are equal by bits
    assert "result[0]" in run(tmp_path, "compare", "given.py:off_by", "--samples", "samples", "--targets", "asm").stdout


def test_narrow_types_have_limits_of_their_own(tmp_path):
    _, row = compare(tmp_path, "narrow", factory=None)
    assert [out["dtype"] for out in row["outputs"]] == ["bfloat16", "float16", "float64"]
    assert all(out["max_abs"] == 0 for out in row["outputs"])


def test_functions_without_result_give_their_arguments(tmp_path):
    _, row = compare(tmp_path, "in_place")
    assert [out["name"] for out in row["outputs"]] == ["out", "x"] and row["status"] == "ok"


def test_a_factory_gives_functions_and_is_told_the_row(tmp_path):
    _, row = compare(tmp_path, "never", factory="harness")
    assert [out["name"] for out in row["outputs"]] == ["result['sum']", "result['of']"] and row["compile_ms"] > 0


def test_what_cannot_run_has_a_reason(tmp_path):
    rows = compare(tmp_path, "both", "--devices", "emu:gfx1,emu:gfx1100")
    assert (rows[1]["status"], rows[1]["reason"]) == ("skipped", "no_device") and rows[2]["status"] == "ok"
    rows = compare(tmp_path, "both", "--devices", "emu:gfx1", status=4)
    assert rows[1]["error"]["type"] == "DeviceError"
    rows = compare(tmp_path, "both", factory=None, status=4)
    assert {(r["status"], r["reason"]) for r in rows} == {("skipped", "no_samples")}
    if os.environ.get("TESTED_TOOLS"):  # no compiler: the reference cannot run
        return
    rows = compare(tmp_path, "hip", "--reference", "emu:gfx1100", "--devices", "interp", status=4)
    assert rows[1]["reason"] == "unsupported" and "HIP source" in rows[1]["error"]["message"]


def test_an_error_of_the_function_is_its_row(tmp_path):
    rows = compare(tmp_path, "fails_elsewhere", factory=None, status=3)
    assert rows[0]["status"] == "ok" and rows[1]["status"] == "error"
    assert rows[1]["error"] == {"type": "AssertionError", "message": "only the interpreter can"}
    rows = compare(tmp_path, "never", status=3)
    assert rows[0]["error"]["message"] == "it never works"


@pytest.mark.parametrize(
    "name, words",
    [
        ("other_shape", "result: shape (4,), the reference's (3,)"),
        ("other_type", "result: dtype float16, the reference's float32"),
        ("other_count", "the outputs are ['result[0]', 'result[1]'], those of the reference ['result[0]']"),
        ("nan", "result float32[2] differs by inf (0 ulp) at [0]"),
        ("infinity", "result[0] float32[2] differs by inf (0 ulp) at [0]"),
    ],
)
def test_every_kind_of_mismatch_is_a_line_and_a_row(tmp_path, name, words):
    _, row = compare(tmp_path, name, "--repeat", "1", factory=None, status=1)
    assert row["status"] == "mismatch" and all({"max_abs", "where"} < set(out) for out in row["outputs"])
    done = run(tmp_path, "compare", f"given.py:{name}", "--targets", "asm", "--repeat", "1")
    assert done.returncode == 1 and not done.stderr and words in done.stdout.splitlines()[1]


@pytest.mark.parametrize(
    "name, kind, words",
    [
        ("text", "TypeError", "result[1] is a value of type str: outputs are tensors"),
        ("closure", "TypeError", "result is a value of type function"),
        ("objects", "TypeError", "result['a'] is a value of type ndarray of object"),
        ("leaves", "SystemExit", "7"),
    ],
)
def test_what_gives_no_numbers_or_leaves_is_an_error(tmp_path, name, kind, words):
    rows = compare(tmp_path, name, "--repeat", "1", factory=None, status=3)
    assert {row["status"] for row in rows} == {"error"}
    assert rows[0]["error"]["type"] == kind and words in rows[0]["error"]["message"]
    done = run(tmp_path, "compare", f"given.py:{name}", "--targets", "asm", "--repeat", "1")
    assert done.returncode == 3 and not done.stderr and f"{kind}: {words}" in done.stdout


def test_a_file_or_factory_that_fails_is_an_error_of_each_row(tmp_path):
    rows = compare(tmp_path, "both", factory="leaving_samples", status=3)
    assert [row["error"]["type"] for row in rows] == ["SystemExit"] * 2
    (tmp_path / "broken.py").write_text("raise SystemExit(0)")
    done = run(tmp_path, "compare", "broken.py:f", "--targets", "asm", "--json")
    assert done.returncode == 3
    assert [row["error"]["type"] for row in json.loads(done.stdout)["results"]] == ["SystemExit"] * 2


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["nothing.py:f"], "no file"),
        (["given.py"], "FILE.py:NAME"),
        (["given.py:nobody"], "it has: samples"),
        (["given.py:both", "--samples", "nobody"], "no function 'nobody'"),
        (["given.py:both", "--samples", "in_place"], "a factory is given device, target, arch"),
        (["given.py:both", "--targets", "ptx"], "expected hip, asm or both"),
    ],
)
def test_wrong_calls_exit_with_2(tmp_path, arguments, words):
    done = run(tmp_path, "compare", *arguments)
    assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "option", ["--rtol nan", "--atol nan", "--rtol inf", "--atol=-inf", "--rtol=-1", "--rtol x", "--repeat 0"]
)
def test_limits_and_runs_are_checked(tmp_path, option):
    done = run(tmp_path, "compare", "given.py:both", *option.split())
    assert done.returncode == 2 and "expected a" in done.stderr.splitlines()[-1] and not done.stdout


def test_targets_lists_every_architecture(tmp_path):
    rows = {row["arch"]: row for row in json.loads(run(tmp_path, "targets", "--json").stdout)}
    assert set(strata._strata.archs()) < set(rows) and "sm_90" in rows
    assert rows["gfx942"]["wave"] == 64 and rows["gfx942"]["family"] == "cdna3" and rows["gfx942"]["lds"] == 65536
    assert {"name", "shape", "operand", "sum"} == set(rows["gfx1100"]["matrix"][0])
    assert "gfx1201" in run(tmp_path, "targets").stdout
