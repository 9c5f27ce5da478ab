"""Services of the host to kernels that run: printf, assert, malloc, a barrier of the whole grid."""

import numpy as np
import pytest
import strata
from strata import Tensor

HEADER = "#include <hip/hip_runtime.h>\n"
PRINTS = """extern "C" __global__ void f(int* out) { printf("x"); }"""


@pytest.fixture(params=["gfx1100", "gfx942"], ids=["wave32", "wave64"])
def device(request):
    return f"emu:{request.param}"


@pytest.fixture(params=["hostcall", "buffered"])
def kind(request):
    return f"-mprintf-kind={request.param}"


def run(source, *inputs, device, n=1, dtype="int32", grid=1, block=1, options=()):
    """The first parameter of the kernel `f`, which has n values, and what the kernel printed."""
    kernel = strata.hip_kernel(HEADER + source, name="f", grid=grid, block=block, options=options)
    tensors = [Tensor(x, device=device) for x in inputs]
    out = Tensor.empty(n, dtype=dtype, device=device).custom_kernel(*tensors, kernel=kernel)[0].numpy()
    return out, strata.stats().launches[-1].output


def test_workgroups_print_in_order_and_lanes_in_theirs(device, kind, capfd):
    source = """
    extern "C" __global__ void f(int* out) {
        printf("%d:%d\\n", blockIdx.x, threadIdx.x);
    }"""
    _, output = run(source, device=device, options=[kind], grid=5, block=100)
    lines = output.splitlines()
    assert [line.split(":")[0] for line in lines] == [str(b) for b in range(5) for _ in range(100)]
    assert sorted(lines) == sorted(f"{b}:{t}" for b in range(5) for t in range(100))
    first = [int(line.split(":")[1]) for line in lines[:32]]
    assert first == list(range(first[0], first[0] + 32))  # of one wave
    assert capfd.readouterr().err == output


def test_all_conversions(device, kind):
    source = r"""
    extern "C" __global__ void f(int* out, const int* i, const float* x) {
        const int t = threadIdx.x;
        out[t] = printf("%d|%5u|%-6x|%#o|%+.2f|%e|%G|%c|%%|%s|%10.3s|%*d|%lld|%hhd\n", i[t], i[t], i[t], i[t], x[t], x[t],
                        x[t], 'a' + t, t % 2 ? "odd" : "a string longer than seven bytes", "abcdef", t, i[t],
                        (long long)i[t] << 32, i[t]);
    }"""  # noqa: E501
    i = np.array([0, 1, -1, 2147483647, -2147483648, 255, 128, 77], np.int32)
    x = np.array([0, -1.5, 1e10, 3.1415927, -1e-20, 65504, np.inf, 2.5], np.float32)
    out, output = run(source, i, x, device=device, options=[kind], n=8, grid=1, block=8)
    expected = []
    for t, (k, v) in enumerate(zip(i.tolist(), x.tolist())):
        u = k & 0xFFFFFFFF
        octal = f"0{u:o}" if u else "0"
        text = "odd" if t % 2 else "a string longer than seven bytes"
        byte = (k & 0xFF) - (256 if k & 0x80 else 0)
        expected.append(
            f"{k}|{u:5d}|{u:<6x}|{octal}|{v:+.2f}|{v:e}|{v:G}|{chr(97 + t)}|%|{text}|{'abc':>10}|"
            f"{k:>{t}}|{k << 32}|{byte}\n"
        )
    assert output == "".join(expected)
    assert out.tolist() == [len(line) if "hostcall" in kind else 0 for line in expected]


def test_lanes_that_diverge_print_each_its_own(device, kind):
    source = """
    extern "C" __global__ void f(int* out) {
        const int t = threadIdx.x;
        if (t % 3 == 0) printf("three %d\\n", t);
        else for (int i = 0; i < t % 5; ++i) printf("%d of %d\\n", i, t);
    }"""
    _, output = run(source, device=device, options=[kind], grid=1, block=64)
    expected = [f"three {t}" for t in range(0, 64, 3)]
    expected += [f"{i} of {t}" for t in range(64) if t % 3 for i in range(t % 5)]
    assert sorted(output.splitlines()) == sorted(expected)


def test_every_launch_has_its_own_output(device, kind):
    source = """
    extern "C" __global__ void f(int* out, const int* x) {
        if (*x) printf("launch %d\\n", *x);
    }"""
    outputs = [run(source, np.array([n], np.int32), device=device, options=[kind])[1] for n in (1, 0, 2)]
    assert outputs == ["launch 1\n", "", "launch 2\n"]


