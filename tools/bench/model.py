"""strata bench model: what the timing model says of kernels whose times on real cards are published.

Each row is one kernel (model.hip) on one card, with who measured it and what. `error_percent` is modelled against
published. A kernel of another author is Strata's own text of the same algorithm, and that of a library Strata's own
program; the row says which. Launches run a few of their workgroups."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

VINCE = "github.com/seb-v/fp32_sgemm_amd: table of kernels, RX 7900 XTX, 4096"
ADELJ = "github.com/adelj88/rocm_wmma_samples, hgemm/docs/general.md: RX 7900 GRE, Windows, 4096"
ERNST = "github.com/te42kyfo/gpu-benches: "
RDNA3 = "AMD, RDNA3 ISA document and product page of the RX 7900 XTX"
ROCM = "github.com/ROCm/legacy-rocm-build/issues/2253: rocm-bandwidth-test 2.6.0, RX 7900 XTX to itself"
TORCH = "github.com/zzc0721/torch-performance-test-data/issues/58: torch 2.7.1 and rocm 6.3, RX 7900 XTX, 4096"
SUM = "github.com/ROCm/pytorch/pull/1588: torch.sum of 2^30 float32 on an MI300X"
SIDE = 4096  # of the matrices


def kernel(name, grid, block, lds=0):
    import strata

    return strata.hip_kernel(path=Path(__file__).parent / "model.hip", name=name, grid=grid, block=block, lds=lds)


def empty(count, dtype="float32"):
    import strata

    return (
        strata.Tensor.zeros(count, dtype=dtype).realize()
        if count < 1 << 16
        else strata.Tensor.empty(count, dtype=dtype).realize()
    )


def milliseconds(k, *arguments):
    import strata

    strata.reset_stats()
    k(*arguments)
    return strata.stats().time_ms


def product(name, side, block, dtype="float32"):
    """TFLOP/s of one product of square matrices, a block of the grid `side` wide."""
    import numpy as np

    c, a, b = (empty(SIDE * SIDE, dtype) for _ in range(3))
    grid = (SIDE // side[0], SIDE // side[1])
    return 2e-9 * SIDE**3 / milliseconds(kernel(name, grid, block), c, a, b, np.int32(SIDE))


def own_product(dtype="float32"):
    """TFLOP/s of Strata's own product of those matrices, without a search."""
    a, b = (empty(SIDE * SIDE, dtype).reshape(SIDE, SIDE) for _ in range(2))
    return 2e-9 * SIDE**3 / program_ms(a @ b)


def own_sum(count):
    """GB/s of Strata's own sum of floats, without a search."""
    return 4e-6 * count / program_ms(empty(count).sum())


def program_ms(tensor):
    import strata

    strata.reset_stats()
    tensor.realize()
    return strata.stats().time_ms


