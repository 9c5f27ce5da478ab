"""Tensor.tune and `strata tune`: reports, and records that go from one machine to another."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import strata
from strata import Tensor
from strata.cli.tune import export_records, import_records
from tested import EMULATED, QUICK_TARGET


@pytest.fixture(autouse=True)
def empty_cache(tmp_path):
    with strata.config(cache_dir=str(tmp_path / "cache"), target=QUICK_TARGET):
        yield


def transposed():
    return Tensor.rand(512, 256).realize().T.contiguous()


def product():
    x = Tensor.rand(256, 256).realize()
    return x @ x


def test_a_report_says_for_each_kernel_what_was_won():
    x = Tensor.rand(512, 256).realize()
    report = (x.T.contiguous() + x.sum(0).reshape(256, 1)).tune(candidates=12)
    assert len(report.kernels) == len(strata.explain(x.T.contiguous() + x.sum(0).reshape(256, 1)).split(" -> ")) - 1
    for k in report.kernels:
        assert (
            k.best_ms <= k.heuristic_ms
            and k.candidates > 0
            and k.seconds > 0
            and k.name in repr(report)
            and k.name in repr(k)
        )
    total = sum(k.best_ms for k in report.kernels)
    assert f"-> {total:.4f} ms" in repr(report).splitlines()[-1]


def test_tune_computes_the_value():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    y = x.sum(0)
    y.tune()
    assert y.tolist() == [4.0, 6.0]
    assert y.tune().kernels == [] and "no kernel was left" in repr(y.tune())


def test_a_width_that_is_no_search_is_an_error():
    with pytest.raises(strata.UsageError, match="beam=0 is no search"):
        transposed().tune(beam=0)


@pytest.mark.amd
def test_a_compiled_tensor_shows_the_record_that_would_run(tmp_path):
    plain = strata.compile(product()).kernels[0].schedule
    won = product().tune()._records()[-1]["schedule"]
    assert won != plain
    assert strata.compile(product()).kernels[0].schedule == plain  # without a beam no record runs
    with strata.config(beam=2):
        assert strata.compile(product()).kernels[0].schedule == won
        assert strata.compile(product(), target="hip").kernels[0].schedule == plain  # none was found for it
        assert strata.compile(product(), "gfx942").kernels[0].schedule != won
        with strata.config(cache_dir=str(tmp_path / "empty")):
            y = product()
            strata.reset_stats()
            assert strata.compile(y).kernels[0].schedule == plain
            assert strata.stats().kernels == 0 and not y.tune().kernels[0].known  # it searched nothing


def test_records_go_to_another_cache_and_are_not_searched_again(tmp_path):
    report = transposed().tune()
    assert export_records(report, tmp_path / "w.json") == 1
    with strata.config(cache_dir=str(tmp_path / "other")):
        assert import_records(tmp_path / "w.json") == (1, [])
        there = transposed().tune().kernels[0]
        assert (
            there.known and there.schedule == report.kernels[0].schedule and there.best_ms == report.kernels[0].best_ms
        )
        count, skipped = import_records(tmp_path / "w.json")
        assert count == 0 and skipped[0][0] == there.name and "as fast" in skipped[0][1]


@pytest.mark.emulated
def test_an_import_takes_effect_on_what_was_computed_before(tmp_path):
    with strata.config(beam=1):
        export_records(product().tune(), tmp_path / "w.json")
        with strata.config(cache_dir=str(tmp_path / "other")):
            with strata.config(search_candidates=1):
                product().realize()
            assert import_records(tmp_path / "w.json")[0] == 1
            y = product()
            strata.reset_stats()
            y.realize()
            best = json.loads((tmp_path / "w.json").read_text())["records"][0]["best_ms"]
            assert strata.stats().launches[-1].time_ms == pytest.approx(best)


@pytest.mark.parametrize(
    "field, value, why",
    [
        ("compiler", "strata 0.0.1", "it was found with strata 0.0.1, this is "),
        ("rules", "0", "other schedule actions or rules"),
        ("target", "ptx", "its target 'ptx' is not known"),
        ("arch", "gfx1", "its arch 'gfx1' is not known"),
        ("schedule", "upcast(0", "not a list of schedule actions"),
        ("best_ms", "fast", "its 'best_ms' is missing or no value of that name"),
        ("structure", None, "its 'structure' is missing or no value of that name"),
    ],
)
def test_a_record_that_is_of_no_use_here_is_skipped_and_said_why(tmp_path, field, value, why):
    export_records(transposed().tune(candidates=3), tmp_path / "w.json")
    content = json.loads((tmp_path / "w.json").read_text())
    content["records"][0][field] = value
    (tmp_path / "w.json").write_text(json.dumps(content))
    with strata.config(cache_dir=str(tmp_path / "other")):
        count, skipped = import_records(tmp_path / "w.json")
        assert count == 0 and len(skipped) == 1 and why in skipped[0][1]


@pytest.mark.amd
@pytest.mark.parametrize("field", ["arch", "target", "model", "structure"])
def test_a_record_of_another_key_is_never_used_for_this_one(tmp_path, field):
    export_records(transposed().tune(candidates=3), tmp_path / "w.json")
    content = json.loads((tmp_path / "w.json").read_text())
    content["records"][0][field] = {
        "arch": "gfx942",
        "target": "hip",
        "compiler": "",
        "model": "w7900 (emulated)",
        "structure": "0" * 32,
    }[field]
    if field == "target":
        content["records"][0]["compiler"] = "clang 19"
    (tmp_path / "w.json").write_text(json.dumps(content))
    with strata.config(cache_dir=str(tmp_path / "other")):
        assert import_records(tmp_path / "w.json") == (1, [])
        assert not transposed().tune(candidates=3).kernels[0].known


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "no file of"),
        ("[]", "no file of"),
        ('{"format": "other"}', "no file of"),
        (
            '{"format": "strata tuning records", "version": 2, "records": []}',
            "version 2 of the format; this Strata reads version 1: nothing was imported",
        ),
        ('{"format": "strata tuning records", "version": 1, "records": 3}', "are no list"),
    ],
)
def test_a_file_that_is_none_of_records_is_an_error(tmp_path, text, why):
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(strata.UsageError, match=why):
        import_records(tmp_path / "w.json")


def test_files_of_the_last_version_are_read(tmp_path):
    export_records(transposed().tune(), tmp_path / "w.json")
    records = json.loads((tmp_path / "w.json").read_text())["records"]
    (tmp_path / "w.json").write_text(json.dumps({"format": "strata winners", "version": 1, "winners": records}))
    with strata.config(cache_dir=str(tmp_path / "other")):
        assert import_records(tmp_path / "w.json") == (1, [])


def test_records_cannot_be_imported_where_nothing_is_kept(tmp_path):
    with strata.config(no_cache=True), pytest.raises(strata.UsageError, match="no_cache"):
        import_records(tmp_path / "w.json")


SCRIPT = """
import sys, threading
from strata import Tensor
x = Tensor.rand(128, 256).realize()
print("sum", x.sum(1).shape, sys.argv[1:])
def other():
    x.T.contiguous().realize()
