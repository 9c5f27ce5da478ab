"""LLVM's workarounds on each chip and the tables of direct lowering agree. Clang's code differs without the feature
that stands for a fault exactly where a table has a row for that chip.
"""

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
CLANG = shutil.which("clang-19")
pytestmark = pytest.mark.skipif(not CLANG, reason="needs clang-19")

FAMILIES = {
    "gfx1100": {"gfx1100", "rdna3", "rdna"},
    "gfx1101": {"gfx1101", "rdna3", "rdna"},
    "gfx1102": {"gfx1102", "rdna3", "rdna"},
    "gfx1103": {"gfx1103", "rdna3", "rdna"},
    "gfx1150": {"gfx1150", "rdna3", "rdna"},
    "gfx1151": {"gfx1151", "rdna3", "rdna"},
    "gfx1152": {"gfx1152", "rdna3", "rdna"},
    "gfx1200": {"gfx1200", "rdna4", "rdna"},
    "gfx1201": {"rdna4", "rdna"},
    "gfx942": {"cdna3", "cdna"},
    "gfx90a": {"cdna2", "cdna"},
}
SOURCE = """\
#define SIZE(n) __attribute__((reqd_work_group_size(n, 1, 1)))
typedef unsigned u32;
__kernel SIZE(64) void locals_and_memory(__global u32* restrict out, __global u32* restrict in, u32 n) {
    __local u32 lds[64];
    u32 t = __builtin_amdgcn_workitem_id_x();
    lds[t] = n;
    if (n > 3) out[t] = in[t];
    out[t + 64] = lds[t ^ 1];
}
__kernel SIZE(64) void product(__global unsigned long* out, __global u32* in) {
    u32 t = __builtin_amdgcn_workitem_id_x();
    out[t] = (unsigned long)in[t] * in[t + 64] + ((unsigned long)in[t + 64] << 32 | in[t]);
}
__kernel SIZE(64) void transcendental(__global float* out, __global float* in) {
    u32 t = __builtin_amdgcn_workitem_id_x();
    out[t] = __builtin_amdgcn_rcpf(in[t]) * 3.0f;
}
__kernel SIZE(256) void barrier_(__global u32* restrict out, __global u32* restrict in) {
    u32 t = __builtin_amdgcn_workitem_id_x(), v = in[t];
    out[t + 256] = t;
    __builtin_amdgcn_s_barrier();
    out[t] = v;
}
"""
# Features that take LLVM's workaround away: (the table and row that have ours, if any chip of ours needs it).
FAULTS = {
    "-user-sgpr-init16-bug": ("codegen/machine/workarounds.def", "initialised_scalars"),
    "-mad-intra-fwd-bug": ("codegen/machine/workarounds.def", "products_keep_sources"),
    "+back-off-barrier": ("codegen/machine/workarounds.def", "barriers_wait_for_all"),
    "-valu-trans-use-hazard": ("asm/lint/hazards.def", "trans_use"),
    "-lds-branch-vmem-war-hazard": None,
}


@cache
def code(arch, *options):
    """Instructions, and what the descriptor says of registers."""
    command = [
        CLANG,
        "-x",
        "cl",
        "-cl-std=CL2.0",
        "-nogpulib",
        "-target",
        "amdgcn-amd-amdhsa",
        f"-mcpu={arch}",
        "-O2",
        "-w",
        *options,
        "-S",
        "-o",
        "-",
        "-",
    ]
    text = subprocess.run(command, input=SOURCE, check=True, capture_output=True, text=True).stdout
    return [line for line in text.split("\n") if re.match(r"\s+([a-z]\w+\s|\.amdhsa_user)", line)]


def works_around(arch, change):
    return code(arch) != code(arch, "-Xclang", "-target-feature", "-Xclang", change)


def has_row(arch, table, name):
    row = re.search(rf"^[A-Z]+\(.*\b{name},.*", (CHECKOUT / table).read_text(), re.M)[0]
    words = set(re.findall(r"\w+", row))
    return not FAMILIES[arch].isdisjoint(words) and not ("before_rdna35" in words and arch.startswith("gfx115"))


@pytest.mark.parametrize("change", FAULTS)
@pytest.mark.parametrize("arch", FAMILIES)
def test_a_chip_has_a_row_where_llvm_works_around_its_fault(arch, change):
    assert works_around(arch, change) == (FAULTS[change] is not None and has_row(arch, *FAULTS[change]))


def test_the_example_shows_the_fault_that_only_others_have():
    assert works_around("gfx1010", "-lds-branch-vmem-war-hazard")
