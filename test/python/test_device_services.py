"""What kernels ask of their host while they run: printf, assert, malloc, a barrier of the whole grid."""

import numpy as np
import pytest

import strata
from strata import Tensor

HEADER = "#include <hip/hip_runtime.h>\n"


@pytest.fixture(params=["gfx1100", "gfx942"], ids=["wave32", "wave64"])
def device(request):
    return f"emu:{request.param}"


def run(source, *inputs, device, n=1, dtype="int32", grid=1, block=1):
    """The first parameter of the kernel `f`, which has n values, and what the kernel printed."""
    kernel = strata.hip_kernel(HEADER + source, name="f", grid=grid, block=block)
    tensors = [Tensor(x, device=device) for x in inputs]
    out = Tensor.empty(n, dtype=dtype, device=device).custom_kernel(*tensors, kernel=kernel)[0].numpy()
    return out, strata.stats().launches[-1].output


def test_workgroups_print_in_order_and_lanes_in_theirs(device, capfd):
    source = """
    extern "C" __global__ void f(int* out) {
        const int block = blockIdx.x, thread = threadIdx.x;
        printf("%d:%d\\n", block, thread);
    }"""
    _, output = run(source, device=device, grid=5, block=100)
    lines = output.splitlines()
    assert [line.split(":")[0] for line in lines] == [str(b) for b in range(5) for _ in range(100)]
    assert sorted(lines) == sorted(f"{b}:{t}" for b in range(5) for t in range(100))
    first = [int(line.split(":")[1]) for line in lines[:32]]
    assert first == list(range(first[0], first[0] + 32))  # of one wave
    assert capfd.readouterr().err == output


def test_all_conversions(device):
    source = r"""
    extern "C" __global__ void f(int* out, const int* i, const float* x) {
        const int t = threadIdx.x;
        out[t] = printf("%d|%5u|%-6x|%#o|%+.2f|%e|%G|%c|%%|%s|%10.3s|%*d|%lld|%hhd\n", i[t], i[t], i[t], i[t], x[t], x[t],
                        x[t], 'a' + t, t % 2 ? "odd" : "a string longer than seven bytes", "abcdef", t, i[t],
                        (long long)i[t] << 32, i[t]);
    }"""
    i = np.array([0, 1, -1, 2147483647, -2147483648, 255, 128, 77], np.int32)
    x = np.array([0, -1.5, 1e10, 3.1415927, -1e-20, 65504, np.inf, 2.5], np.float32)
    out, output = run(source, i, x, device=device, n=8, grid=1, block=8)
    expected = []
    for t, (k, v) in enumerate(zip(i.tolist(), x.tolist())):
        u = k & 0xFFFFFFFF
        octal = f"0{u:o}" if u else "0"
        text = "odd" if t % 2 else "a string longer than seven bytes"
        byte = (k & 0xFF) - (256 if k & 0x80 else 0)
        expected.append(f"{k}|{u:5d}|{u:<6x}|{octal}|{v:+.2f}|{v:e}|{v:G}|{chr(97 + t)}|%|{text}|{'abc':>10}|"
                        f"{k:>{t}}|{k << 32}|{byte}\n")
    assert output == "".join(expected)
    assert out.tolist() == [len(line) for line in expected]


def test_lanes_that_diverge_print_each_its_own(device):
    source = """
    extern "C" __global__ void f(int* out) {
        const int t = threadIdx.x;
        if (t % 3 == 0) printf("three %d\\n", t);
        else for (int i = 0; i < t % 5; ++i) printf("%d of %d\\n", i, t);
    }"""
    _, output = run(source, device=device, grid=1, block=64)
    expected = [f"three {t}" for t in range(0, 64, 3)]
    expected += [f"{i} of {t}" for t in range(64) if t % 3 for i in range(t % 5)]
    assert sorted(output.splitlines()) == sorted(expected)


def test_every_launch_has_its_own_output(device):
    source = """
    extern "C" __global__ void f(int* out, const int* x) {
        if (*x) printf("launch %d\\n", *x);
    }"""
    outputs = [run(source, np.array([n], np.int32), device=device)[1] for n in (1, 0, 2)]
    assert outputs == ["launch 1\n", "", "launch 2\n"]


def test_the_same_seed_prints_the_same(device):
    source = """
    extern "C" __global__ void f(int* out) {
        for (int i = 0; i < 3; ++i) printf("%d %d\\n", i, (int)threadIdx.x);
    }"""
    texts = {}
    for threads in (1, 4):
        for seed in (0, 7):
            with strata.config(emu_threads=threads, emu_seed=seed):
                texts.setdefault(seed, set()).add(run(source, device=device, grid=4, block=256)[1])
    assert [len(text) for text in texts.values()] == [1, 1]


def test_output_is_cut_at_the_limit(device):
    source = """
    extern "C" __global__ void f(int* out) { for (int i = 0; i < 100; ++i) printf("0123456789"); }"""
    with strata.config(emu_output=25):
        _, output = run(source, device=device)
    assert output == "0123456789012345678901234\n[975 more bytes were printed; STRATA_EMU_OUTPUT keeps 25]\n"


def test_a_fault_keeps_what_was_printed(device, capfd):
    source = """
    extern "C" __global__ void f(int* out) {
        printf("before %d\\n", (int)blockIdx.x);
        if (blockIdx.x == 2) out[1 << 20] = 1;
    }"""
    with pytest.raises(strata.MemoryFault, match="bytes past the end"):
        run(source, device=device, grid=3, block=1)
    assert capfd.readouterr().err == "before 0\nbefore 1\nbefore 2\n"


def test_a_failed_assert_names_line_function_and_thread(device, capfd):
    source = """#include <cassert>
    extern "C" __global__ void f(int* out, const int* x) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        assert(x[i] > 0);
        out[i] = x[i];
    }"""
    x = np.arange(1, 97, dtype=np.int32)
    np.testing.assert_array_equal(run(source, x, device=device, n=96, grid=3, block=32)[0], x)
    x[32 + 7] = -1
    message = r"workgroup \(1, 0, 0\).*thread \(7, 0, 0\): .*:5: .*f.*: Device-side assertion `x\[i\] > 0' failed"
    with pytest.raises(strata.MemoryFault, match=message):
        run(source, x, device=device, n=96, grid=3, block=32)
    assert "Device-side assertion `x[i] > 0' failed.\n" in capfd.readouterr().err


def test_abort_ends_the_launch_by_name(device):
    source = """
    extern "C" __global__ void f(int* out) { if (blockIdx.x == 1) abort(); }"""
    with pytest.raises(strata.MemoryFault, match=r"workgroup \(1, 0, 0\).*abort"):
        run(source, device=device, grid=2, block=1)
