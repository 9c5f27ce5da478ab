"""Strict mode: workgroups that use the same memory in no order."""

import numpy as np
import pytest
import strata
from strata import Tensor, emulator
from test_strict import cli, numbers

ONE_PLACE = 'extern "C" __global__ void one_place(int* out) { if (threadIdx.x == 0) out[SHIFT] = blockIdx.x; }'


def one_place(shift):
    return strata.hip_kernel(ONE_PLACE.replace("SHIFT", shift), grid=4, block=32)


def test_races_between_workgroups_are_found_where_they_are_asked_for():
    kernel = one_place("0")
    with emulator.check() as report:
        kernel(numbers())
    assert not report
    for block in (emulator.check(races=True), emulator.check("report", races=True)):
        with block as report:
            kernel(numbers())
        assert [f.kind for f in report] == ["global-race"] and report[0].instruction.split()[0] == report[
            0
        ].earlier.split()[0]
    with emulator.check(races=True) as report:
        one_place("blockIdx.x")(numbers())
    assert not report, report
    strata.reset_stats()
    with strata.config(check_races=True):
        kernel(numbers())
    assert [f.kind for f in strata.stats().launches[-1].findings] == ["global-race"]
    with pytest.raises(strata.CheckError, match="workgroup"), emulator.check("raise", races=True):
        kernel(numbers())


def test_what_strata_makes_of_tensors_has_no_races_between_workgroups(rng):
    x = Tensor(rng.standard_normal((96, 160)).astype(np.float32)).realize()
    for target in ("asm", "hip"):
        with strata.config(target=target), emulator.check(races=True) as report:
            for result in (
                x.sum(),
                x.softmax(axis=1),
                x @ x.T,
                (x.T.contiguous() * 2).max(0),
                Tensor.arange(1 << 16).sum(),
            ):
                result.numpy()
        assert not report, report


def test_the_command_line_finds_races_between_workgroups(tmp_path):
    (tmp_path / "one.hip").write_text(ONE_PLACE.replace("SHIFT", "0"))
    launch = ("run", "one.hip", "--grid", 4, "--block", 32, "--arg", "i32[64]=0")
    assert cli(*launch, "--check", cwd=tmp_path).returncode == 0
    done = cli(*launch, "--check-races", cwd=tmp_path)
    assert done.returncode == 1 and "global-race" in done.stderr and "in no order" in done.stderr


GRID_SYNC = """
#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>
extern "C" __global__ void shifted(int* out, int* part) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    part[i] = i;
    BETWEEN
    out[i] = part[n - 1 - i];
}
"""


@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
def test_a_barrier_of_the_grid_orders_workgroups(arch):
    for between, kinds in (("cooperative_groups::this_grid().sync();", []), ("__syncthreads();", ["global-race"])):
        kernel = strata.hip_kernel(GRID_SYNC.replace("BETWEEN", between), grid=4, block=64)
        with strata.config(device=f"emu:{arch}"), emulator.check(races=True) as report:
            kernel(numbers(256), numbers(256))
        assert sorted({f.kind for f in report}) == kinds, report
