"""Strict mode runs waves in several orders and compares the results; the command line prints findings and fails."""

import json

import pytest
import strata
from strata import Tensor, emulator
from test_strict import cli, numbers, race


def test_orders_of_waves_show_a_race_and_leave_stable_kernels_alone():
    report = emulator.stable(race(), numbers(), seeds=8)
    (finding,) = report
    assert (finding.kind, finding.kernel, finding.instruction, finding.wave) == ("unstable", "race", "", None)
    assert (
        finding.what.startswith("argument 0[")
        and "emu_seed=0" in finding.what
        and "of 64 elements differ" in finding.what
        and finding.fix
    )
    assert finding.what in str(report) and json.loads(report.to_json())[0]["what"] == finding.what
    assert not emulator.stable(race("s_barrier"), numbers(), seeds=8)


TICKETS = """
__device__ unsigned next_one, {global_name};
extern "C" __global__ void tickets(unsigned* out, unsigned* count) {{
    unsigned mine = atomicAdd({counter}, 1);
    {use}
}}
"""


@pytest.mark.parametrize("grid, block", [(1, 256), (16, 32), (2, 32)])
@pytest.mark.parametrize("counter", ["count", "&next_one"])
def test_orders_show_who_came_first(grid, block, counter):
    header = "#include <hip/hip_runtime.h>\n"
    told = header + TICKETS.format(
        global_name="other", counter=counter, use="out[blockIdx.x * blockDim.x + threadIdx.x] = mine;"
    )
    report = emulator.stable(strata.hip_kernel(told), numbers(512), numbers(1), grid=grid, block=block, seeds=6)
    assert [f.what.split("[")[0] for f in report] == ["argument 0"]
    counted = header + TICKETS.format(global_name="other", counter=counter, use="if (mine > 1000) out[0] = 1;")
    assert not emulator.stable(strata.hip_kernel(counted), numbers(512), numbers(1), grid=grid, block=block, seeds=6)


def test_variables_of_the_module_are_compared_and_start_alike():
    source = (
        '#include <hip/hip_runtime.h>\n__device__ unsigned last, runs = 5; extern "C" __global__ void f() { if '
        "(threadIdx.x % 32 == 0) last = threadIdx.x; if (threadIdx.x == 0) runs += 1; }"
    )
    kernel = strata.hip_kernel(source, grid=1, block=256)
    report = emulator.stable(kernel, seeds=6)
    assert [f.what.split("[")[0] for f in report] == ["last"]
    assert kernel.globals["runs"].numpy("uint32").tolist() == [5] and kernel.globals["last"].numpy(
        "uint32"
    ).tolist() == [0]


def test_functions_of_tensors_are_compared_by_their_results():
    def twice(x):
        return x * 2, x.sum()

    x = Tensor.arange(100).cast("float32")
    assert not emulator.stable(twice, x, seeds=3)
    report = emulator.stable(lambda out: race()(out)[0] + 1, numbers(), seeds=8)
    assert {f.what.split("[")[0] for f in report} == {"argument 0", "the result"}
    with pytest.raises(ZeroDivisionError):
        emulator.stable(lambda x: 1 // 0, x)
    assert strata.settings()["emu_timed"] is True and strata.settings()["emu_seed"] == 0
    with pytest.raises(strata.UsageError, match="at least 2"):
        emulator.stable(twice, x, seeds=1)
    with pytest.raises(strata.UsageError, match="a kernel or a function was expected, got 3"):
        emulator.stable(3)


def test_the_arguments_of_a_stable_run_stay_as_they_are():
    out = numbers()
    emulator.stable(race("s_barrier"), out, seeds=3)
    assert out.tolist() == [0] * 64


BROKEN = """
#include <hip/hip_runtime.h>
extern "C" __global__ void reversed(int* out) {
    __shared__ int part[64];
    part[threadIdx.x] = threadIdx.x;
    BARRIER
    out[threadIdx.x] = part[63 - threadIdx.x];
}
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "broken.hip").write_text(BROKEN)
    return tmp_path


LAUNCH = ("run", "broken.hip", "--block", 64, "--arg", "i32[64]=0")
GOOD = "--option=-DBARRIER=__syncthreads();"
BAD = "--option=-DBARRIER="


def test_the_command_line_prints_findings_and_fails(files):
    done = cli(*LAUNCH, BAD, "--check", cwd=files)
    assert (
        done.returncode == 1
        and "strict mode: kernel 'reversed'" in done.stderr
        and "ds_" in done.stderr
        and "0: i32[64]=0: [" in done.stdout
    )
    done = cli(*LAUNCH, GOOD, "--check", "--seeds", 4, cwd=files)
    assert (done.returncode, done.stderr) == (0, "") and "[63, 62, 61" in done.stdout
    done = cli(*LAUNCH, BAD, "--check=raise", cwd=files)
    assert done.returncode == 1 and "strata: CheckError: kernel 'reversed'" in done.stderr and done.stdout == ""
    assert cli(*LAUNCH, BAD, cwd=files).returncode == 0
    assert cli(*LAUNCH, BAD, "--check=maybe", cwd=files).returncode == 2


def test_the_command_line_heeds_the_environment(files, monkeypatch):
    monkeypatch.setenv("STRATA_CHECK", "report")
    done = cli(*LAUNCH, BAD, "--json", cwd=files)
    assert done.returncode == 1 and "lds-race" in {f["kind"] for f in json.loads(done.stdout)}
    assert cli(*LAUNCH, GOOD, cwd=files).returncode == 0


def test_the_command_line_writes_json(files):
    done = cli(*LAUNCH, BAD, "--check", "--json", cwd=files)
    found = json.loads(done.stdout)
    assert done.returncode == 1 and "lds-race" in {f["kind"] for f in found}
    done = cli(*LAUNCH, GOOD, "--check", "--json", cwd=files)
    assert done.returncode == 0 and json.loads(done.stdout) == []
    done = cli(*LAUNCH, BAD, "--check=raise", "--json", cwd=files)
    assert done.returncode == 1 and len(json.loads(done.stdout)) >= 1 and "CheckError" in done.stderr


def test_the_command_line_compares_orders(files):
    done = cli(*LAUNCH, BAD, "--seeds", 8, cwd=files)
    assert (
        done.returncode == 1
        and "strict mode: kernel 'reversed': unstable" in done.stderr
        and "argument 0[" in done.stderr
    )
    done = cli(*LAUNCH, BAD, "--seeds", 8, "--json", cwd=files)
    assert done.returncode == 1 and [f["kind"] for f in json.loads(done.stdout)] == ["unstable"]