def test_the_same_seed_prints_the_same(device, kind):
    source = """
    extern "C" __global__ void f(int* out) {
        for (int i = 0; i < 3; ++i) printf("%d %d\\n", i, threadIdx.x);
    }"""
    texts = {}
    for threads in (1, 4):
        for seed in (0, 7):
            with strata.config(emu_threads=threads, emu_seed=seed):
                texts.setdefault(seed, set()).add(run(source, device=device, options=[kind], grid=4, block=256)[1])
    assert [len(text) for text in texts.values()] == [1, 1]


def test_output_is_cut_at_the_limit(device, kind):
    source = """
    extern "C" __global__ void f(int* out) { for (int i = 0; i < 100; ++i) printf("0123456789"); }"""
    with strata.config(emu_output=25):
        _, output = run(source, device=device, options=[kind])
    assert output == "0123456789012345678901234\n[975 more bytes were printed; STRATA_EMU_OUTPUT keeps 25]\n"


def test_a_fault_keeps_what_was_printed(device, kind, capfd):
    source = """
    extern "C" __global__ void f(int* out) {
        printf("before %d\\n", blockIdx.x);
        if (blockIdx.x == 2) out[1ll << 52] = 1;
    }"""
    with pytest.raises(strata.MemoryFault, match="bytes past the end"):
        run(source, device=device, options=[kind], grid=3, block=1)
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


@pytest.mark.parametrize("block", [32, 256, 1024])
def test_an_assert_that_every_wave_fails_keeps_its_words(device, block):
    source = """#include <cassert>
    extern "C" __global__ void f(int* out, const int* x) { assert(x[threadIdx.x] == 5); out[threadIdx.x] = 1; }"""
    with pytest.raises(
        strata.MemoryFault, match=r"thread \(\d+, 0, 0\): .*Device-side assertion `x\[threadIdx.x\] == 5' failed"
    ):
        run(source, np.zeros(block, np.int32), device=device, n=block, grid=2, block=block)


def test_abort_ends_the_launch_by_name(device):
    source = """
    extern "C" __global__ void f(int* out) { if (blockIdx.x == 1) abort(); }"""
    with pytest.raises(strata.MemoryFault, match=r"workgroup \(1, 0, 0\).*abort"):
        run(source, device=device, grid=2, block=1)


# memory


MACHINES = [("gfx1100", ()), ("gfx1100", ["-mwavefrontsize64"]), ("gfx1201", ()), ("gfx942", ()), ("gfx90a", ())]


@pytest.fixture(params=MACHINES, ids=lambda machine: "".join([machine[0], *machine[1]]))
def machine(request):
    arch, options = request.param
    return {"device": f"emu:{arch}", "options": options}


@pytest.mark.parametrize("level", ["-O1", "-O3"])
@pytest.mark.parametrize("size", [16, 100, 3072, 3073, 5000])
def test_malloc_gives_each_thread_its_own_memory(machine, size, level):
    source = """
    struct Node { Node* next; int value; };
    extern "C" __global__ void f(int* out, const int* size) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        Node* list = nullptr;
        for (int k = 0; k < i % 4 + 1; ++k) {
            Node* node = (Node*)malloc(sizeof(Node) + *size);
            *node = {list, i * 10 + k};
            list = node;
        }
        int sum = 0;
        while (list) {
            sum += list->value;
            Node* next = list->next;
            free(list);
            list = next;
        }
        out[i] = sum;
    }"""
    machine["options"] = [*machine["options"], level]
    with strata.config(emu_budget=1 << 24):
        out, _ = run(source, np.array([size - 16], np.int32), **machine, n=192, grid=3, block=64)
    assert out.tolist() == [sum(i * 10 + k for k in range(i % 4 + 1)) for i in range(192)]


def test_large_blocks_have_their_exact_size(device):
    source = """
    extern "C" __global__ void f(int* out, const int* past) {
        const int n = 5000 + threadIdx.x;
        char* p = (char*)malloc(n);
        for (int i = 0; i < n + past[0]; ++i) p[i] = i;
        out[threadIdx.x] = p[n - 1] == (char)(n - 1);
        free(p);
    }"""
    assert run(source, np.array([0], np.int32), device=device, n=40, block=40)[0].all()
    with pytest.raises(strata.MemoryFault, match="past the end of allocation 'device malloc'"):
        run(source, np.array([1], np.int32), device=device, n=40, block=40)


def test_what_one_launch_allocates_another_reads_and_frees(device):
    make = """
    extern "C" __global__ void f(unsigned long long* out) {
        int* p = new int[4000];
        for (int i = 0; i < 4000; ++i) p[i] = i * (threadIdx.x + 1);
        out[threadIdx.x] = (unsigned long long)p;
    }"""
    use = """
    extern "C" __global__ void f(int* out, int* const* in) {
        int sum = 0;
        for (int i = 0; i < 4000; ++i) sum += in[threadIdx.x][i];
        delete[] in[threadIdx.x];
        out[threadIdx.x] = sum;
    }"""
    pointers, _ = run(make, device=device, n=8, dtype="uint64", block=8)
    out, _ = run(use, pointers, device=device, n=8, block=8)
    assert out.tolist() == [sum(range(4000)) * (t + 1) for t in range(8)]


