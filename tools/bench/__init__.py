"""strata bench: what this machine does with Strata, as JSON. Times are medians of wall time, or of CPU time where the
name says so (other programs do not count there). On a busy machine trust ratios within one run."""

import importlib
import importlib.util
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time


def median(values, digits=4):
    return round(statistics.median(values), digits)


def elapsed_ms(call):
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def field(path, key, separator):
    """The value of the first `key<separator>value` line of a file, or ''."""
    try:
        with open(path) as f:
            return next((line.split(separator, 1)[1].strip(' \t\n"') for line in f if line.startswith(key)), "")
    except OSError:
        return ""


def machine():
    import numpy
    import strata

    flags = field("/proc/cpuinfo", "flags", ":").split()
    return {
        "cpu": field("/proc/cpuinfo", "model name", ":") or platform.machine(),
        "vectors": next(
            (name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "portable"
        ),
        "cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 1),
        "system": field("/etc/os-release", "PRETTY_NAME=", "=") or platform.system(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "strata": strata.__version__,
        "device": strata.default_device(),
    }


def child_ms(code, repeat):
    return [elapsed_ms(lambda: subprocess.run([sys.executable, "-P", "-c", code], check=True)) for _ in range(repeat)]


def bench_import(quick):
    """The time that `import strata` adds to the start of Python, in fresh processes."""
    repeat = 5 if quick else 21
    python, strata = child_ms("pass", repeat), child_ms("import strata", repeat)
    return {
        "import_ms": round(statistics.median(strata) - statistics.median(python), 2),
        "python_start_ms": median(python, 2),
    }


def mlp_graph(strata, width):
    """Four layers and a softmax over inputs of this width: a graph of its own for every width."""
    x = strata.Tensor.empty(64, width)
    for _ in range(4):
        x = (x @ strata.Tensor.empty(width, width) + strata.Tensor.empty(width)).gelu()
        x = (x - x.mean(axis=-1, keepdims=True)) * 2.0
    return x.softmax()


def bench_graph(quick):
    """A graph of matrix products, reductions and elementwise chains: building it, then tensor graph to HIP text."""
    import strata
    from strata import _strata

    graphs, build, per_kernel, cpu, kernels = [], [], [], [], 0
    for i in range(6 if quick else 16):
        build.append(elapsed_ms(lambda i=i: graphs.append(mlp_graph(strata, 64 + 16 * i))))
    for graph in graphs:
        start, cpu_start = time.perf_counter(), time.process_time()
        kernels = len(_strata._render_only([graph]))
        per_kernel.append((time.perf_counter() - start) * 1e3 / kernels)
        cpu.append((time.process_time() - cpu_start) * 1e3 / kernels)
    return {
        "graph": "4-layer perceptron",
        "build_ms": median(build),
        "kernels": kernels,
        "graph_to_hip_text_ms_per_kernel": median(per_kernel),
        "graph_to_hip_text_cpu_ms_per_kernel": median(cpu),
        "first_ms_per_kernel": round(per_kernel[0], 4),
    }


RUNTIME_KERNEL = """\
#include <hip/hip_runtime.h>

extern "C" __global__ void block_sums(float* out, const float* x, int n) {
    __shared__ float partial[256];
    float sum = {start}.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}
"""


def runtime_sources():
    for n in range(1, 100):
        yield "block_sums", RUNTIME_KERNEL.replace("{start}", str(n))


def rendered_sources(first):
    """Kernels that Strata rendered, none twice; `first` keeps routes from sharing texts."""
    import strata
    from strata import _strata

    for n in range(first, 1 << 20, 64):
        x = strata.Tensor.empty(n, 96)
        yield from _strata._render_only([((x * 2.0 + 1.0).exp() / (x.sum(axis=1, keepdims=True) + 1.0)).gelu()])


def bench_routes(quick):
    """One kernel from HIP text to a loaded code object, by route. `first` pays for starting the compiler or its
    headers.
    """
    import strata
    from strata import _strata

    routes = {
        "rendered, in process": (rendered_sources(64), True, True),
        "rendered, subprocess": (rendered_sources(65), True, False),
        "hip_runtime.h, precompiled": (runtime_sources(), False, False),
    }
    out = {}
    with tempfile.TemporaryDirectory() as cold, strata.config(cache_dir=cold):
        for name, (sources, freestanding, in_process) in routes.items():
            times = []
            for _ in range(4 if quick else 12):
                kernel, text = next(sources)
                ms, route, cached = _strata._compile_on(text, kernel, "gfx1100", freestanding, in_process)
                if cached:
                    raise strata.InternalError(f"the benchmark of compilation met a cached kernel: {name}")
                times.append(ms)
            out[name] = {"ms": median(times[1:], 2), "first_ms": round(times[0], 2), "route": route}
    return out


def bench_compile(quick):
    """Whole graphs to kernels, the kernels, their searches, one kernel to a code object by route; of it what the
    compiler is held to.
    """
    from .aims import aims, bench_searches
    from .graphs import bench_graphs

    out = {
        **bench_graphs(quick),
        "kernels": bench_kernels(quick),
        "searches": bench_searches(quick),
        "routes": bench_routes(quick),
    }
    return {"aims": aims(out), **out}


def bench_launch(quick):
    """A kernel of one wave that was launched before, over tensors in memory: called, and through the lazy graph."""
    import strata

    kernel = strata.hip_kernel(
        'extern "C" __global__ void scale(float* out, const float* x, '
        "float by) { out[threadIdx.x] = x[threadIdx.x] * by; }",
        name="scale",
        grid=1,
        block=32,
    )
    out, x = strata.Tensor.empty(32).realize(), strata.Tensor.rand(32).realize()
    ways = {
        "call": lambda: kernel(out, x, 3.0),
        "custom_kernel": lambda: out.custom_kernel(x, 3.0, kernel=kernel)[0].realize(),
    }
    result = {}
    for name, launch in ways.items():
        many = 500
        for _ in range(many):
            launch()
        times, emulator = [], []
        for _ in range(5 if quick else 21):
            strata.reset_stats()
            times.append(elapsed_ms(lambda: [launch() for _ in range(many)]) * 1e3 / many)
            emulator.append(strata.stats().wall_ms * 1e3 / many)
        result[name] = {
            "us": median(times, 2),
            "best_us": round(min(times), 2),
            "of_it_emulator_us": round(min(emulator), 2),
        }
    return result


def one_sum(strata, x):
    """(emulator ms, all ms, kernels, modelled ms, wave instructions) of one x.sum()."""
    strata.reset_stats()
    all_ms = elapsed_ms(lambda: x.sum().item())
    s = strata.stats()
    return s.wall_ms, all_ms, s.kernels, s.time_ms, sum(launch.wave_instructions for launch in s.launches)


def bench_sum(quick):
    """x.sum() of float32 on the default device, on all cores, beside NumPy's on one."""
    import numpy as np
    import strata

    out = {}
    for elements in (1 << 18, 1 << 24) if quick else (1 << 18, 1 << 24, 1 << 26):
        host = np.random.default_rng(0).random(elements, dtype=np.float32)
        x = strata.Tensor(host).realize()
        one_sum(strata, x)  # compiles
        runs = [one_sum(strata, x) for _ in range(5 if quick else 11)]
        numpy_ms = [elapsed_ms(host.sum) for _ in range(11)]
        emulator_ms = statistics.median(r[0] for r in runs)
        out[str(elements)] = {
            "kernels": runs[-1][2],
            "emulator_ms": round(emulator_ms, 3),
            "emulator_gb_per_s": round(host.nbytes / emulator_ms * 1e-6, 2),
            "item_ms": median([r[1] for r in runs], 3),
            "modelled_ms": round(runs[-1][3], 5),
            "modelled_gb_per_s": round(host.nbytes / runs[-1][3] * 1e-6, 1),
            "numpy_ms": median(numpy_ms, 3),
            "emulator_to_numpy": round(emulator_ms / statistics.median(numpy_ms), 1),
        }
    return out


COLD_SEARCH = """\
import time, strata
x = strata.Tensor.rand(1 << 18).realize()
start = time.perf_counter()
with strata.config(beam={beam}): x.sum().item()
seconds = time.perf_counter() - start
strata.reset_stats()
with strata.config(beam={beam}): (x.sum() + 0.0).item()
print(seconds, strata.stats().time_ms)
"""


def bench_beam(quick):
    """config(beam=2) of the sum of 2^18 float32 in a fresh process with an empty cache."""

    def cold(beam):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run(
                [sys.executable, "-P", "-c", COLD_SEARCH.replace("{beam}", str(beam))],
                env={**os.environ, "STRATA_CACHE_DIR": folder},
                check=True,
                capture_output=True,
                text=True,
            )
        return [float(word) for word in run.stdout.split()]

    plain, searched = cold(0), cold(2)
    return {
        "beam2_sum_cold_s": round(searched[0], 3),
        "beam0_sum_cold_s": round(plain[0], 3),
        "beam2_modelled_ms": round(searched[1], 5),
        "beam0_modelled_ms": round(plain[1], 5),
    }


def bench_emu(quick):
    from .emulator import bench_emu

    return bench_emu(quick)


def bench_lang(quick):
    from .lang import bench_lang

    return bench_lang(quick)


def bench_lowering(quick, archs=()):
    from .lowering import bench_lowering

    return bench_lowering(quick, archs)


def bench_kernels(quick):
    from .kernels import bench_kernels

    return bench_kernels(quick)


def bench_model(quick):
    from .model import bench_model

    return bench_model(quick)


def bench_search(quick):
    from .search import bench_search

    return bench_search(quick)


def bench_shapes(quick, count=0, seed=None, beam=False):
    from .shapes import SEED, bench_shapes

    return bench_shapes(quick, count, SEED if seed is None else seed, beam)


def bench_train(quick):
    from .train import bench_train

    return bench_train(quick)


def bench_plan(quick):
    """Host time of plans, on a device that does nothing, and of selecting them."""
    from .plan import bench_plan

    return bench_plan(quick)


BENCHMARKS = {
    "import": bench_import,
    "graph": bench_graph,
    "compile": bench_compile,
    "launch": bench_launch,
    "emu": bench_emu,
    "sum": bench_sum,
    "beam": bench_beam,
    "lang": bench_lang,
    "lowering": bench_lowering,
    "plan": bench_plan,
    "kernels": bench_kernels,
    "model": bench_model,
    "search": bench_search,
    "shapes": bench_shapes,
    "train": bench_train,
}


def bench_gpu(quick):
    """A card beside torch and CuPy, where they are installed."""
    from . import gpu

    return gpu.bench_gpu(quick)


def bench_hip(quick):
    from .hip import bench_hip

    return bench_hip(quick)


def bench_programs(quick, archs=(), card=False, only=()):
    from .programs import bench_programs

    return bench_programs(quick, archs, card, only)


def bench_llm(quick, archs=(), only=()):
    from .llm import bench_llm

    return bench_llm(quick, archs, only)


# Need a card; a build of libamdhip64; minutes.
WHERE_NAMED = {"gpu": bench_gpu, "hip": bench_hip, "programs": bench_programs, "llm": bench_llm}


def table_of(module):
    return lambda result: importlib.import_module(f".{module}", __name__).table(result)


TABLES = {
    name: table_of(module)
    for name, module in [
        ("lowering", "lowering"),
        ("compile", "graphs"),
        ("kernels", "kernels"),
        ("lang", "lang"),
        ("llm", "llm"),
        ("model", "model"),
        ("programs", "programs"),
        ("search", "search"),
        ("shapes", "shapes"),
        ("train", "train"),
    ]
}


def run_benchmarks(only=(), quick=False, archs=(), shapes=None, programs=None):
    """Results by name, with the machine. only: some of BENCHMARKS. quick: fewer repetitions. archs: of lowering, llm
    and programs, all of the first if empty. shapes, programs: arguments that bench_shapes and bench_programs take
    beside these."""
    import strata

    unknown = [n for n in only if n not in BENCHMARKS | WHERE_NAMED]
    if unknown:
        raise strata.UsageError(f"unknown benchmark '{unknown[0]}'; known: {', '.join(BENCHMARKS | WHERE_NAMED)}")
    if "emu" in (only or BENCHMARKS) and not importlib.util.find_spec("strata._strata_bench"):
        others = " ".join(n for n in BENCHMARKS if n != "emu")
        raise strata.Unsupported(
            f"'strata bench emu' needs the module _strata_bench, which scripts/setup builds; here: "
            f"strata bench {others}"
        )
    out, own = {"machine": machine()}, {"lowering": {"archs": archs}, "shapes": shapes or {}}
    own["programs"] = {"archs": archs, **(programs or {})}
    own["llm"] = {"archs": archs, "only": (programs or {}).get("only", ())}
    for name in only or BENCHMARKS:
        if sys.stderr.isatty():
            print(f"\r{name} ...\033[K", end="", file=sys.stderr, flush=True)
        out[name] = (BENCHMARKS | WHERE_NAMED)[name](quick, **own.get(name, {}))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return out


DOCUMENTED = ("lang", "llm", "model", "programs", "search")  # their modules say what docs/benchmarks.md shows


def write_docs(only, result=None):
    """Puts the tables of a run into docs/benchmarks; without a result checks alone that all of them can be."""
    import strata

    if others := [name for name in only if name not in DOCUMENTED]:
        raise strata.UsageError(
            f"--write-docs writes {', '.join(DOCUMENTED)}; figures of {', '.join(others)} are chosen by hand: put "
            f"them into docs/benchmarks, and run scripts/benchmarks_page"
        )
    from . import pages

    for name in only if result else ():
        table = importlib.import_module(f".{name}", __name__).document(result[name])
        pages.write(name, table, f"strata bench --table {name}")
