"""strata bench emu: the emulator on one core and on two, with the host's own limits measured in the same run.

Every kernel runs on random numbers and its result is checked against NumPy before its time counts."""

import statistics
import time

import numpy as np

ALU_LOOP = """\
    s_mov_b32 s4, {turns}
next:
{body}
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 next
    s_endpgm
"""
ALU_BODY = [
    "v_fma_f32 v{0}, v1, v2, v{0}",
    "v_add_f32 v{0}, v1, v2",
    "v_xor_b32 v{0}, v1, v2",
    "v_mul_f32 v{0}, v1, v2",
]

# Each wave sums a range of its own, sixteen rows of 128 bytes a turn; a lane keeps sixteen sums.
LOADS = "\n".join(f"    global_load_b32 v{32 + i}, v1, s[6:7] offset:{128 * i}" for i in range(16))
ADDS = "\n".join(
    f"    v_dual_add_f32 v{i}, v{24 + i}, v{i} :: v_dual_add_f32 v{i + 1}, v{25 + i}, v{i + 1}" for i in range(8, 24, 2)
)
SUM = """\
    s_load_b128 s[4:7], s[0:1], 0x0          // partial sums, input
    v_and_b32 v1, 31, v0
    v_lshrrev_b32 v2, 5, v0
    v_lshlrev_b32 v1, 2, v1
    v_mul_u32_u24 v2, {per_wave}, v2
    s_mul_i32 s3, s2, {per_group}
    v_add3_u32 v1, v1, v2, s3
{zeros}
    s_movk_i32 s8, {turns}
    s_waitcnt lgkmcnt(0)
next:
{loads}
    v_add_nc_u32 v1, 2048, v1
    s_sub_u32 s8, s8, 1
    s_cmp_lg_u32 s8, 0
    s_waitcnt vmcnt(0)
{adds}
    s_cbranch_scc1 next
{folds}
    s_lshl_b32 s3, s2, 10
    v_lshl_add_u32 v0, v0, 2, s3
    global_store_b32 v0, v8, s[4:5]
    s_endpgm
"""


def sum_text(per_wave, waves):
    zeros = "\n".join(f"    v_mov_b32 v{i}, 0" for i in range(8, 24))
    folds = "\n".join(f"    v_add_f32 v{i}, v{i}, v{i + half}" for half in (8, 4, 2, 1) for i in range(8, 8 + half))
    return SUM.format(
        turns=per_wave // 2048,
        per_wave=per_wave,
        per_group=per_wave * waves,
        zeros=zeros,
        loads=LOADS,
        adds=ADDS,
        folds=folds,
    )


MATMUL = """\
extern "C" __global__ __launch_bounds__(256) void matmul(float* c, const float* a, const float* b) {
    constexpr int N = 256, TILE = 64, K = 16;
    __shared__ float as[K][TILE], bs[K][TILE];
    int t = threadIdx.x, row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE, ty = t / 16 * 4, tx = t % 16 * 4;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < N; k0 += K) {
        for (int i = 0; i < 4; i++) {
            int e = t + 256 * i;
            as[e % K][e / K] = a[(row0 + e / K) * N + k0 + e % K];
            bs[e / TILE][e % TILE] = b[(k0 + e / TILE) * N + col0 + e % TILE];
        }
        __syncthreads();
        for (int k = 0; k < K; k++)
            for (int y = 0; y < 4; y++)
                for (int x = 0; x < 4; x++) sum[y][x] = __builtin_fmaf(as[k][ty + y], bs[k][tx + x], sum[y][x]);
        __syncthreads();
    }
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++) c[(row0 + ty + y) * N + col0 + tx + x] = sum[y][x];
}
"""

WMMA = """\
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
extern "C" __global__ __launch_bounds__(32) void wmma(float* c, const _Float16* a, const _Float16* bt) {
    constexpr int N = 256;
    int lane = threadIdx.x, row0 = blockIdx.y * 32, col0 = blockIdx.x * 32;
    float8 sum[2][2] = {};
    for (int k = 0; k < N; k += 16) {
        half16 x[2], y[2];
        for (int i = 0; i < 2; i++) {
            x[i] = *(const half16*)(a + (row0 + 16 * i + lane % 16) * N + k);
            y[i] = *(const half16*)(bt + (col0 + 16 * i + lane % 16) * N + k);
        }
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) sum[i][j] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x[i], y[j], sum[i][j]);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int r = 0; r < 8; r++)
                c[(row0 + 16 * i + 2 * r + lane / 16) * N + col0 + 16 * j + lane % 16] = sum[i][j][r];
}
"""


