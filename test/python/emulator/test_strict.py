"""Strict mode: what the emulator finds that hardware would punish, and how it is reported to people and programs."""

import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import strata
from strata import Tensor, emulator

# Each lane reads what a lane of the other wave wrote, with no barrier between.
RACE = """
    s_load_b64 s[4:5], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    v_sub_nc_u32 v2, 0xfc, v1
    ds_store_b32 v1, v0
    s_waitcnt lgkmcnt(0)
    {barrier}
    ds_load_b32 v3, v2
    s_waitcnt lgkmcnt(0)
    global_store_b32 v1, v3, s[4:5]
    s_endpgm
"""
# v1 is written in no lane, and is an address.
UNINITIALISED = """
    s_load_b64 s[4:5], s[0:1], 0x0
    v_mov_b32 v2, 7
    s_waitcnt lgkmcnt(0)
    global_store_b32 v1, v2, s[4:5]
    {then}
    s_endpgm
"""


def race(barrier="s_nop 0"):
    return strata.asm_kernel(RACE.format(barrier=barrier), name="race", args=["out"], grid=1, block=64, lds=256)


def uninitialised(then="s_nop 0"):
    return strata.asm_kernel(UNINITIALISED.format(then=then), name="no_address", args=["out"], grid=2, block=32)


def numbers(count=64):
    """Zeros in memory."""
    return Tensor(np.zeros(count, np.int32))


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
    )


def cli(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "strata", *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=120
    )


@pytest.mark.parametrize(
    "given, means",
    [
        (True, "report"),
        (False, "off"),
        (1, "report"),
        (0, "off"),
        (np.True_, "report"),
        ("off", "off"),
        ("report", "report"),
        ("raise", "raise"),
    ],
)
def test_the_setting_takes_words_and_bools(given, means):
    assert strata.settings()["check"] == "off"
    with strata.config(check=given):
        assert strata.settings()["check"] == means
    text = str(int(given)) if isinstance(given, (bool, np.bool_)) else str(given)
    assert run("import strata; print(strata.settings()['check'])", STRATA_CHECK=text).stdout == means + "\n"


@pytest.mark.parametrize("given", ["yes", 2, "", -1, None])
def test_the_setting_refuses_other_words(given):
    with pytest.raises(strata.UsageError, match=rf"config\(check={given}\): expected off, report or raise"):
        strata.config(check=given)
    with pytest.raises(strata.UsageError, match="expected off, report or raise"):
        emulator.check(given)


def test_a_block_takes_what_the_setting_takes():
    for mode, means in (("report", "report"), ("raise", "raise"), (True, "report"), (False, "off"), ("off", "off")):
        with emulator.check(mode):
            assert strata.settings()["check"] == means


def test_a_finding_says_what_where_and_what_would_mend_it():
    with emulator.check() as report:
        uninitialised()(numbers())
    assert len(report) == 1 and report
    (finding,) = report
    assert (finding.kind, finding.kernel, finding.count) == ("uninitialised", "no_address", 2)
    assert finding.instruction == "global_store_b32 v1, v2, s[4:5]"
    assert finding.disassembly[2] == finding.instruction and len(finding.disassembly) == 5
    assert (
        finding.disassembly[:2] == ["v_mov_b32_e32 v2, 7", "s_waitcnt lgkmcnt(0)"]
        and finding.disassembly[3] == "s_nop 0"
    )
    assert finding.pc == 8 + 4 + 4 and finding.source == "<asm>:5"
    assert "v1" in finding.what and finding.fix
    assert finding.wave == 0 and finding.workgroup in ([0, 0, 0], [1, 0, 0])
    assert finding.lanes == list(range(32))
    assert (finding.earlier, finding.earlier_pc) == ("", None)
    assert finding.what in str(finding) and finding.instruction in str(finding) and "no_address" in str(finding)
    assert str(finding) in str(report)
    assert report[0].pc == report[-1].pc == report.findings[0].pc
    with pytest.raises(IndexError):
        report[1]