thread = threading.Thread(target=other)
thread.start()
thread.join()
x.sum(1).realize()
if "stop" in sys.argv:
    raise KeyboardInterrupt
sys.exit(3)
"""


def strata_tune(tmp_path, *arguments):
    env = {**os.environ, "STRATA_CACHE_DIR": str(tmp_path / "cache"), "STRATA_TARGET": QUICK_TARGET}
    return subprocess.run(
        [sys.executable, "-m", "strata", "tune", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=env,
        timeout=300,
    )


def test_the_command_runs_a_script_and_says_what_it_found(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = strata_tune(tmp_path, "--candidates", 6, "--export", "w.json", "script.py", "--beam", "a")
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith("sum (128,) ['--beam', 'a']\nkernel "), done.stdout
    assert (
        "3 kernels: " in done.stdout
        and "ended by search_candidates" in done.stdout
        and "w.json: 3 tuning records" in done.stdout
    )
    records = json.loads((tmp_path / "w.json").read_text())["records"]
    assert (
        len(records) == 3
        and {w["arch"] for w in records} == {strata.device_properties()["arch"]}
        and {w["target"] for w in records} == {"asm" if EMULATED else "hip"}
    )
    done = strata_tune(tmp_path, "script.py", "stop")
    assert done.returncode == 130 and "3 kernels: " in done.stdout, (
        "what was found is reported, however the script ends"
    )


def test_the_command_imports_and_says_what_it_skips(tmp_path):
    export_records(transposed().tune(candidates=3), tmp_path / "w.json")
    with_another = json.loads((tmp_path / "w.json").read_text())
    with_another["records"].append({**with_another["records"][0], "compiler": "strata 9"})
    (tmp_path / "w.json").write_text(json.dumps(with_another))
    done = strata_tune(tmp_path / "", "--import", "w.json")
    assert (
        done.returncode == 0
        and "of 2 tuning records imported" in done.stdout
        and "it was found with strata 9" in done.stdout
    ), done.stderr


@pytest.mark.parametrize(
    "arguments, why",
    [
        ([], "what is to be tuned"),
        (["--export", "x.json", "--import", "y.json"], "there is no SCRIPT"),
        (["--beam", "0", "x.py"], "beam 0 is no search"),
    ],
)
def test_the_command_says_what_it_needs(tmp_path, arguments, why):
    done = strata_tune(tmp_path, *arguments)
    assert done.returncode != 0 and why in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_tuning_takes_the_fastest_way_to_fuse():
    def product():
        a, b = Tensor.rand(64, 2048).realize(), Tensor.rand(2048, 64).realize()
        return (a @ b).relu(), np.maximum(a.numpy() @ b.numpy(), 0)

    def tuned(fusion):
        with strata.config(fusion=fusion):
            product()[0].tune(beam=1, candidates=8)
            with strata.config(beam=1):
                y, expected = product()
                strata.reset_stats()
                np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5)
        return sum(launch.time_ms for launch in strata.stats().launches), strata.stats().kernels

    split, whole, chosen = tuned("less"), tuned("more"), tuned("cost")
    assert (split[1], whole[1]) == (2, 1)
    assert chosen[0] <= 1.01 * min(split[0], whole[0])