def test_an_exhausted_heap_gives_null(device):
    source = """
    extern "C" __global__ void f(int* out) {
        int n = 0;
        while (n < 100 && malloc(100000)) ++n;
        *out = n;
    }"""
    with strata.config(emu_heap=1 << 20):
        assert run(source, device=device)[0].tolist() == [10]  # of 25 pages each
    with strata.config(emu_heap=1 << 21):
        assert run(source, device=device)[0].tolist() == [20]


def test_freeing_what_malloc_did_not_give_is_a_fault(device):
    source = """
    extern "C" __global__ void f(int* out) {
        char* p = (char*)malloc(10000);
        free(p);
        free(p);
    }"""
    with pytest.raises(strata.MemoryFault, match="frees 0x.*which no malloc of a kernel gave"):
        run(source, device=device)


# the whole grid

GRID = """
#include <hip/hip_cooperative_groups.h>
extern "C" __global__ void f(int* out, int* cells) {
    auto grid = cooperative_groups::this_grid();
    const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int step = 0; step < 5; ++step) {
        const int left = __hip_atomic_load(&cells[(i + n - 1) % n], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        grid.sync();
        cells[i] += left;
        grid.sync();
    }
    out[i] = grid.is_valid() ? cells[i] : -1;
}"""


@pytest.mark.parametrize("grid, block", [(1, 64), (2, 32), (7, 100), (64, 256), (500, 64)])
def test_the_whole_grid_waits_for_itself(device, grid, block):
    n = grid * block
    cells = np.arange(n, dtype=np.int32) % 13
    out, _ = run(GRID, cells, device=device, n=n, grid=grid, block=block)
    for _ in range(5):
        cells = cells + np.roll(cells, 1)
    np.testing.assert_array_equal(out, cells)


def test_a_gpu_without_such_a_barrier_says_what_to_do_instead():
    with pytest.raises(
        strata.CompileError,
        match="barrier of a whole grid is made of instructions that this GPU does not have. End the kernel there",
    ):
        strata.compile(strata.hip_kernel(HEADER + GRID, name="f"), arch="gfx1201")


def test_a_barrier_of_our_own_ends_soon(device):
    source = """
    extern "C" __global__ void f(int* out, int* arrived) {
        if (threadIdx.x == 0) {
            __hip_atomic_fetch_add(arrived, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
            while (__hip_atomic_load(arrived, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < gridDim.x)
                __builtin_amdgcn_s_sleep(1);
        }
        __syncthreads();
        out[blockIdx.x] = *arrived;
    }"""
    out, _ = run(source, np.zeros(1, np.int32), device=device, n=300, grid=300, block=64)
    assert (out == 300).all()


def test_a_grid_that_does_not_fit_is_refused_by_its_barrier(device):
    cells = np.zeros(64 * 20000, np.int32)
    with pytest.raises(strata.MemoryFault, match="all 20000 workgroups must be on the GPU at once, of which it holds"):
        run(GRID, cells, device=device, n=cells.size, grid=20000, block=64)


def test_a_workgroup_that_skips_the_barrier_is_an_error(device):
    source = GRID.replace("auto grid", "if (blockIdx.x == 3) return; auto grid")
    with pytest.raises(strata.LaunchError, match="waits for others at a barrier or semaphore of the grid"):
        run(source, np.zeros(320, np.int32), device=device, n=320, grid=5, block=64)


# variables of host and device


def test_managed_variables_keep_their_values_over_launches(device):
    source = """
    __managed__ int counter = 5;
    __managed__ float table[4] = {1, 2, 4, 8};
    __device__ int plain = 3;
    extern "C" __global__ void f(float* out) {
        out[threadIdx.x] = table[threadIdx.x] + plain + counter;
    }"""
    out, _ = run(source, device=device, n=4, dtype="float32", block=4)
    assert out.tolist() == [9, 10, 12, 16]


# what the device libraries were not compiled for


def test_clocks_go_on(machine):
    source = """
    extern "C" __device__ unsigned long __ockl_memtime_u64();
    extern "C" __device__ unsigned long __ockl_memrealtime_u64();
    extern "C" __device__ void __ockl_rtcwait_u32(unsigned ticks);
    extern "C" __global__ void f(unsigned long long* out) {
        const unsigned long long before[] = {(unsigned long long)clock64(), (unsigned long long)wall_clock64(),
                                             __ockl_memtime_u64(), __ockl_memrealtime_u64()};
        __ockl_rtcwait_u32(1000);
        out[0] = clock64() - before[0];
        out[1] = wall_clock64() - before[1];
        out[2] = __ockl_memtime_u64() - before[2];
        out[3] = __ockl_memrealtime_u64() - before[3];
    }"""
    out, _ = run(source, **machine, n=4, dtype="uint64")
    assert (out >= 1000).all() and (out < 1 << 32).all()