def repeats(count, strict):
    return max(2, count // 5) if strict else count


def best(times, digits=3):
    return round(min(times), digits)


def hip(source, name, arch="gfx1100", options=()):
    import strata

    kernel = strata.hip_kernel("#include <hip/hip_runtime.h>\n" + source, name=name, grid=1, block=1, options=options)
    return strata.compile(kernel, arch).code_object


def as_bytes(array):
    return np.ascontiguousarray(array).view(np.uint8).reshape(-1)


def launch(image, name, grid, block, arrays, threads=1, repeat=1, strict=False):
    """(load ms, [launch ms], wave instructions) of a kernel over arrays; the first array holds its result
    afterwards.
    """
    from strata import _strata_bench

    buffers = [as_bytes(a).copy() for a in arrays]
    out = _strata_bench.launches(image, "gfx1100", name, grid, block, buffers, threads, repeat, strict)
    arrays[0].reshape(-1)[:] = buffers[0].view(arrays[0].dtype)
    return out


def check(name, got, want, tolerance):
    import strata

    error = float(np.max(np.abs(got - want) / np.maximum(np.abs(want), 1)))
    if not error <= tolerance:
        raise strata.InternalError(f"the {name} benchmark is wrong by {error:.3g} (allowed {tolerance:g})")


def alu_loop(quick):
    """One wave of 32 lanes: 16 vector operations and 3 scalar ones a turn."""
    from strata import asm, emulator

    body = "\n".join("    " + ALU_BODY[i % 4].format(3 + i % 8) for i in range(16))
    code = asm.assemble_instructions(ALU_LOOP.format(turns=500_000 if quick else 4_000_000, body=body))
    rng = np.random.default_rng(1)
    start_values = rng.random((11, 32), dtype=np.float32).view(np.uint32)
    wall, cpu = [], []
    for _ in range(5):
        start, cpu_start = time.perf_counter(), time.process_time()
        state = emulator.run_wave("gfx1100", code, vgpr=start_values, max_instructions=1 << 40)
        wall.append(state.instructions / (time.perf_counter() - start) * 1e-6)
        cpu.append(state.instructions / (time.process_time() - cpu_start) * 1e-6)
    return {
        "million_wave_instructions_per_s": round(statistics.median(wall), 1),
        "million_wave_instructions_per_cpu_s": round(statistics.median(cpu), 1),
    }


def sum_16m(quick, data, strict=False):
    from strata import asm

    groups, waves, lanes = 128, 8, 32
    kernel = asm.Assembler("gfx1100", name="sum", block=waves * lanes, grid=groups)
    for argument in ("out", "x"):
        kernel.argument(argument)
    kernel.emit_text(sum_text(data.nbytes // (groups * waves), waves))
    out = np.zeros(groups * waves * lanes, np.float32)
    _, times, instructions = launch(
        kernel.finish(),
        "sum",
        (groups, 1, 1),
        (waves * lanes, 1, 1),
        [out, data],
        1,
        repeats(15 if quick else 40, strict),
        strict,
    )
    check("sum", out.sum(dtype=np.float64), data.sum(dtype=np.float64), 1e-5)
    return {"ms": best(times), "gb_per_s": round(data.nbytes / min(times) * 1e-6, 2), "wave_instructions": instructions}


def matmul(quick, threads=(1, 2), strict=False):
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((256, 256), dtype=np.float32) for _ in range(2))
    image, out = hip(MATMUL, "matmul"), np.zeros((256, 256), np.float32)
    result = {}
    for count in threads:
        _, times, instructions = launch(
            image, "matmul", (4, 4, 1), (256, 1, 1), [out, a, b], count, repeats(15 if quick else 60, strict), strict
        )
        check("matmul", out, a.astype(np.float64) @ b, 1e-4)
        result[f"threads_{count}_ms"] = best(times)
    result["wave_instructions"] = instructions
    return result


def wmma(quick, strict=False):
    rng = np.random.default_rng(3)
    a, bt = (rng.standard_normal((256, 256)).astype(np.float16) for _ in range(2))
    out = np.zeros((256, 256), np.float32)
    _, times, instructions = launch(
        hip(WMMA, "wmma"), "wmma", (8, 8, 1), (32, 1, 1), [out, a, bt], 1, repeats(5 if quick else 25, strict), strict
    )
    check("wmma", out, a.astype(np.float64) @ bt.astype(np.float64).T, 1e-3)
    return {"ms": best(times), "wave_instructions": instructions}


def alu_launch(quick, strict=False):
    """The ALU loop as a kernel of one wave: run_wave has no strict mode."""
    from strata import asm

    turns, out = 20_000 if quick else 200_000, np.zeros(32, np.uint32)
    kernel = asm.Assembler("gfx1100", name="alu", block=32, grid=1)
    kernel.argument("out")
    body = "\n".join("    " + ALU_BODY[i % 4].format(3 + i % 8) for i in range(16))
    loop, end = ALU_LOOP.format(turns=turns, body=body).split("    s_endpgm")
    start = "\n".join(f"    v_cvt_f32_u32 v{i}, v0" for i in range(1, 11))
    kernel.emit_text(
        f"    s_load_b64 s[6:7], s[0:1], 0x0\n{start}\n{loop}    v_lshlrev_b32 v0, 2, "
        f"v0\n    s_waitcnt lgkmcnt(0)\n    global_store_b32 v0, v10, s[6:7]\n    s_endpgm{end}"
    )
    _, times, instructions = launch(kernel.finish(), "alu", (1, 1, 1), (32, 1, 1), [out], 1, 5, strict)
    lane = np.arange(32, dtype=np.float32)
    check("ALU loop", out.view(np.float32).astype(np.float64), lane * lane, 0)
    return {"ms": best(times), "wave_instructions": instructions}


def start_up(quick):
    """A fresh code object of about 10 KB: load (decode) and first launch, in a process that has run others before."""
    body = "\n".join(f"    v = v * {i}.5f + x[(i * {i} + {i % 7}) % 64];" for i in range(1, 300))
    head = 'extern "C" __global__ void long_one(float* out, const float* x) { int i = threadIdx.x; float v = x[i];'
    source = f"{head}\n{body}\n    out[i] = v; }}"
    image, out, x = hip(source, "long_one"), np.zeros(64, np.float32), np.linspace(0, 1, 64, dtype=np.float32)
    runs = []
    for _ in range(5 if quick else 25):
        load, times, instructions = launch(image, "long_one", (1, 1, 1), (64, 1, 1), [out, x])
        runs.append((load + times[0], load, times[0]))
    runs.sort()
    total, load, first = runs[len(runs) // 2]
    return {
        "object_bytes": len(image),
        "load_ms": round(load, 3),
        "first_launch_ms": round(first, 3),
        "ms": round(total, 3),
    }


def run_wave_call(quick):
    from strata import asm, emulator

    code = asm.assemble_instructions("v_add_f32 v2, v0, v1\ns_endpgm")
    registers = np.random.default_rng(4).random((3, 32), dtype=np.float32).view(np.uint32)
    times = []
    for _ in range(200 if quick else 2000):
        start = time.perf_counter()
        emulator.run_wave("gfx1100", code, vgpr=registers)
        times.append((time.perf_counter() - start) * 1e6)
    return {"us": round(statistics.median(times), 1)}


def decode(quick):
    """Million instructions a second that the decoder reads, over the code of the matmul compiled for each
    architecture.
    """
    from strata import _strata_bench
    from strata.cli.code import first_archs

    out = {}
    for arch in first_archs():
        rate, instructions = _strata_bench.decode_rate(hip(MATMUL, "matmul", arch), repeat=5 if quick else 25)
        out[arch] = {"million_instructions_per_s": round(rate, 1), "instructions": instructions}
    return out


def bench_emu(quick):
    """The emulator's own speed. Times of kernels are the best of several launches, without the timing model."""
    import strata
    from strata import _strata_bench

    from .instructions import instruction_costs
    from .strict import strict_mode

    data = np.random.default_rng(0).random(1 << 24, dtype=np.float32)
    out = {"simd": strata.settings()["emu_simd"]}
    host = _strata_bench.host_limits(data, 5 if quick else 15)
    out["host"] = {key: round(value, 3) for key, value in host.items()}
    out["alu_loop"] = alu_loop(quick)
    out["sum_2^24_float32_assembly"] = summed = sum_16m(quick, data)
    summed["share_of_host_sum"] = round(host["sum_ms"] / summed["ms"], 3)
    out["matmul_256_float32_hip"] = product = matmul(quick)
    product["two_threads_speedup"] = round(product["threads_1_ms"] / product["threads_2_ms"], 2)
    product["share_of_host_fma"] = round(2 * 256**3 / product["threads_1_ms"] * 1e-6 / host["fma_gflop_per_s"], 3)
    out["matmul_256_float16_wmma"] = wmma(quick)
    out["strict_mode"] = strict_mode(quick, data)
    out["start_up"] = start_up(quick)
    out["run_wave"] = run_wave_call(quick)
    out["decode"] = decode(quick)
    out["instructions"] = instruction_costs(quick)
    return out
