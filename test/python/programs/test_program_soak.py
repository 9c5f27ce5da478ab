"""The soak of programs counts what its workers compute, goes on where it stopped, and sees a worker that ends."""

import json
import os
import subprocess
import sys

import program_soak
import pytest

DIES = """
import sys
print('{"at": %s}' % sys.stdin.readline().split()[0], flush=True)
sys.exit(3)
"""
FINDS = """
import json, sys
for line in sys.stdin:
    first, count = map(int, line.split())
    wrong = {seed: "text" for seed in range(first, first + count) if seed in (7, 12)}
    print(json.dumps({"at": first}) + "\\n" + json.dumps({"ways": {"usual": count}, "wrong": wrong}), flush=True)
"""


HANGS = """
import sys, time
print('{"at": %s}' % sys.stdin.readline().split()[0], flush=True)
time.sleep(60)
"""


@pytest.fixture
def soak(tmp_path):
    def run(script, *options):
        record = tmp_path / "programs.json"
        status = program_soak.main(["--record", str(record), *options], [sys.executable, "-c", script])
        return status, json.loads(record.read_text())

    return run


def test_totals_of_several_runs_are_one_record(soak, capsys):
    status, record = soak(FINDS, "--seed", "20", "--programs", "130", "--workers", "3")
    assert status == 0 and record["programs"] == record["ways"]["usual"] == 130 and record["next"] == 150
    status, record = soak(FINDS, "--programs", "250", "--resume", "--workers", "2")
    assert status == 0 and record["programs"] == record["ways"]["usual"] == 250 and record["next"] == 270
    assert "250 programs, seeds 20 to 269, 250 results (usual 250), 0 differ" in capsys.readouterr().out


def test_programs_that_differ_are_printed_and_counted(soak, capsys):
    status, record = soak(FINDS, "--programs", "20", "--workers", "1")
    assert status == 1 and record["wrong"] == [7, 12]
    assert "2 differ: 7, 12" in capsys.readouterr().out


def test_a_run_ends_when_its_time_is_over(soak):
    status, record = soak(FINDS, "--programs", "1000", "--workers", "2", "--seconds", "0")
    assert (status, record["programs"], record["next"]) == (0, 0, 0)


def test_a_worker_that_ends_finds_its_program_wrong(soak, capsys):
    status, record = soak(DIES, "--programs", "3", "--workers", "1")
    assert status == 1 and record["wrong"] == [0, 1, 2]  # the rest of a block begins after the program
    assert "program 1: the process ended with status 3" in capsys.readouterr().out


def test_a_silent_worker_is_killed_and_the_record_names_its_program_before(soak, capsys, monkeypatch):
    save, working = program_soak.Soak.save, []
    monkeypatch.setattr(program_soak.Soak, "save", lambda s: (working.append(s.record.get("working")), save(s)))
    status, record = soak(HANGS, "--seed", "5", "--programs", "1", "--workers", "1", "--silent", "0.5")
    assert status == 1 and record["wrong"] == [5] and "working" not in record
    assert [5] in working and "program 5: no answer within 0.5 s" in capsys.readouterr().out


@pytest.mark.parametrize("module, text", [("numpy", "-m pip install numpy"), ("strata", "scripts/setup")])
def test_without_a_module_it_says_what_to_install_and_counts_nothing(tmp_path, module, text):
    (tmp_path / f"{module}.py").write_text(
        f"raise ModuleNotFoundError(\"No module named '{module}'\", name='{module}')"
    )
    done = subprocess.run(
        [sys.executable, program_soak.__file__, "--programs", "9", "--workers", "2", "--record", tmp_path / "r.json"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2 and done.stdout == ""
    assert f"program_soak: No module named '{module}'. " in done.stderr and text in done.stderr
    if (record := tmp_path / "r.json").exists():
        assert (found := json.loads(record.read_text()))["programs"] == 0 and not found["wrong"]


def test_a_worker_computes_the_programs_of_its_block():
    done = subprocess.run(
        [sys.executable, program_soak.__file__, "--work"], input="3 2\n", capture_output=True, text=True, timeout=120
    )
    at, then, found = map(json.loads, done.stdout.splitlines())
    assert (at, then) == ({"at": 3}, {"at": 4}), done.stderr
    assert found["wrong"] == {} and found["ways"]["usual"] == 2 and sum(found["ways"].values()) >= 6