def copied(mib):
    """GB/s, read and written, of a copy of floats, a vector of four a thread."""
    count = mib << 18
    return 8e-6 * count / milliseconds(kernel("copy_vectors", count // 1024, 256), empty(count), empty(count))


def total(name, bytes_each, block=1024, lds=0):
    """GB/s of a stream over arrays of 256 MiB of doubles; `lds` keeps other workgroups from the CU."""
    count = 1 << 25
    arrays = [empty(count, "float64") for _ in range(3 if name == "stream_triad" else 2)]
    return count * bytes_each / milliseconds(kernel(name, count // block, block, lds), *arrays) * 1e-6


def again(kib, blocks):
    """GB/s of blocks of 256 that read the same `kib` KiB again and again: what twice the work takes longer."""
    import numpy as np

    count = kib * 1024 // 16
    out, x, k = empty(1024), empty(count * 4), kernel("read_again", blocks, 256)
    times = max(1, (1 << 20) // count)
    one, two = (milliseconds(k, out, x, np.int32(count), np.int32(n), np.int32(0)) for n in (times, 2 * times))
    return kib * 1024 * times * blocks / (two - one) * 1e-6


def shared(runs):
    """GB/s of 20000 blocks of 1024 of which each `runs`-th reads the same 512 KiB."""
    import numpy as np

    deep, blocks = 32, 20000
    out, x = empty(1024, "float64"), empty(runs * deep * 2 * 1024, "float64")
    return (
        blocks
        * deep
        * 2
        * 1024
        * 8
        / milliseconds(kernel("read_shared", blocks, 1024), out, x, np.int32(runs), np.int32(deep))
        * 1e-6
    )


def latency(kib):
    """Nanoseconds of a load that waits for the one before it, in a ring of lines over `kib` KiB."""
    import numpy as np
    import strata

    lines = kib * 8
    ring = np.zeros(lines * 16, np.int64)
    order = np.random.default_rng(0).permutation(lines)
    ring[order * 16] = np.roll(order, -1) * 128
    x, out, k = strata.Tensor(ring).realize(), empty(16, "int64"), kernel("chase", 1, 1)
    steps = 512  # the first of them find the caches cold
    one, two = (milliseconds(k, out, x, np.int32(n)) for n in (steps, 2 * steps))
    return (two - one) * 1e6 / steps


def wmma_peak(blocks):
    """TFLOP/s of WMMA alone."""
    import numpy as np

    out, k, steps = empty(blocks * 256), kernel("peak_wmma", blocks, 256), 256
    one, two = (milliseconds(k, out, np.int32(n)) for n in (steps, 2 * steps))
    return blocks * 8 * steps * 4 * 8192e-9 / (two - one)


def blocks(threads, wide, ahead, pad):
    return f"product_blocks<{threads}, {wide}, {str(ahead).lower()}, {pad}>"


# card -> (device, rows of (what, unit, published, source, measure))
CARDS = {
    "7900xtx": (
        "emu:gfx1100",
        [
            (
                "f32 product, naive",
                "TFLOP/s",
                1.011,
                VINCE + ", kernel 1",
                partial(product, "product_naive", (16, 16), (16, 16)),
            ),
            (
                "f32 product, tiles in LDS",
                "TFLOP/s",
                4.018,
                VINCE + ", kernel 2",
                partial(product, "product_lds", (32, 32), (32, 32)),
            ),
            (
                "f32 product, tiles in registers",
                "TFLOP/s",
                22.777,
                VINCE + ", kernel 3",
                partial(product, blocks(256, 64, False, 0), (128, 128), 256),
            ),
            (
                "f32 product, loads ahead",
                "TFLOP/s",
                25.560,
                VINCE + ", kernel 4",
                partial(product, blocks(256, 64, True, 0), (128, 128), 256),
            ),
            (
                "f32 product, fewer LDS conflicts",
                "TFLOP/s",
                33.527,
                VINCE + ", kernel 5",
                partial(product, blocks(128, 128, True, 4), (128, 128), 128),
            ),
            ("f16 WMMA alone", "TFLOP/s", 122.8, RDNA3 + ": peak", partial(wmma_peak, 768)),
            ("f32 product, rocBLAS; modelled: Strata's own", "TFLOP/s", 30.547, VINCE + ", kernel 0", own_product),
            ("f16 product, rocBLAS; modelled: Strata's own", "TFLOP/s", 105.43, TORCH, partial(own_product, "float16")),
            ("copy of 512 MiB by ROCr; modelled: Strata's own", "GB/s", 649.5, ROCM, partial(copied, 512)),
            ("sum of 1 GiB; published: DRAM's peak", "GB/s", 960, RDNA3, partial(own_sum, 1 << 28)),
        ],
    ),
    "7900gre": (
        "emu:gfx1100",
        [
            (
                "f16 product, naive WMMA",
                "TFLOP/s",
                6.89,
                ADELJ + ", WMMA Naive",
                partial(product, "product_wmma", (32, 32), (64, 2), "float16"),
            ),
            (
                "f16 product, WMMA, tiles in LDS",
                "TFLOP/s",
                12.06,
                ADELJ + ", WMMA + Shared Memory",
                partial(product, "product_wmma_blocks<8, 4, 1, 64, 1>", (64, 128), 1024, "float16"),
            ),
            (
                "f16 product, WMMA, tiles in registers",
                "TFLOP/s",
                58.63,
                ADELJ + ", WMMA + Shared Memory + Warp Tiling + Global Vectorized Loads",
                partial(product, "product_wmma_blocks<4, 4, 4, 32, 16>", (256, 256), 512, "float16"),
            ),
            (
                "f16 product, rocBLAS; modelled: Strata's own",
                "TFLOP/s",
                66.75,
                ADELJ + ", rocBLAS",
                partial(own_product, "float16"),
            ),
        ],
    ),
    "mi300x": (
        "emu:gfx942",
        [
            ("sum of 4 GiB, PyTorch; modelled: Strata's own", "GB/s", 3205, SUM, partial(own_sum, 1 << 30)),
        ],
    ),
    "mi210": (
        "emu:gfx90a",
        [
            (
                "read of 256 MiB",
                "GB/s",
                1345,
                ERNST + "gpu-stream/mi210.txt, blocks of 1024",
                partial(total, "stream_read", 8),
            ),
            (
                "scale of 256 MiB",
                "GB/s",
                1358,
                ERNST + "gpu-stream/mi210.txt, blocks of 1024",
                partial(total, "stream_scale", 16),
            ),
            (
                "triad of 256 MiB",
                "GB/s",
                1248,
                ERNST + "gpu-stream/mi210.txt, blocks of 1024",
                partial(total, "stream_triad", 24),
            ),
            (
                "read, two blocks of 64 a CU",
                "GB/s",
                182,
                ERNST + "gpu-stream/mi210.txt",
                partial(total, "stream_read", 8, 64, 32768),
            ),
            (
                "read, two blocks of 256 a CU",
                "GB/s",
                608,
                ERNST + "gpu-stream/mi210.txt",
                partial(total, "stream_read", 8, 256, 32768),
            ),
            (
                "read, two blocks of 512 a CU",
                "GB/s",
                1055,
                ERNST + "gpu-stream/mi210.txt",
                partial(total, "stream_read", 8, 512, 32768),
            ),
            ("16 KiB read again, from L1", "GB/s", 10616, ERNST + "gpu-cache/mi210.txt", partial(again, 16, 104)),
            ("256 KiB read again, from L2", "GB/s", 5126, ERNST + "gpu-cache/mi210.txt", partial(again, 256, 104)),
            ("3 MiB shared by blocks, from L2", "GB/s", 5076, ERNST + "gpu-l2-cache/mi210.txt", partial(shared, 6)),
            ("latency of L1", "ns", 73.6, ERNST + "gpu-latency/mi210.txt", partial(latency, 8)),
            ("latency of L2", "ns", 142.5, ERNST + "gpu-latency/mi210.txt", partial(latency, 32)),
            ("latency of DRAM", "ns", 341.2, ERNST + "gpu-latency/mi210.txt", partial(latency, 16384)),
        ],
    ),
}


def of_card(card):
    import strata

    device, rows = CARDS[card]
    out = []
    with strata.config(device=device, emu_sampled=True):
        for what, unit, published, source, measure in rows:
            modelled = measure()
            out.append(
                {
                    "what": what,
                    "unit": unit,
                    "published": published,
                    "modelled": round(modelled, 3),
                    "error_percent": round(100 * (modelled / published - 1), 1),
                    "source": source,
                }
            )
    return out


def bench_model(quick):
    """The rows by card, each card in a process of its own: a device models one. quick: the first card alone."""
    out = {}
    for card in list(CARDS)[:1] if quick else CARDS:
        run = subprocess.run(
            [
                sys.executable,
                "-P",
                "-c",
                f"import json; from strata_tools.bench import model; print(json.dumps(model.of_card('{card}')))",
            ],
            env={**os.environ, "STRATA_EMU_MODEL": card},
            check=True,
            capture_output=True,
            text=True,
        )
        out[card] = json.loads(run.stdout)
    return out


SPELLED = {"7900xtx": "RX 7900 XTX", "7900gre": "RX 7900 GRE", "mi300x": "MI300X", "mi210": "MI210"}


def document(result):
    """The table of docs/benchmarks.md."""
    rows = [
        [
            SPELLED[card],
            r["what"],
            *(f"{r[kind]:{digits}g} {r['unit']}" for kind, digits in (("published", ""), ("modelled", ".4"))),
            f"{r['error_percent']:+.0f}%",
        ]
        for card, of_card in result.items()
        for r in of_card
    ]
    columns = ["card", "what", "published", "modelled", "error"]
    sides = ["left", "left", "right", "right", "right"]
    return {"machine": "cards as modelled, on any machine", "columns": columns, "align": sides, "rows": rows}


def table(result):
    shown = document(result)
    lines = [shown["columns"], ["--:" if side == "right" else "---" for side in shown["align"]], *shown["rows"]]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)
