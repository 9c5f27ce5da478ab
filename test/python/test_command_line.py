"""strata info | asm | disasm | run: what they print, and how they fail."""

import subprocess
import sys

import numpy as np
import pytest

ADD = """\
#include <hip/hip_runtime.h>
extern "C" __global__ void add(float* out, const float* a, const float* b) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i] + b[i];
}
"""
KERNEL = """\
.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
.text
.globl one
.p2align 8
.type one,@function
one:
    s_load_b64 s[0:1], s[0:1], null
    v_lshlrev_b32 v0, 2, v0
    v_mov_b32 v1, 1.0
    s_waitcnt lgkmcnt(0)
    global_store_b32 v0, v1, s[0:1]
    s_endpgm
.rodata
.p2align 6
.amdhsa_kernel one
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_kernarg_size 8
    .amdhsa_wavefront_size32 1
    .amdhsa_next_free_vgpr 2
    .amdhsa_next_free_sgpr 2
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: one
    .symbol: one.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .max_flat_workgroup_size: 1024
    .sgpr_count: 2
    .vgpr_count: 2
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
"""


@pytest.fixture
def cli(tmp_path):
    def run(*arguments, stdin=""):
        done = subprocess.run([sys.executable, "-m", "strata", *arguments], capture_output=True, text=True, cwd=tmp_path, input=stdin)
        return done.returncode, done.stdout, done.stderr

    return run


def test_info_lists_every_device_and_setting(cli):
    code, out, err = cli("info")
    assert (code, err) == (0, "")
    assert "default device: emu:gfx1100" in out and "waves of 32" in out
    assert "emu:gfx942" in out and "beam = 0" in out


def test_run_takes_hip_source_and_saves_a_result(cli, tmp_path):
    (tmp_path / "add.hip").write_text(ADD)
    arrays = ["--arg", "f32[256]", "--arg", "f32[256]=arange", "--arg", "f32[256]=2"]
    code, out, err = cli("run", "add.hip", "--grid", "4", "--block", "64", *arrays, "--save", "0=sum.npy")
    assert (code, err) == (0, "")
    assert out.startswith("add: grid (4, 1, 1) block (64, 1, 1)") and "modelled" in out
    assert np.array_equal(np.load(tmp_path / "sum.npy"), np.arange(256, dtype=np.float32) + 2)


def test_asm_disasm_and_run_agree_on_a_code_object(cli, tmp_path):
    (tmp_path / "one.s").write_text(KERNEL)
    code, out, _ = cli("asm", "one.s", "-o", "one.co")
    assert code == 0 and out == f"one.co: {(tmp_path / 'one.co').stat().st_size} bytes\n"
    code, out, _ = cli("disasm", "one.co")
    assert code == 0 and "kernel one:" in out and "global_store_b32 v0, v1, s[0:1]" in out
    code, out, _ = cli("run", "one.co", "--block", "32", "--arg", "f32[32]", "--save", "0=ones.npy")
    assert code == 0
    assert np.array_equal(np.load(tmp_path / "ones.npy"), np.ones(32, np.float32))


def test_asm_reads_standard_input_and_disasm_bare_code(cli, tmp_path):
    assert cli("asm", "-", "-o", "one.co", stdin=KERNEL)[0] == 0
    (tmp_path / "end.bin").write_bytes(bytes.fromhex("0000b0bf"))
    assert cli("disasm", "end.bin", "--arch", "gfx1100")[1] == "s_endpgm\n"


def test_a_wrong_line_is_named(cli, tmp_path):
    (tmp_path / "bad.s").write_text("s_nop 0\nv_foo v1\n")
    code, out, err = cli("asm", "bad.s")
    assert code != 0 and out == "" and "bad.s:2:1" in err and "Traceback" not in err


@pytest.mark.parametrize("arguments, words", [
    (["run", "nothing.hip", "--arg", "f32[1]"], ["nothing.hip"]),
    (["run", "add.hip"], ["--arg"]),
    (["run", "add.hip", "--arg", "f31[4]"], ["f31[4]", "f32"]),
    (["run", "add.hip", "--arg", "f32[4]", "--grid", "x"], ["'x'"]),
    (["run", "add.hip", "--arg", "f32[4]=many"], ["random, arange or a number"]),
    (["run", "add.hip", "--kernel", "sub", "--arg", "f32[4]"], ["sub", "add"]),
    (["run", "add.hip", "--arg", "f32[4]", "--device", "emu:gfx9"], ["emu:gfx9", "gfx1100"]),
    (["disasm", "add.hip"], ["ELF"]),
])
def test_mistakes_are_one_line_that_says_what_to_do(cli, tmp_path, arguments, words):
    (tmp_path / "add.hip").write_text(ADD)
    code, _, err = cli(*arguments)
    assert code != 0 and err.startswith("strata: ") and "Traceback" not in err
    assert all(word in err for word in words)
