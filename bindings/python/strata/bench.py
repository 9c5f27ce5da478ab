"""strata bench: what this machine does with Strata, as JSON. Times are medians; ratios within one run are the ones to quote."""

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time


def median_ms(call, repeat):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return round(statistics.median(times), 4)


def machine():
    model = "unknown"
    try:
        with open("/proc/cpuinfo") as f:
            model = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), model)
    except OSError:
        pass
    return {"cpu": model, "cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()}


def bench_import(quick):
    def child(code):
        return median_ms(lambda: subprocess.run([sys.executable, "-c", code], check=True), 5 if quick else 15)

    python, strata = child("pass"), child("import strata")
    return {"python_ms": python, "python_and_strata_ms": strata, "import_ms": round(strata - python, 2)}


def mlp_graph(strata, width):
    """A graph of its own for every width: no cache of Strata's knows it."""
    x = strata.Tensor.empty(64, width)
    for _ in range(4):
        x = (x @ strata.Tensor.empty(width, width) + strata.Tensor.empty(width)).gelu()
        x = (x - x.mean(axis=-1, keepdims=True)) * 2.0
    return x.softmax()


def bench_graph(quick):
    import strata
    from strata import _strata

    widths = iter(range(65, 1000, 2))
    graphs = []
    build = median_ms(lambda: graphs.append(mlp_graph(strata, next(widths))), 5 if quick else 15)
    kernels, text_ms = 0, []
    for g in graphs:
        start = time.perf_counter()
        kernels = _strata._render_only([g])
        text_ms.append((time.perf_counter() - start) * 1e3 / kernels)
    return {"build_ms": build, "kernels": kernels, "schedule_and_render_ms_per_kernel": round(statistics.median(text_ms), 4)}


def bench_compile(quick):
    import strata
    from strata import _strata

    out = {}
    for route in _strata._compile_routes():
        n = iter(range(1000))
        source = lambda: f'extern "C" __global__ void k(float* o, const float* x) {{ o[threadIdx.x] = x[threadIdx.x] * {next(n)}.5f; }}'  # noqa: E731
        with strata.config(no_cache=True):
            out[route] = median_ms(lambda: _strata._compile_route(route, source(), "k", "gfx1100"), 3 if quick else 7)
    return {"small_kernel_ms": out}


ALU_LOOP = """\
    s_mov_b32 s4, {turns}
next:
{body}
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 next
    s_endpgm
"""


def bench_emulator(quick):
    from strata import asm, emulator

    ops = ["v_fma_f32 v{0}, v{1}, v{2}, v{0}", "v_add_f32 v{0}, v{1}, v{2}", "v_xor_b32 v{0}, v{1}, v{2}", "v_mul_f32 v{0}, v{1}, v{2}"]
    body = "\n".join("    " + ops[i % 4].format(3 + i % 8, 1, 2) for i in range(16))
    turns = 1_000_000 if quick else 4_000_000
    code = asm.assemble_instructions(ALU_LOOP.format(turns=turns, body=body))
    best = 0.0
    for _ in range(3):
        start = time.perf_counter()
        state = emulator.run_wave("gfx1100", code, max_instructions=1 << 40)
        best = max(best, state.instructions / (time.perf_counter() - start))
    return {"alu_loop_wave_instructions_per_s_per_core": round(best)}


def bench_sum(quick):
    import numpy as np

    import strata

    out = {}
    for elements in (1 << 18, 1 << 24):
        host = np.random.default_rng(0).random(elements, dtype=np.float32)
        x = strata.Tensor(host).realize()
        x.sum().item()
        strata.reset_stats()
        steady = []
        for _ in range(5 if quick else 15):
            start = time.perf_counter()
            x.sum().item()
            steady.append((time.perf_counter() - start) * 1e3)
        s = strata.stats()
        per = len(s.launches) // len(steady)
        wall = [sum(launch.wall_ms for launch in s.launches[i * per : (i + 1) * per]) for i in range(len(steady))]
        ms = statistics.median(wall)
        out[str(elements)] = {
            "emulator_ms": round(ms, 4), "emulator_gb_per_s": round(elements * 4 / ms * 1e-6, 3), "item_ms": round(statistics.median(steady), 4),
            "modelled_ms": round(s.time_ms / len(steady), 5), "numpy_ms": median_ms(lambda h=host: h.sum(), 5),
        }
    return out


def bench_beam(quick):
    import strata

    code = ("import time, strata\nx = strata.Tensor.rand(1 << 18).realize()\nstart = time.perf_counter()\n"
            "with strata.config(beam=2): x.sum().item()\nprint(time.perf_counter() - start)")
    with tempfile.TemporaryDirectory() as cold:
        out = subprocess.run([sys.executable, "-c", code], env={**os.environ, "STRATA_CACHE_DIR": cold}, check=True, capture_output=True, text=True)
    return {"beam2_sum_cold_s": round(float(out.stdout), 3), "device": strata.default_device()}


BENCHMARKS = {"import": bench_import, "graph": bench_graph, "compile": bench_compile, "emulator": bench_emulator, "sum": bench_sum, "beam": bench_beam}


def run_benchmarks(only=(), quick=False):
    import strata

    unknown = [n for n in only if n not in BENCHMARKS]
    if unknown:
        raise strata.UsageError(f"unknown benchmark '{unknown[0]}'; known: {', '.join(BENCHMARKS)}")
    out = {"machine": machine()}
    for name in only or BENCHMARKS:
        if sys.stderr.isatty():
            print(f"\r{name} ...\033[K", end="", file=sys.stderr, flush=True)
        out[name] = BENCHMARKS[name](quick)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return out
