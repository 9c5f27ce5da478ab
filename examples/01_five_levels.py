#!/usr/bin/env python3
"""One sum at five levels: tensor expression, HIP source, UOp kernel, searched schedule, machine instructions.

    examples/run [--full] [--level N ...]

Each level sums the same random float32 tensor on the device; each result is checked against NumPy in float64.
"""

import argparse
import sys
import time

import numpy as np
import strata
from strata import Tensor, dtypes, uop

TOLERANCE = 1e-3  # relative


# Level 1: say what, not how. The scheduler splits the reduction in two stages.
def tensor_expression(x):
    return x.sum()


# Level 2: a HIP kernel as it would run on any AMD GPU; blockDim and gridDim are hidden kernel arguments.
HIP_SOURCE = """\
#include <hip/hip_runtime.h>

extern "C" __global__ void block_sums(float* out, const float* x) {
    __shared__ float partial[256];
    float sum = 0;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) sum += x[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}
"""


def hip_source(x):
    kernel = strata.hip_kernel(HIP_SOURCE, name="block_sums", grid=1024, block=256, options=[f"-DN={x.size}ul"])
    partial, _ = Tensor.empty(1024).custom_kernel(x, kernel=kernel)
    return partial.sum()


# Level 3: the same reduction as a UOp graph. Ranges say what runs where: grid, block, serial.
def uop_block_sums(out, x):
    blocks, threads = out.size, 256
    g, t = uop.range(blocks, 0, "global"), uop.range(threads, 1, "local")
    r, s = uop.range(x.size // (blocks * threads), 2, "reduce"), uop.range(threads, 3, "reduce")
    acc, total = uop.placeholder(1, dtypes.float32, "reg", 0), uop.placeholder(1, dtypes.float32, "reg", 1)
    partial = uop.placeholder(threads, dtypes.float32, "local")

    running = acc.after(acc[0].store(0.0), r)
    added = running[0].store(running[0].load() + x[(r * blocks + g) * threads + t].load()).end(r)
    shared = partial.after(uop.barrier(partial[t].store(acc.after(added)[0].load())))

    summing = total.after(total[0].store(0.0), s)
    summed = summing[0].store(summing[0].load() + shared[s].load()).end(s)
    first_thread = t < 1
    stored = out.index(g, first_thread).store(total.after(summed)[0].load())
    return uop.sink(stored.end(g, t), name="uop_block_sums")


def uop_kernel(x):
    partial, _ = Tensor.empty(256).custom_kernel(x, kernel=uop_block_sums)
    return partial.sum()


# Level 4: level 1 again, its schedules found by a beam search that checks every candidate's result.
def searched_schedule(x):
    with strata.config(beam=2):
        return x.sum().realize()


# Level 5: RDNA3 machine instructions, as text in LLVM's syntax and with the typed assembler.
THREADS, LOADS = 256, 4  # a block; loads of 16 bytes in flight in each lane


def tiling(elements):
    """Blocks and loop turns: a turn of a block reads THREADS * LOADS * 4 elements."""
    turns_of_all = elements // (THREADS * LOADS * 4)
    blocks = min(1024, turns_of_all)
    return blocks, turns_of_all // blocks


def assembly_text(elements):
    blocks, turns = tiling(elements)
    row = THREADS * 16  # bytes that one load of the whole block reads
    return f"""\
    s_load_b128 s[4:7], s[0:1], 0x0           // out, x
    v_lshlrev_b32_e32 v1, 4, v0
    s_mul_i32 s3, s2, {row}                   // s2: workgroup
    v_dual_mov_b32 v8, 0 :: v_dual_mov_b32 v9, 0
    v_dual_mov_b32 v10, 0 :: v_dual_mov_b32 v11, 0
    v_add_nc_u32_e32 v1, s3, v1
    s_movk_i32 s8, {turns}
    s_waitcnt lgkmcnt(0)
next:
    v_add_nc_u32_e32 v2, {row * blocks}, v1
    global_load_b128 v[12:15], v1, s[6:7]
    v_add_nc_u32_e32 v3, {row * blocks * 2}, v1
    global_load_b128 v[16:19], v2, s[6:7]
    v_add_nc_u32_e32 v4, {row * blocks * 3}, v1
    global_load_b128 v[20:23], v3, s[6:7]
    v_add_nc_u32_e32 v1, {row * blocks * 4}, v1
    global_load_b128 v[24:27], v4, s[6:7]
    s_sub_u32 s8, s8, 1
    s_cmp_lg_u32 s8, 0
    s_waitcnt vmcnt(3)
    v_dual_add_f32 v8, v12, v8 :: v_dual_add_f32 v9, v13, v9
    v_dual_add_f32 v10, v14, v10 :: v_dual_add_f32 v11, v15, v11
    s_waitcnt vmcnt(2)
    v_dual_add_f32 v8, v16, v8 :: v_dual_add_f32 v9, v17, v9
    v_dual_add_f32 v10, v18, v10 :: v_dual_add_f32 v11, v19, v11
    s_waitcnt vmcnt(1)
    v_dual_add_f32 v8, v20, v8 :: v_dual_add_f32 v9, v21, v9
    v_dual_add_f32 v10, v22, v10 :: v_dual_add_f32 v11, v23, v11
    s_waitcnt vmcnt(0)
    v_dual_add_f32 v8, v24, v8 :: v_dual_add_f32 v9, v25, v9
    v_dual_add_f32 v10, v26, v10 :: v_dual_add_f32 v11, v27, v11
    s_cbranch_scc1 next

    v_dual_add_f32 v8, v8, v9 :: v_dual_add_f32 v11, v10, v11
    v_add_f32_e32 v8, v8, v11
    v_add_f32_dpp v8, v8, v8 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1
    v_add_f32_dpp v8, v8, v8 row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:1
    v_add_f32_dpp v8, v8, v8 row_shr:4 row_mask:0xf bank_mask:0xf bound_ctrl:1
    v_add_f32_dpp v8, v8, v8 row_shr:8 row_mask:0xf bank_mask:0xf bound_ctrl:1
    s_mov_b32 s9, -1                          // every lane takes lane 15 of the other row
    v_permlanex16_b32 v9, v8, s9, s9
    v_dual_mov_b32 v2, 0 :: v_dual_add_f32 v9, v8, v9
    s_mov_b32 exec_lo, 0x80000000             // lane 31 has the sum of the wave
    global_atomic_add_f32 v2, v9, s[4:5]
    s_nop 0                                   // the message must not follow a memory instruction directly
    s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
    s_endpgm
"""


def assembler(elements):
    from strata.asm import Assembler, rdna3 as r

    v, s = r.v, r.s
    blocks, turns = tiling(elements)
    row = THREADS * 16
    a = Assembler("gfx1100", name="wave_sums", block=THREADS, grid=blocks)
    out, x, count, thread_block = s[4:5], s[6:7], s[8], s[2]
    a.emit(r.s_load_b64(out, s[0:1], a.argument("out")), r.s_load_b64(x, s[0:1], a.argument("x")))
    a.emit(r.v_lshlrev_b32(v[1], 4, v[0]), r.s_mul_i32(s[3], thread_block, row), r.v_add_nc_u32(v[1], s[3], v[1]))
    for i in (8, 10):
        a.emit(r.dual(r.v_dual_mov_b32(v[i], 0), r.v_dual_mov_b32(v[i + 1], 0)))
    a.emit(r.s_movk_i32(count, turns), r.s_waitcnt(r.waits(lgkmcnt=0)))

    loop = a.label("next")
    a.place(loop)
    place = [v[1], v[2], v[3], v[4]]
    for i in range(LOADS):  # the next place is computed while the load is on its way
        a.emit(
            r.v_add_nc_u32(place[(i + 1) % LOADS], row * blocks * (i + 1), v[1])
            if i + 1 < LOADS
            else r.s_sub_u32(count, count, 1)
        )
        a.emit(r.global_load_b128(v[12 + 4 * i : 15 + 4 * i], place[i], x))
    a.emit(r.v_add_nc_u32(v[1], row * blocks * LOADS, v[1]), r.s_cmp_lg_u32(count, 0))
    for i in range(LOADS):
        a.emit(r.s_waitcnt(r.waits(vmcnt=LOADS - 1 - i)))
        for k in (0, 2):
            add = [r.v_dual_add_f32(v[8 + k + j], v[12 + 4 * i + k + j], v[8 + k + j]) for j in (0, 1)]
            a.emit(r.dual(*add))
    a.emit(r.s_cbranch_scc1(loop))

    a.emit(
        r.dual(r.v_dual_add_f32(v[8], v[8], v[9]), r.v_dual_add_f32(v[11], v[10], v[11])),
        r.v_add_f32(v[8], v[8], v[11]),
    )
    for shift in (1, 2, 4, 8):
        a.emit(r.v_add_f32(v[8], v[8], v[8], row_shr=shift, row_mask=0xF, bank_mask=0xF, bound_ctrl=1))
    a.emit(r.s_mov_b32(s[9], -1), r.v_permlanex16_b32(v[9], v[8], s[9], s[9]))
    a.emit(r.dual(r.v_dual_mov_b32(v[2], 0), r.v_dual_add_f32(v[9], v[8], v[9])))
    a.emit(r.s_mov_b32(r.exec_lo, 0x80000000), r.global_atomic_add_f32(v[2], v[9], out))
    a.emit(r.s_nop(0), r.s_sendmsg("sendmsg(MSG_DEALLOC_VGPRS)"), r.s_endpgm())
    return a


def assembly_from_text(x):
    kernel = strata.asm_kernel(
        assembly_text(x.size),
        name="wave_sums",
        arch="gfx1100",
        args=["out", "x"],
        grid=tiling(x.size)[0],
        block=THREADS,
    )
    return Tensor.zeros(1).contiguous().custom_kernel(x, kernel=kernel)[0]


def assembly_typed(x):
    return Tensor.zeros(1).contiguous().custom_kernel(x, kernel=strata.asm_kernel(assembler(x.size)))[0]


LEVELS = [
    ("1 tensor expression", tensor_expression),
    ("2 HIP source", hip_source),
    ("3 UOp kernel", uop_kernel),
    ("4 searched (beam=2)", searched_schedule),
    ("5 assembly, text", assembly_from_text),
    ("5 assembly, typed", assembly_typed),
]
COLUMNS = [
    "level",
    "kernels",
    "grid x block",
    "compile ms",
    "modelled ms",
    "modelled GB/s",
    "emulator ms",
    "rel. error",
]
COLUMNS_OF_A_CARD = ["level", "kernels", "grid x block", "compile ms", "ms", "GB/s", "host ms", "rel. error"]


def dims(sizes):
    sizes = list(sizes)
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return "x".join(str(n) for n in sizes)


def measure(level, x, expected):
    """One level's row, and whether its result is right."""
    strata.reset_stats()
    start = time.perf_counter()
    with np.errstate(all="ignore"):
        got = level(x).item()
    total = (time.perf_counter() - start) * 1e3
    stats = strata.stats()
    error = abs(got - expected) / abs(expected)
    main = max(stats.launches, key=lambda launch: launch.bytes)
    row = [
        str(stats.kernels),
        f"{dims(main.grid)} x {dims(main.block)}",
        f"{total - stats.wall_ms:.1f}",
        f"{stats.time_ms:.4f}",
        f"{x.nbytes / stats.time_ms * 1e-6:.1f}",
        f"{stats.wall_ms:.2f}",
        f"{error:.1e}",
    ]
    return row, error <= TOLERANCE


def show(columns, rows):
    widths = [max(len(r[i]) for r in [columns, *rows]) for i in range(len(columns))]
    for n, row in enumerate([columns, *rows]):
        print(
            "| " + " | ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))) + " |"
        )
        if n == 0:
            print("|" + "|".join("-" * (w + 1) + ("-" if i == 0 else ":") for i, w in enumerate(widths)) + "|")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="2^28 elements (1 GiB) instead of 2^18")
    parser.add_argument("--level", type=int, nargs="+", choices=range(1, 6), help="only these levels")
    parser.add_argument("--device", default="", help="emu:gfx1100, ...")
    args = parser.parse_args()

    elements = 1 << (28 if args.full else 18)
    host = np.random.default_rng(0).random(elements, dtype=np.float32)
    expected = host.sum(dtype=np.float64)
    with strata.config(**({"device": args.device} if args.device else {})):
        x = Tensor(host).realize()
        device = strata.device_properties(x.device)
        modelled = device["time_is_modelled"]
        print(
            f"sum of {elements} float32 on {x.device} ({device['name']}); times on the device are "
            f"{'modelled' if modelled else 'measured'}\n"
        )
        rows, wrong, elsewhere = [], [], []
        for name, level in LEVELS:
            if args.level and int(name[0]) not in args.level:
                continue
            if sys.stderr.isatty():
                print(f"\r{name} ...\033[K", end="", file=sys.stderr, flush=True)
            try:
                row, right = measure(level, x, expected)
            except (strata.LaunchError, strata.Unsupported) as e:  # assembly is of one maker's devices
                elsewhere.append(f"{name} does not run here: {e}")
                continue
            rows.append([name, *row])
            if not right:
                wrong.append(name)
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)
    show(COLUMNS if modelled else COLUMNS_OF_A_CARD, rows)
    print("".join(f"\n{why}" for why in elsewhere), end="\n" if elsewhere else "")
    if wrong:
        sys.exit(f"wrong result (relative error above {TOLERANCE:g}): {', '.join(wrong)}")


if __name__ == "__main__":
    main()