def test_findings_of_several_launches_are_counted_in_one_report():
    one, two = uninitialised(), race()
    with emulator.check() as report:
        one(numbers())
        one(numbers())
        two(numbers())
    counts = {(f.kernel, f.kind): f.count for f in report}
    assert counts["no_address", "uninitialised"] == 4
    assert {kernel for kernel, kind in counts if kind == "lds-race"} == {"race"}
    with emulator.check() as report:
        one(numbers())
    assert [f.count for f in report] == [2]


def test_a_kernel_without_faults_has_no_findings():
    with emulator.check() as report:
        race("s_barrier")(numbers())
        assert (Tensor.arange(1000).sum() * 2).item() == 999000
    assert (
        not report
        and len(report) == 0
        and str(report) == "strict mode found nothing"
        and json.loads(report.to_json()) == []
    )


def test_a_launch_in_strict_mode_has_its_findings_in_stats():
    kernel, out = uninitialised(), numbers()
    strata.reset_stats()
    with strata.config(check=True):
        kernel(out)
    kernel(out)
    first, second = strata.stats().launches
    assert [f.kind for f in first.findings] == ["uninitialised"] and second.findings == []


def test_an_address_of_an_lds_race_is_told():
    with emulator.check() as report:
        race()(numbers())
    found = [f for f in report if f.kind == "lds-race"]
    assert {f.instruction.split()[0] for f in found} == {"ds_store_b32", "ds_load_b32"}
    for finding in found:
        assert f"byte {finding.address} " in finding.what and 0 <= finding.address < 256 and len(finding.lanes) == 1


def test_raise_ends_the_launch_at_the_first_finding():
    kernel, out = uninitialised(), numbers()
    with pytest.raises(strata.CheckError, match="no_address.*v1") as raised:
        with emulator.check("raise") as report:
            kernel(out)
    assert "global_store_b32 v1, v2, s[4:5]" in str(raised.value) and isinstance(raised.value, RuntimeError)
    assert [f.kind for f in report] == ["uninitialised"]
    assert out.tolist() == [0] * 64  # the store did not run
    with strata.config(check="raise"), pytest.raises(strata.CheckError):
        kernel(out)
    kernel(out)
    assert out.tolist()[0] == 7


def test_what_was_found_before_a_fault_is_reported():
    kernel = uninitialised("v_mov_b32 v3, -8\n global_store_b32 v3, v2, s[4:5]")
    with pytest.raises(strata.MemoryFault):
        with emulator.check() as report:
            kernel(numbers())
    assert [f.kind for f in report] == ["uninitialised"]


def test_what_was_found_before_an_interruption_is_reported():
    code = f"""
import signal, threading, numpy, strata
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start what runs in the background with Ctrl-C ignored
kernel = strata.asm_kernel({UNINITIALISED.format(then="again: s_branch again")!r}, name="no_address", args=["out"], grid=1, block=32)
threading.Timer(1, lambda: signal.raise_signal(signal.SIGINT)).start()
try:
    with strata.emulator.check() as report:
        kernel(strata.Tensor(numpy.zeros(64, "int32")))
except KeyboardInterrupt:
    print([finding.kind for finding in report])
"""  # noqa: E501
    assert run(code).stdout == "['uninitialised']\n"


def test_accesses_out_of_local_memory_are_faults_in_strict_mode_whatever_emu_check_says():
    text = "v_mov_b32 v1, 0x1000\n ds_store_b32 v1, v1\n s_endpgm"
    kernel = strata.asm_kernel(text, name="far", grid=1, block=32, lds=256)
    with strata.config(emu_check=False):
        kernel()
        with pytest.raises(strata.MemoryFault), emulator.check():
            kernel()


def test_report_mode_prints_a_finding_once_for_each_kernel(capfd):
    kernel, other = uninitialised(), race()
    with strata.config(check=True):
        for _ in range(3):
            kernel(numbers())
        other(numbers())
    printed = capfd.readouterr().err
    assert printed.count("strict mode: kernel 'no_address'") == 1 and printed.count("v1, v2, s[4:5]") >= 1
    assert "strict mode: kernel 'race'" in printed
    with emulator.check("raise"), pytest.raises(strata.CheckError):
        uninitialised()(numbers())
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("broken", [uninitialised, race])
def test_what_a_report_collects_is_not_printed(broken, capfd):
    with emulator.check() as report:
        broken()(numbers())
    assert report and capfd.readouterr().err == ""


