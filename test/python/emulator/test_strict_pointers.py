"""Strict mode: bytes that a kernel writes by one pointer and touches by another that promises to be the only one."""

import numpy as np
import pytest
import strata
from strata import Tensor, emulator

SOURCE = """
extern "C" __global__ void turned(const float* __restrict__ x, float* __restrict__ y) { y[threadIdx.x] = x[63 - threadIdx.x]; }
extern "C" __global__ void shared(const float* x, float* y) { y[threadIdx.x] = x[63 - threadIdx.x]; }
"""  # noqa: E501
ASSEMBLY = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
both:
    s_load_b128 s[4:7], s[0:1], 0x0
    v_and_b32 v0, 0x3ff, v0
    v_lshlrev_b32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_b32 v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    global_store_b32 v1, v2, s[6:7]
    s_endpgm
.amdhsa_kernel both
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 16
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: both
    .symbol: both.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 1024
    .args:
      - .size: 8
        .offset: 0
        .value_kind: global_buffer
        .address_space: global
      - .size: 8
        .offset: 8
        .value_kind: global_buffer
        .address_space: globalPROMISE
.end_amdgpu_metadata
"""


def ones():
    return Tensor(np.ones(64, np.float32)).realize()


@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
def test_a_promise_of_a_kernel_that_its_launch_breaks_is_found(arch):
    kernel = strata.hip_kernel(SOURCE, name="turned", grid=1, block=64)
    x, y = ones(), ones()
    with strata.config(device=f"emu:{arch}"):
        x, y = x.to(f"emu:{arch}"), y.to(f"emu:{arch}")
        with emulator.check() as report:
            kernel(x, y)
        assert not report, report
        with emulator.check() as report:
            kernel(x, x)
        assert {f.kind for f in report} == {"aliased-pointers"}
        assert "argument 0 (x)" in str(report) and "__restrict__" in report[0].fix and report[0].address is not None
        with pytest.raises(strata.CheckError, match="other memory"), emulator.check("raise"):
            kernel(x, x)
        with emulator.check() as report:
            strata.hip_kernel(SOURCE, name="shared", grid=1, block=64)(x, x)
        assert not report, report


@pytest.mark.parametrize("promise", ["", ".is_restrict: true", ".actual_access: write_only", ".access: write_only"])
def test_assembly_promises_what_its_metadata_says(promise):
    kernel = strata.asm_kernel(
        ASSEMBLY.replace("PROMISE", promise and f"\n        {promise}"), arch="gfx1100", grid=1, block=32
    )
    x, y = ones(), ones()
    for given, kinds in (
        ((x, y), []),
        ((x, x), ["aliased-pointers"] if promise and not promise.startswith(".access") else []),
    ):
        with emulator.check() as report:
            kernel(*given)
        assert [f.kind for f in report] == kinds, report


def test_strata_writes_over_inputs_that_it_has_read(rng):
    for target in ("asm", "hip"):
        x = Tensor(rng.standard_normal((65, 33)).astype(np.float32)).realize()
        with strata.config(target=target), emulator.check() as report:
            for _ in range(3):  # by plans, from the second time on
                y = x - x.mean(-1, True)
                z = (y - y.mean(0)).softmax(-1)
                result = (z / z.sum(0)).numpy()
        assert not report, report
        assert np.allclose(result.sum(0), 1, atol=1e-5)
