"""strata.profile and strata run --profile: what holds launches up, as a table, as dicts, as a trace."""

import json
import subprocess
import sys
import threading

import pytest
import strata
from strata import Tensor, uop

PADDED = """
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 256))) void turned(float* out, const float* x) {
    __shared__ float tile[32 * ROW];
    const unsigned t = __builtin_amdgcn_workitem_id_x(), i = t % 32, j = t / 32;
    for (unsigned k = j; k < 32; k += 8) tile[k * ROW + i] = x[k * 32 + i];
    __builtin_amdgcn_s_barrier();
    for (unsigned k = j; k < 32; k += 8) out[k * 32 + i] = tile[i * ROW + k];
}
"""


def turned(row):
    return strata.hip_kernel(PADDED.replace("ROW", str(row)), name="turned", grid=96, block=256)


def profiled(call, **settings):
    with strata.config(**settings), strata.profile() as p:
        call()
    return p


@pytest.mark.emulated
def test_every_launch_of_the_block_and_no_other_is_told_of():
    x = Tensor.rand(1 << 16).realize()
    with strata.profile() as p:
        (x * 2).realize()
        turned(33)(Tensor.empty(1024), Tensor.rand(1024).realize())
        Tensor.empty(1 << 16).custom_kernel(
            x, kernel=lambda out, a: uop.sink(out[i := uop.range(1 << 16, 0, "global")].store(a[i].load()).end(i))
        )[0].realize()
        inside = len(p.launches)
    (x * 3).realize()
    strata.stats()
    assert len(p.launches) == inside >= 4
    assert "turned" in [launch["kernel"] for launch in p.launches]
    assert str(p).splitlines()[0].split()[:3] == ["kernel", "launches", "ms"]


def test_blocks_within_one_another_are_each_told():
    x = Tensor.rand(4096).realize()
    with strata.profile() as outer:
        (x + 1).realize()
        with strata.profile() as inner:
            (x + 2).realize()
    assert (len(outer.launches), len(inner.launches)) == (2, 1)
    other = threading.Thread(target=lambda: (x + 3).realize())
    with strata.profile() as mine:
        other.start()
        other.join()
    assert mine.launches == []


@pytest.mark.emulated
@pytest.mark.parametrize("target", ["asm", "hip"])
def test_a_stream_is_bound_by_dram_and_moves_no_more_than_it_must(target):
    x = Tensor.rand(1 << 24).realize()
    (launch,) = profiled(lambda: (x * 2 + 1).realize(), target=target).launches
    assert launch["bound"] == "DRAM bandwidth"
    assert launch["dram_bytes"] == pytest.approx(2 * x.nbytes, rel=0.01)
    assert launch["least_bytes"] == pytest.approx(2 * x.nbytes, rel=0.01)
    assert launch["occupancy"] == 1 and launch["occupancy_limit"] == "none"
    assert launch["time_ms"] == pytest.approx(launch["cycles"] / launch["mhz"] / 1e3, rel=1e-3)
    assert launch["cycles"] >= max(launch["bound_cycles"].values())


@pytest.mark.emulated
def test_lines_that_are_fetched_for_one_element_each_show_against_the_least():
    source = (
        'extern "C" __global__ void some(float* out, const float* x) { unsigned i = blockIdx.x * 256 + '
        "threadIdx.x; out[i] = x[i * 32]; }"
    )
    some = strata.hip_kernel("#include <hip/hip_runtime.h>\n" + source, name="some", grid=2048, block=256)
    x = Tensor.empty(1 << 24).realize()
    (launch,) = profiled(lambda: some(Tensor.empty(1 << 19), x)).launches
    assert launch["least_bytes"] == pytest.approx(2 * 4 * (1 << 19), rel=0.01)
    assert launch["dram_bytes"] > 10 * launch["least_bytes"]


@pytest.mark.emulated
def test_a_launch_of_nothing_is_bound_by_the_launch_and_few_workgroups_by_the_grid():
    (launch,) = profiled(lambda: (Tensor.rand(64).realize() + 1).realize()).launches[-1:]
    assert launch["bound"] == "launch" and launch["occupancy_limit"] == "grid"


@pytest.mark.emulated
def test_bank_conflicts_are_told_with_the_instruction_that_has_them():
    x = Tensor.rand(1024).realize()
    for row, conflicts in ((32, True), (33, False)):
        (launch,) = profiled(lambda row=row: turned(row)(Tensor.empty(1024), x)).launches
        assert (launch["lds_conflict_cycles"] > 0) == conflicts
        having = [one for one in launch["instructions"] if one["lds_conflict_cycles"]]
        assert bool(having) == conflicts
        assert all(one["instruction"].startswith("ds_load") and "tile[i *" in one["origin"] for one in having)


@pytest.mark.emulated
@pytest.mark.parametrize("target", ["asm", "hip"])
def test_stalls_lead_back_to_what_the_kernel_was_made_of(target):
    x = Tensor.rand(256, 1024).realize()
    with strata.config(target=target):
        x.sum(axis=1).realize()  # what was compiled without a profile is named too
    p = profiled(lambda: x.sum(axis=1).realize(), target=target)
    (launch,) = p.launches
    hot = max(launch["instructions"], key=lambda one: one["stall_cycles"])
    assert hot["stall_cycles"] > 0 and hot["runs"] > 0
    assert "load" in hot["waited_for"]["instruction"]
    assert ("in1[" if target == "asm" else ".hip:") in hot["waited_for"]["origin"], hot
    assert "waits for" in str(p) and hot["waited_for"]["origin"][:40] in str(p)