def saturated(sums, low, high, saturate):
    return np.clip(sums, low, high) if saturate else ((sums - low) % (1 << 32)) + low


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize(
    "name, type, count, bits",
    [
        ("sdot2", "short", 2, 16),
        ("udot2", "unsigned short", 2, 16),
        ("sdot4", "signed char", 4, 8),
        ("udot4", "unsigned char", 4, 8),
        ("sdot8", None, 8, 4),
        ("udot8", None, 8, 4),
    ],
)
def test_dot_products_are_right(machine, name, type, count, bits, saturate):
    signed = name[0] == "s"
    word = "int" if signed else "unsigned"
    vector = f"typedef {type} V __attribute__((ext_vector_type({count})));" if type else f"typedef {word} V;"
    source = f"""
    {vector}
    extern "C" __device__ {word} __ockl_{name}(V a, V b, {word} c, bool saturate);
    extern "C" __global__ void f({word}* out, const V* a, const V* b, const {word}* c) {{
        const int i = threadIdx.x;
        out[i] = __ockl_{name}(a[i], b[i], c[i], {str(saturate).lower()});
    }}"""
    rng, n = np.random.default_rng(bits), 64
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    a, b = (rng.choice([low, high, *rng.integers(low, high + 1, 6)], (n, count)) for _ in range(2))
    word_low, word_high = (-(1 << 31), (1 << 31) - 1) if signed else (0, (1 << 32) - 1)
    c = rng.choice([word_low, word_high, 0, 1, 123456], n)
    shifts = np.arange(count) * bits
    packed = [((x.astype(np.int64) & (1 << bits) - 1) << shifts).sum(axis=1).astype(np.uint32) for x in (a, b)]
    out, _ = run(
        source,
        *packed,
        c.astype(np.int64).astype(np.uint32),
        **machine,
        n=n,
        dtype="int32" if signed else "uint32",
        block=n,
    )
    np.testing.assert_array_equal(out, saturated((a * b).sum(axis=1) + c, word_low, word_high, saturate))


def test_a_function_that_the_gpu_has_no_instructions_for_is_an_error():
    source = """
    __attribute__((target("dot1-insts"))) __device__ __attribute__((noinline)) int g(int x) { return x + 1; }
    extern "C" __global__ void f(int* out, const int* x) { *out = g(*x); }"""
    x = np.array([41], np.int32)
    with pytest.raises(
        strata.CompileError, match="it calls '.*g.*', which is compiled for GPUs with dot1-insts, and gfx1100 is none"
    ):
        run(source, x, device="emu:gfx1100")
    assert run(source, x, device="emu:gfx942")[0].tolist() == [42]


def test_opencl_messages_are_refused_by_name():
    image = strata.compile(
        strata.hip_kernel(HEADER + PRINTS, name="f", options=["-mprintf-kind=buffered"]), arch="gfx1100"
    ).code_object
    assert b"0:0:" in image
    with pytest.raises(strata.Unsupported, match="prints in OpenCL's form .amdhsa.printf '1:0:"):
        strata.asm_kernel(image.replace(b"0:0:", b"1:0:"), grid=1, block=1)(np.zeros(1, np.int32))


TEXTURES = {
    "a texture object": "hipTextureObject_t t) { *out = tex2D<float>(t, 0.5f, 0.5f); }",
    "a level of one": "hipTextureObject_t t) { *out = tex2DLod<float>(t, 0.5f, 0.5f, 0.0f); }",
    "a line": "hipTextureObject_t t) { *out = tex1Dfetch<float>(t, 1); }",
    "a surface": "hipSurfaceObject_t t) { surf2Dread(out, t, 0, 0); }",
    "a reference to a line": "int i) { *out = tex1Dfetch(line, i); }",
    "a reference to a plane": "float x) { *out = tex2D(plane, x, x); }",
}
REFERENCES = "texture<float, 1, hipReadModeElementType> line; texture<float, 2, hipReadModeElementType> plane; "


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx90a"])
@pytest.mark.parametrize("what", TEXTURES)
def test_textures_are_refused_by_name_when_the_kernel_is_compiled(what, arch):
    kernel = strata.hip_kernel(
        f'{HEADER}{REFERENCES}extern "C" __global__ void f(float* out,\n{TEXTURES[what]}', name="f"
    )
    with pytest.raises(
        strata.CompileError,
        match=(
            r"(?s)^f.hip:3:\d+: error: '(tex|surf).*textures, surfaces and images are not there: pass the data as "
            r"a pointer"
        ),
    ):
        strata.compile(kernel, arch=arch)
