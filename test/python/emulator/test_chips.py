"""Chips beside the first of their family: what their rows decide, and cases by both targets in strict mode."""

import re
import shutil
import subprocess

import numpy as np
import pytest
import strata
from strata import Tensor, emulator, nn

CHIPS = {
    **{chip: "gfx1100" for chip in ("gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152")},
    "gfx1200": "gfx1201",
}
CLANG = shutil.which("clang-19")
TARGETS = ["asm", *(["hip"] if CLANG else [])]
RANDOM = np.random.default_rng(44)
LEFT, RIGHT = (RANDOM.standard_normal(shape).astype(np.float16) for shape in ((48, 64), (64, 80)))
QUERY, KEY, VALUE = (RANDOM.standard_normal((2, 40, 32)).astype(np.float16) for _ in range(3))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def operations(device):
    x = Tensor(LEFT, device=device).cast("float32")
    wide = LEFT.astype(np.float32)
    yield (x * 2 + x.exp()).sum(axis=1), (wide * 2 + np.exp(wide)).sum(1)
    yield x.softmax(axis=-1), softmax(wide)
    yield (x.cast("int32") * 7 % 5).max(axis=0), (wide.astype(np.int32) * 7 % 5).max(0)


def product(device):
    yield Tensor(LEFT, device=device) @ Tensor(RIGHT, device=device), LEFT.astype(np.float32) @ RIGHT.astype(np.float32)


def attention(device):
    q, k, v = (Tensor(x, device=device) for x in (QUERY, KEY, VALUE))
    scores = QUERY.astype(np.float32) @ KEY.astype(np.float32).swapaxes(-1, -2) / np.sqrt(np.float32(32))
    yield nn.scaled_dot_product_attention(q, k, v), softmax(scores) @ VALUE.astype(np.float32)


@pytest.mark.emulated
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", [operations, product, attention])
@pytest.mark.parametrize("chip", CHIPS)
def test_a_chip_computes_cleanly(chip, case, target):
    with strata.config(target=target), emulator.check() as report:
        for computed, wanted in case(f"emu:{chip}"):
            np.testing.assert_allclose(computed.numpy().astype(np.float32), wanted, rtol=4e-3, atol=4e-3)
    assert not list(report), str(report)


@pytest.mark.emulated
@pytest.mark.parametrize("chip", CHIPS)
def test_a_product_uses_the_matrix_instructions_of_the_family(chip):
    a, b = (Tensor(np.zeros((128, 128), np.float16), device=f"emu:{chip}") for _ in range(2))
    text = strata.compile(a @ b, arch=chip, target="asm").assembly
    assert re.search(r"v_wmma_f32_16x16x16_f16", text)


@pytest.mark.emulated
@pytest.mark.skipif(not CLANG, reason="needs clang-19")
@pytest.mark.parametrize("chip", [*CHIPS, *sorted(set(CHIPS.values()))])
def test_as_many_waves_share_a_unit_as_llvm_counts(chip):
    source = '__kernel void k() { __asm__ volatile("" ::: "v97"); }'
    command = [CLANG, "-x", "cl", "-nogpulib", "-target", "amdgcn-amd-amdhsa", f"-mcpu={chip}", "-S", "-o", "-", "-"]
    text = subprocess.run(command, input=source, check=True, capture_output=True, text=True).stdout
    kernel = strata.asm_kernel("v_mov_b32 v97, 0\ns_endpgm", name="k", arch=chip, args=["out"], grid=4096, block=128)
    with strata.config(device=f"emu:{chip}"), strata.profile() as p:
        kernel(Tensor(np.zeros(1, np.float32)))[0].realize()
    assert p.launches[-1]["waves_per_simd"] == int(re.search(r"Occupancy: (\d+)", text)[1])


@pytest.mark.emulated
@pytest.mark.skipif(not CLANG, reason="needs clang-19")
@pytest.mark.parametrize("generic", ["gfx11-generic", "gfx12-generic"])
def test_code_of_a_generic_target_runs_on_the_chips_of_it(generic):
    source = """__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void k(__global int* x) {
        x[__builtin_amdgcn_workitem_id_x()] += 3;
    }"""
    options = ["-nogpulib", "-target", "amdgcn-amd-amdhsa", f"-mcpu={generic}", "-mcode-object-version=6", "-O2"]
    command = [CLANG, "-x", "cl", "-cl-std=CL2.0", *options, "-o", "-", "-"]
    image = subprocess.run(command, input=source.encode(), check=True, capture_output=True).stdout
    for chip in [*CHIPS, *sorted(set(CHIPS.values()))]:
        kernel = strata.asm_kernel(image, name="k", grid=1, block=32)
        numbers = Tensor(np.arange(32, dtype=np.int32), device=f"emu:{chip}")
        if chip[:5] != generic[:5]:
            with pytest.raises(strata.Unsupported, match=f"the device is {chip}"):
                kernel(numbers)[0].numpy()
            continue
        with emulator.check() as report:
            np.testing.assert_array_equal(kernel(numbers)[0].numpy(), np.arange(3, 35))
        assert not list(report), str(report)


@pytest.mark.emulated
@pytest.mark.parametrize("chip", ["gfx1100", "gfx1150", "gfx1151", "gfx1201"])
def test_floats_that_all_lanes_share_are_computed_by_the_scalar_unit_where_there_is_one(chip):
    shared, own = np.array([0.3], np.float32), RANDOM.standard_normal(300).astype(np.float32)
    with strata.config(device=f"emu:{chip}", target="asm"), emulator.check() as report:
        s, x = Tensor(shared), Tensor(own)
        expression = x * ((s + 0.25) * (s - 3.5)).floor()
        text, got = strata.compile(expression).assembly, expression.numpy()
    wanted = own * np.floor((shared + np.float32(0.25)) * (shared - np.float32(3.5)))
    np.testing.assert_array_equal(got, wanted)
    for name in ("s_add_f32", "s_sub_f32|s_add_f32", "s_mul_f32", "s_floor_f32"):
        assert bool(re.search(name, text)) == (chip != "gfx1100"), text
    assert not list(report), str(report)