@pytest.mark.emulated
def test_registers_and_local_memory_are_named_as_the_limit():
    source = """#include <hip/hip_runtime.h>
    extern "C" __global__ void many(float* out) { asm volatile("" ::: "v200"); out[blockIdx.x * 64 + threadIdx.x] = 1; }"""  # noqa: E501
    many = strata.hip_kernel(source, name="many", grid=8192, block=64)
    (registers,) = profiled(lambda: many(Tensor.empty(8192 * 64))).launches
    (memory,) = profiled(
        lambda: strata.hip_kernel(
            source.replace('asm volatile("" ::: "v200");', ""), name="many", grid=8192, block=64, lds=65536
        )(Tensor.empty(8192 * 64))
    ).launches
    assert (registers["occupancy_limit"], memory["occupancy_limit"]) == ("VGPRs", "LDS")
    assert 0 < registers["occupancy"] < 0.6 and memory["occupancy"] < 0.2


@pytest.mark.emulated
def test_the_trace_has_kernels_in_their_order_and_waves_within_them(tmp_path):
    file, x = tmp_path / "trace.json", Tensor.rand(1 << 16).realize()
    with strata.profile(trace=file) as p:
        (x * 2).sum().realize()
        (x * 3).sum().realize()
    trace = json.loads(file.read_text())
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert all({"name", "ts", "dur", "pid", "tid", "args"} <= set(e) and e["dur"] >= 0 for e in slices)
    kernels = [e for e in slices if e["tid"] == 0]
    assert [e["name"] for e in kernels] == [launch["kernel"] for launch in p.launches]
    assert all(b["ts"] == pytest.approx(a["ts"] + a["dur"]) for a, b in zip(kernels, kernels[1:]))
    names = {
        (e["pid"], e["tid"]): e["args"]["name"]
        for e in trace["traceEvents"]
        if e["ph"] == "M" and e["name"] == "thread_name"
    }
    assert set(names) == {(e["pid"], e["tid"]) for e in slices}
    waves = [e for e in slices if e["tid"] != 0]
    assert waves and all(
        any(k["ts"] <= w["ts"] and w["ts"] + w["dur"] <= k["ts"] + k["dur"] + 1e-6 for k in kernels) for w in waves
    )
    assert json.loads(p.to_json())[0]["kernel"] == kernels[0]["name"]


@pytest.mark.emulated
def test_the_profile_of_a_launch_is_the_same_each_time_and_changes_no_modelled_time():
    x = Tensor.rand(1 << 16).realize()
    runs = [profiled(lambda: (x * 2).sum().realize(), emu_threads=threads).launches for threads in (1, 2, 0)]
    without = [{key: value for key, value in launch.items() if key != "wall_ms"} for launch in runs[0]]
    for run in runs[1:]:
        assert [{key: value for key, value in launch.items() if key != "wall_ms"} for launch in run] == without
    strata.reset_stats()
    (x * 2).sum().realize()
    assert [launch.time_ms for launch in strata.stats().launches] == [launch["time_ms"] for launch in runs[0]]


@pytest.mark.emulated
def test_strata_run_prints_and_writes_profiles(tmp_path):
    file = tmp_path / "turned.hip"
    file.write_text(PADDED.replace("ROW", "32"))
    command = [
        sys.executable,
        "-m",
        "strata",
        "run",
        str(file),
        "--grid",
        "96",
        "--block",
        "256",
        "--arg",
        "f32[1024]",
        "--arg",
        "f32[1024]=random",
        "--profile",
    ]
    shown = subprocess.run([*command, "--trace", str(tmp_path / "t.json")], capture_output=True, text=True)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "bound by" in shown.stdout and "where its waves stall" in shown.stdout
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    out = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True).stdout)
    assert out["findings"] == [] and [launch["kernel"] for launch in out["launches"]] == ["turned"], (
        "what filled its arguments is no launch of the file's kernel"
    )


def test_bad_input_says_what_to_do(tmp_path):
    with pytest.raises(TypeError):
        strata.profile(trace=3)
    with pytest.raises(OSError), strata.profile(trace=tmp_path / "none" / "t.json"):
        pass
    with strata.profile() as p:
        pass
    assert str(p) == "nothing was launched\n" and p.launches == [] and p.to_json() == "[]"


@pytest.mark.emulated
def test_equal_launches_share_all_but_their_numbers():
    """However many launches of a kernel there are, its text, its instructions and the waves of its first workgroup are
    there once.
    """
    x = Tensor.rand(1 << 12).realize()
    with strata.profile() as p:
        for _ in range(20):
            (x * 2).realize()
            x.sum().realize()
    kernels = {launch["kernel"] for launch in p.launches}
    assert len(p.launches) >= 40
    for part in ("instructions", "waves_of_first_workgroup", "bound_cycles"):
        assert len({id(launch[part]) for launch in p.launches}) <= 3 * len(kernels), part
    assert p.launches is p.launches and "source" not in p.launches[0]
    assert all(place["origin"] is not None for launch in p.launches for place in launch["instructions"])
