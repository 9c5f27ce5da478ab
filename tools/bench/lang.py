"""strata bench lang: kernels of Python functions: the host's time of a call and of a first call, modelled products."""

import os
import subprocess
import sys
import tempfile
import time

import strata
from strata import Tensor, lang, layout as lo

from . import elapsed_ms, lang_kernels as kernels, median

# Tiles of the products of 1024, with the stages of the loop along k: (arch, dtype): (kernel, tile).
TILES = {
    ("gfx1100", "float32"): (kernels.matmul_by_lanes, (128, 64, 32)),
    ("gfx1100", "float16"): (kernels.matmul, (128, 64, 64, 1)),
    ("gfx1100", "bfloat16"): (kernels.matmul, (128, 64, 64, 1)),
    ("gfx942", "float32"): (kernels.matmul, (64, 64, 32, 2)),
    ("gfx942", "float16"): (kernels.matmul, (64, 64, 64, 2)),
    ("gfx942", "bfloat16"): (kernels.matmul, (64, 64, 64, 2)),
}


def modelled_ms(call):
    call()  # compiles, and makes its inputs
    strata.reset_stats()
    call()
    return strata.stats().time_ms


def products(quick):
    """Modelled TFLOP/s of products a @ b.T of 1024: a kernel of the language, and the scheduler's without a search. The
    scheduler's of a @ b stands beside them. Its b is contiguous along n, the others' along k."""
    n, out = 1024, {}
    for (arch, dtype), (function, tile) in TILES.items():
        if quick and arch != "gfx942":
            continue
        with strata.config(device=f"emu:{arch}", target="asm", emu_sampled=True):
            a, b = (Tensor.rand(n, n).cast(dtype).realize() for _ in range(2))
            c = Tensor.zeros(n, n).contiguous().realize()
            kernel = kernels.product(function, tile, strata.arch(arch).wave_size)
            calls = {
                "lang": lambda c=c, a=a, b=b, kernel=kernel, tile=tile: kernel(c, a, b, tile),
                "scheduler": lambda a=a, b=b: (a @ b.T).realize(),
                "scheduler_a_b": lambda a=a, b=b: (a @ b).realize(),
            }
            out[f"{arch} {dtype}"] = {name: round(2 * n**3 / modelled_ms(f) / 1e9, 1) for name, f in calls.items()}
    return out


def traced_ms(function, block, *arguments, repeat):
    """The time to trace a function whose syntax tree is rewritten already: the first trace rewrites it."""
    times = []
    for _ in range(repeat + 1):
        kernel = strata.kernel(function, grid=1, block=block)
        start = time.perf_counter()
        kernel.graph(*arguments, arch="gfx1100")
        times.append((time.perf_counter() - start) * 1e3)
    return {"first_ms": round(times[0], 3), "ms": median(times[1:], 3)}


def code_ms(function, block, *arguments, repeat):
    times = []
    for _ in range(repeat):
        kernel = strata.kernel(function, grid=1, block=block)
        made = kernel.compiled(*arguments, arch="gfx1100")
        start = time.perf_counter()
        with strata.config(no_cache=True):
            strata.compile(made, arch="gfx1100", target="asm")
        times.append((time.perf_counter() - start) * 1e3)
    return median(times, 3)


def call_us(loops):
    """CPU time of a call with three tensors and a number, where kernels do nothing: that of the fastest of some loops.

    Of a known kernel of the language, of one whose grid is a function, of one of assembly, and of a captured call.
    """
    from strata import _strata

    if "null:gfx1100" not in _strata.devices():
        _strata._add_null_devices()
    with strata.config(device="null:gfx1100"):
        kernel = strata.kernel(kernels.vecadd, grid=1, block=1)
        sized = strata.kernel(kernels.vecadd, grid=lambda out, a, b, n: lang.cdiv(out.shape[0], 256), block=1)
        parameters = {"args": ("out", "a", "b", "n:int32"), "arch": "gfx1100"}
        assembly = strata.asm_kernel("s_endpgm", name="nothing", grid=1, block=1, **parameters)
        out, a, b = (Tensor.zeros(1).contiguous().realize() for _ in range(3))
        captured = strata.jit(lambda out, a, b: kernel(out, a, b, 1)[0])
        ways = {
            "call_us": lambda: kernel(out, a, b, 1),
            "sized_call_us": lambda: sized(out, a, b, 1),
            "asm_call_us": lambda: assembly(out, a, b, 1),
            "captured_us": lambda: captured(out, a, b),
        }
        return {name: round(fastest_us(way, loops), 2) for name, way in ways.items()}


