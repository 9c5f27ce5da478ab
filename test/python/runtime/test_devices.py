"""Every emulated architecture is a device like any other."""

import numpy as np
import pytest
import strata
from strata import Tensor

DEVICES = [f"emu:{arch}" for arch in ("gfx1100", "gfx1201", "gfx942", "gfx90a")]


@pytest.fixture(params=DEVICES)
def device(request):
    with strata.config(device=request.param):
        yield request.param


def test_the_device_is_listed_with_its_properties(device):
    assert device in strata.devices() and strata.default_device() == device
    properties = strata.device_properties(device)
    assert (
        properties["warp_size"] == (64 if device in ("emu:gfx942", "emu:gfx90a") else 32)
        and properties["max_block"] == 1024
    )


def test_reductions_products_and_functions(device):
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((37, 65)).astype(np.float32), rng.standard_normal((65, 29)).astype(np.float32)
    np.testing.assert_allclose((Tensor(a) @ Tensor(b)).numpy(), a @ b, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(Tensor(a).sum(axis=1).numpy(), a.sum(axis=1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(Tensor(a).max().item(), a.max())
    e = np.exp(a - a.max(axis=1, keepdims=True))
    np.testing.assert_allclose(Tensor(a).softmax(axis=-1).numpy(), e / e.sum(axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(
        (Tensor(a).sin() * Tensor(a).abs().sqrt()).numpy(), np.sin(a) * np.sqrt(np.abs(a)), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float64", "bfloat16"])
def test_types(device, dtype):
    values = np.arange(-60, 60) if not dtype.startswith("u") else np.arange(120)
    x = Tensor(values.astype(np.float32)).cast(dtype)
    np.testing.assert_array_equal((x + x).cast("float64").numpy(), (values + values).astype(np.float64))


def test_a_hip_kernel_with_local_memory_and_a_shuffle(device):
    wave = strata.device_properties(device)["warp_size"]
    source = """
#include <hip/hip_runtime.h>
extern "C" __global__ void swapped(float* out, const float* x) {
    __shared__ float tile[128];
    int i = threadIdx.x;
    tile[i] = x[i] + __shfl_xor(x[i], 1);
    __syncthreads();
    out[i] = tile[127 - i];
}"""
    x = np.arange(128, dtype=np.float32)
    out, _ = Tensor.empty(128).custom_kernel(
        Tensor(x), kernel=strata.hip_kernel(source, name="swapped", grid=1, block=128)
    )
    np.testing.assert_array_equal(out.numpy(), (x + x.reshape(-1, 2)[:, ::-1].reshape(-1))[::-1])
    assert wave in (32, 64)


def test_a_fault_names_the_line_of_the_source(device):
    source = """
#include <hip/hip_runtime.h>
extern "C" __global__ void wild(float* out, const float* x) {
    int i = threadIdx.x;
    float v = x[(long long)i << 40];
    out[i] = v;
}"""
    out, _ = Tensor.empty(64).custom_kernel(
        Tensor(np.zeros(64, np.float32)), kernel=strata.hip_kernel(source, name="wild", grid=1, block=64)
    )
    with pytest.raises(strata.MemoryFault, match=r":5:\d+, code offset .*lane 1 reads 4 bytes"):
        out.numpy()
    assert Tensor(np.ones(8, np.float32)).sum().item() == 8  # the process lives on


ASSEMBLY = {
    "emu:gfx1100": [
        "s_load_b128 s[4:7], s[0:1], 0x0",
        "s_waitcnt lgkmcnt(0)",
        "global_load_b32 v2, v1, s[6:7]",
        "s_waitcnt vmcnt(0)",
        "global_store_b32 v1, v2, s[4:5]",
    ],
    "emu:gfx1201": [
        "s_load_b128 s[4:7], s[0:1], 0x0",
        "s_wait_kmcnt 0x0",
        "global_load_b32 v2, v1, s[6:7]",
        "s_wait_loadcnt 0x0",
        "global_store_b32 v1, v2, s[4:5]",
    ],
    "emu:gfx942": [
        "s_load_dwordx4 s[4:7], s[0:1], 0x0",
        "s_waitcnt lgkmcnt(0)",
        "global_load_dword v2, v1, s[6:7]",
        "s_waitcnt vmcnt(0)",
        "global_store_dword v1, v2, s[4:5]",
    ],
}
ASSEMBLY["emu:gfx90a"] = ASSEMBLY["emu:gfx942"]


def test_a_kernel_in_assembly_is_for_the_default_device(device):
    arguments, wait, load, loaded, store = ASSEMBLY[device]
    text = "\n".join(
        [arguments, "v_lshlrev_b32 v1, 2, v0", wait, load, loaded, "v_mul_f32 v2, 2.0, v2", store, "s_endpgm"]
    )
    kernel = strata.asm_kernel(text, name="doubled", args=["out", "x"], grid=1, block=64)
    x = np.arange(64, dtype=np.float32)
    out, _ = Tensor.empty(64).custom_kernel(Tensor(x), kernel=kernel)
    np.testing.assert_array_equal(out.numpy(), 2 * x)