def test_the_environment_switches_strict_mode_on():
    code = (
        f"import numpy, strata; k = strata.asm_kernel({UNINITIALISED.format(then='')!r}, name='no_address', "
        "args=['out'], grid=1, block=32); k(strata.Tensor(numpy.zeros(64, 'int32'))); print('lives')"
    )
    done = run(code, STRATA_CHECK="report")
    assert done.stdout == "lives\n" and done.stderr.count("strict mode: ") == 1, done.stderr
    done = run(code, STRATA_CHECK="raise")
    assert done.stdout == "" and "CheckError" in done.stderr


def test_json_has_an_object_a_finding():
    with emulator.check() as report:
        uninitialised()(numbers())
        race()(numbers())
    found = json.loads(report.to_json())
    assert [(f["kind"], f["kernel"], f["pc"], f["count"]) for f in found] == [
        (f.kind, f.kernel, f.pc, f.count) for f in report
    ]
    assert [(f["what"], f["fix"]) for f in found] == [(f.what, f.fix) for f in report]


def test_a_block_collects_what_its_own_context_launches():
    kernel, reports = uninitialised(), {}
    ready = threading.Barrier(2)

    def work(name, times):
        with emulator.check() as reports[name]:
            ready.wait()
            for _ in range(times):
                kernel(numbers())

    threads = [threading.Thread(target=work, args=("a", 1)), threading.Thread(target=work, args=("b", 3))]
    with emulator.check() as reports["here"]:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {name: [f.count for f in report] for name, report in reports.items()} == {"a": [2], "b": [6], "here": []}
    with emulator.check() as outer, emulator.check() as inner:
        kernel(numbers())
    assert not outer and inner
    block = emulator.check()
    for times in (1, 2):
        with block as report:
            kernel(numbers())
        assert report[0].count == 2 * times
    assert strata.settings()["check"] == "off"


def test_strict_mode_changes_neither_results_nor_modelled_time(rng):
    source = (
        'extern "C" __global__ void f(float* out, const float* x) { int i = blockIdx.x * 256 + threadIdx.x; '
        "out[i] = x[i] / (1 + x[i] * x[i]); }"
    )
    kernel, x = strata.hip_kernel(source, grid=64, block=256), rng.standard_normal(64 * 256).astype(np.float32)
    seen = {}
    for check in ("off", "report", "raise"):
        strata.reset_stats()
        with strata.config(check=check):
            (out,) = kernel(Tensor.empty(64 * 256), x)
            total, product = (
                (Tensor(x) * 2).sum().numpy(),
                (Tensor(x[:4096].reshape(64, 64)) @ Tensor(x[:4096].reshape(64, 64))).numpy(),
            )
        stats = strata.stats()
        seen[check] = (
            out.numpy().tobytes(),
            total.tobytes(),
            product.tobytes(),
            stats.time_ms,
            [(launch.name, launch.time_ms, launch.wave_instructions) for launch in stats.launches],
        )
    assert seen["off"] == seen["report"] == seen["raise"] and seen["off"][3] > 0


SEARCH = """
import strata
x = strata.Tensor(list(range(4096)), dtype="float32").realize()
strata.reset_stats()
with strata.config(beam=2): print(x.sum().item())
print(strata.stats().time_ms)
"""


def test_a_search_is_made_and_kept_whatever_strict_mode_says(tmp_path):
    def kept():
        return {
            p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and "schedule" in str(p)
        }

    strict = run(SEARCH, STRATA_CACHE_DIR=str(tmp_path), STRATA_CHECK="report", STRATA_DEBUG="1")
    assert strict.returncode == 0 and "search " in strict.stderr and "strict mode" not in strict.stderr, strict.stderr
    first = kept()
    plain = run(SEARCH, STRATA_CACHE_DIR=str(tmp_path), STRATA_DEBUG="1")
    assert "search " not in plain.stderr and kept() == first and first
    assert plain.stdout == strict.stdout


def test_a_launch_that_nobody_times_has_no_modelled_time():
    kernel = race("s_barrier")
    strata.reset_stats()
    with strata.config(emu_timed=False):
        kernel(numbers())
    kernel(numbers())
    assert [launch.time_ms > 0 for launch in strata.stats().launches] == [False, True]