def fastest_us(call, loops, calls=500):
    def loop():
        start = time.thread_time()
        for _ in range(calls):
            call()
        return (time.thread_time() - start) * 1e6 / calls

    return min(loop() for _ in range(loops))


def times_us(call, repeat):
    for _ in range(5):
        call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e6)
    return times


def layout_us(repeat):
    """A composition of two layouts."""
    a, b = lo.Layout((64, (4, 8)), (32, (1, 4))), lo.Layout((16, 8), (8, 1))
    return median(times_us(lambda: lo.composition(a, b), repeat), 2)


def first_launch_ms():
    """The first launch of a kernel in this process."""
    out, a, b = (Tensor.zeros(1).contiguous().realize() for _ in range(3))
    kernel = strata.kernel(kernels.vecadd, grid=1, block=1)
    return elapsed_ms(lambda: kernel(out, a, b, 1))


def first_launches_ms(repeat):
    """In new processes, after one that left the kernel on disk."""
    code = f"from {__package__} import lang; print(lang.first_launch_ms())"
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "STRATA_CACHE_DIR": folder}
        run = [sys.executable, "-P", "-c", code]
        times = [
            float(subprocess.run(run, env=environment, check=True, capture_output=True, text=True).stdout)
            for _ in range(repeat + 1)
        ]
    return median(times[1:], 2)


def bench_lang(quick):
    repeat = 5 if quick else 40
    vectors, rows = [lang.TensorSpec(1 << 20)] * 3, [lang.TensorSpec((64, 4096))] * 2
    halves, tile = (
        [lang.TensorSpec((1024, 1024), dtype) for dtype in ("float32", "float16", "float16")],
        (64, 64, 64, 1),
    )
    return {
        **call_us(10 if quick else 300),
        "layout_us": layout_us(200 if quick else 5000),
        "first_launch_ms": first_launches_ms(2 if quick else 9),
        "trace_add": traced_ms(kernels.vecadd, 256, *vectors, 1 << 20, repeat=repeat),
        "trace_softmax": traced_ms(kernels.softmax, 128, *rows, 4096, repeat=repeat),
        "trace_matmul": traced_ms(kernels.matmul, 128, *halves, tile, repeat=repeat),
        "products_tflop_per_s": products(quick),
        "lines": {name: kernels.lines(function) for name, function in kernels.KERNELS.items()},
        "code_add_ms": code_ms(kernels.vecadd, 256, *vectors, 1 << 20, repeat=repeat),
        "code_softmax_ms": code_ms(kernels.softmax, 128, *rows, 4096, repeat=repeat),
        "code_matmul_ms": code_ms(kernels.matmul, 128, *halves, tile, repeat=repeat),
    }


def rows_of(result):
    """(what, figure) of a result."""
    yield (
        "CPU time of a call where kernels do nothing, three tensors and a number; with a function for the grid",
        (f"{result['call_us']:.2f} us; {result['sized_call_us']:.2f} us"),
    )
    yield "the same of a kernel of assembly", f"{result['asm_call_us']:.2f} us"
    yield "the same captured by `strata.jit`, with the copy of the output", f"{result['captured_us']:.2f} us"
    yield "first launch in a new process, of a kernel on disk", f"{result['first_launch_ms']:.1f} ms"
    yield "composition of two layouts", f"{result['layout_us']:.2f} us"
    for name in ("add", "softmax", "matmul"):
        trace = result[f"trace_{name}"]
        yield (
            f"trace of {name}, the first; again; its machine code",
            (f"{trace['first_ms']:.2f} ms; {trace['ms']:.2f} ms; {result[f'code_{name}_ms']:.2f} ms"),
        )
    for what, speed in result["products_tflop_per_s"].items():
        yield (
            f"a @ b.T of 1024, {what}, modelled; the scheduler's; the scheduler's a @ b",
            (f"{speed['lang']:.1f}; {speed['scheduler']:.1f}; {speed['scheduler_a_b']:.1f} TFLOP/s"),
        )
    counts = ", ".join(f"{name} {count}" for name, count in result["lines"].items())
    yield "lines of a kernel and its call", counts


def document(result):
    """The table of docs/benchmarks.md."""
    machine = "medians of host times on 2 cores where builds run too; modelled figures are the same on any machine"
    rows = [list(row) for row in rows_of(result)]
    return {"machine": machine, "columns": ["what", "figure"], "align": ["left", "left"], "rows": rows}


def table(result):
    """The result of bench_lang for people."""
    return "\n".join(f"{what}: {figure}" for what, figure in rows_of(result))
