"""strata bench lowering: 24 kernels through both targets, `hip` (clang -O3) and `asm` (direct lowering), from the same
schedules.

A kernel counts when both give the same values; one that does not is in the result with the reason and without
figures."""

import math
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import strata
from strata import _strata, nn
from strata.cli.code import first_archs

from ..mutate.code import symbols

ARCHS = tuple(first_archs())
TARGETS = ("hip", "asm")


class Inputs:
    """Tensors of one device, the same numbers in each process and for each target."""

    def __init__(self):
        self.random = np.random.default_rng(11)

    def floats(self, *shape, dtype="float32"):
        return strata.Tensor(self.random.standard_normal(shape, dtype=np.float32)).cast(dtype).realize()

    def integers(self, low, high, *shape, dtype="int32"):
        return strata.Tensor(self.random.integers(low, high, shape).astype(np.int32)).cast(dtype).realize()


def product(n, dtype, into=None):
    """A square matrix product; floats of a few bits are products of numbers that they hold."""

    def make(inputs):
        whole = dtype == "int8" or "fp8" in dtype
        a, b = (
            (inputs.integers(-8, 9, n, n) if whole else inputs.floats(n, n)).cast(dtype).realize() for _ in range(2)
        )
        return lambda: a.cast(into) @ b.cast(into) if into else a @ b

    return make


def convolution(inputs):
    """3 x 3, 8 to 16 channels of 32 x 32, as windows times weights."""
    x, weights = inputs.floats(8, 34, 34), inputs.floats(16, 8, 3, 3)

    def call():
        windows = strata.stack([x[:, i : i + 32, j : j + 32] for i in range(3) for j in range(3)])
        return (windows.reshape(1, 9, 8, 32, 32) * weights.permute(0, 2, 3, 1).reshape(16, 9, 8, 1, 1)).sum(axis=(1, 2))

    return call


def philox(inputs):
    def call():
        strata.manual_seed(7)
        return strata.Tensor.rand(1 << 16)

    return call


def attention(inputs):
    query, key, value = (inputs.floats(2, 64, 32) for _ in range(3))

    def call():
        return nn.scaled_dot_product_attention(query, key, value, causal=True)

    return call


def normalized(name):
    def make(inputs):
        x, weight = inputs.floats(256, 512), inputs.floats(512)

        def call():
            return getattr(nn, name)(x, weight=weight)

        return call

    return make


def of(function, *shape, dtype="float32"):
    """A function of one tensor of random numbers."""

    def make(inputs):
        x = inputs.floats(*shape, dtype=dtype)
        return lambda: function(x)

    return make


def gathered(inputs):
    table, ids = inputs.floats(1024, 64), inputs.integers(0, 1024, 2048)
    return lambda: table.take(ids, 0)


def divided(inputs):
    a, b = inputs.integers(-(1 << 30), 1 << 30, 1 << 16), inputs.integers(1, 1 << 12, 1 << 16)
    return lambda: a // b + a % 7 + b // 10


def counted(inputs):
    x = inputs.integers(0, 32, 1 << 12)
    return lambda: x.one_hot(32).cast("int32").sum(axis=0)


# Name: (inputs to a function that makes the tensor, tolerance relative to the largest value; 0: the same bits).
KERNELS = {
    "sum, all": (of(lambda x: x.sum(), 1 << 20), 1e-5),
    "sum, rows": (of(lambda x: x.sum(axis=1), 512, 1024), 1e-5),
    "sum, columns": (of(lambda x: x.sum(axis=0), 1024, 512), 1e-5),
    "sum, middle axis": (of(lambda x: x.sum(axis=1), 64, 128, 64), 1e-5),
    "sum, short rows": (of(lambda x: x.sum(axis=1), 1 << 15, 12), 1e-5),
    "softmax": (of(lambda x: x.softmax(), 256, 512), 1e-5),
    "layernorm": (normalized("layernorm"), 1e-5),
    "rmsnorm": (normalized("rmsnorm"), 1e-5),
    "gelu chain": (of(lambda x: ((x * 2.0 + 1.0).gelu() - 0.5).gelu_tanh(), 1 << 17), 1e-5),
    "gather": (gathered, 0),
    "scan": (of(lambda x: x.cumsum(1), 128, 256), 1e-5),
    "transpose": (of(lambda x: x.T.contiguous(), 512, 256), 0),
    "matmul float32": (product(256, "float32"), 1e-5),
    "matmul float16": (product(256, "float16"), 1e-2),
    "matmul bfloat16": (product(256, "bfloat16"), 5e-2),
    "matmul int8": (product(256, "int8", "int32"), 0),
    "matmul fp8": (product(128, "fp8e4m3", "float32"), 1e-5),
    "attention": (attention, 1e-5),
    "conv2d": (convolution, 1e-5),
    "philox": (philox, 0),
    "argmax": (of(lambda x: x.argmax(1), 256, 512), 0),
    "histogram": (counted, 0),
    "integer division": (divided, 0),
    "float64": (of(lambda x: (x * x + 1.0).sqrt() / (x.abs() + 2.0), 1 << 16, dtype="float64"), 1e-12),
}


def compiled(call, arch, target, repeat):
    """(kernels, [ms of each, the best of several compilations])."""
    kernels = strata.compile(call(), arch, target).kernels
    ms = [[k.compile_ms for k in strata.compile(call(), arch, target).kernels] for _ in range(repeat)]
    return kernels, [min(each) for each in zip(*ms)]


def subprocess_ms(kernels, arch):
    return [_strata._compile_on(k.source, k.name, arch, True, False)[0] for k in kernels]


def ran(call):
    """(values, what the launches took) of the tensor."""
    out = call()
    strata.reset_stats()
    out.realize()
    stats = strata.stats()
    values = (out.cast("float32") if out.dtype == strata.dtypes.bfloat16 else out).numpy()
    return values, {
        "modelled_ms": stats.time_ms,
        "wave_instructions": sum(launch.wave_instructions for launch in stats.launches),
    }


def one_target(call, arch, target, quick):
    """(values, launch shapes, figures) of a kernel through one target."""
    with strata.config(target=target):
        kernels, ms = compiled(call, arch, target, 1 if quick else 5 if target == "asm" else 2)
        values, figures = ran(call)
    figures |= {
        "kernels": len(kernels),
        "compile_ms": round(sum(ms), 3),
        "slowest_compile_ms": round(max(ms), 3),
        "vgprs": max(k.vgprs for k in kernels),
        "sgprs": max(k.sgprs for k in kernels),
        "scratch": max(k.scratch for k in kernels),
        "code_bytes": sum(symbols(k.code_object)[k.name][1] for k in kernels),
    }
    if target == "hip":
        figures["subprocess_ms"] = round(sum(subprocess_ms(kernels, arch)), 3)
    return values, [(k.schedule, list(k.grid), list(k.block)) for k in kernels], figures


RATIOS = {"modelled": "modelled_ms", "instructions": "wave_instructions", "code": "code_bytes", "vgprs": "vgprs"}


def distance(got, want):
    """Largest difference, relative to the largest value; infinite where one is NaN and the other is not."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if got.shape != want.shape or not np.array_equal(np.isnan(got), np.isnan(want)):
        return math.inf
    return float(np.nanmax(np.abs(got - want), initial=0.0) / max(np.nanmax(np.abs(want), initial=0.0), 1e-300))


def one_kernel(make, tolerance, arch, quick):
    # Each target has inputs of its own: what was computed from the others' is known, and would not run.
    (want, schedule, hip), (got, other, direct) = (
        one_target(make(Inputs()), arch, target, quick) for target in TARGETS
    )
    if schedule != other:
        raise strata.InternalError(f"the targets ran different schedules: {schedule} and {other}")
    if (apart := distance(got, want)) > tolerance:
        raise strata.InternalError(f"the targets' values are {apart:.3g} apart (allowed {tolerance:g})")
    ratios = {name: round(direct[field] / hip[field], 3) for name, field in RATIOS.items()}
    ratios["clang_to_direct"] = round(hip["compile_ms"] / direct["compile_ms"], 1)
    ratios["clang_subprocess_to_direct"] = round(hip["subprocess_ms"] / direct["compile_ms"], 1)
    return {"hip": hip, "asm": direct, "ratio": ratios}


def geometric_mean(values):
    return round(math.exp(statistics.fmean(map(math.log, values))), 3)


def overview(kernels):
    """Geometric mean and worst of each ratio over the kernels that have figures."""
    measured = {name: k["ratio"] for name, k in kernels.items() if "ratio" in k}
    out = {"measured": len(measured), "not_measured": len(kernels) - len(measured)}
    for name in next(iter(measured.values()), ()):
        worst = (min if name.startswith("clang") else max)(measured, key=lambda k: measured[k][name])
        out[name] = {
            "geometric_mean": geometric_mean([r[name] for r in measured.values()]),
            "worst": measured[worst][name],
            "worst_kernel": worst,
        }
    slowest = max(
        (k for k in kernels if "asm" in kernels[k]), key=lambda k: kernels[k]["asm"]["slowest_compile_ms"], default=None
    )
    if slowest:
        out["slowest_compile"] = {"kernel": slowest, "ms": kernels[slowest]["asm"]["slowest_compile_ms"]}
    return out


FIRST_RESULT = """\
import strata, time
start = time.perf_counter()
strata.Tensor.rand(1 << 18).sum().item()
print((time.perf_counter() - start) * 1e3)
"""


def first_result_ms(target, repeat):
    """The time of Tensor.rand(1 << 18).sum().item() in new processes with empty caches, after import."""
    times = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "STRATA_CACHE_DIR": folder, "STRATA_TARGET": target}
            run = subprocess.run(
                [sys.executable, "-P", "-c", FIRST_RESULT], env=environment, check=True, capture_output=True, text=True
            )
            times.append(float(run.stdout))
    return round(statistics.median(times), 2)


# Name: (shape of x, the expression whose schedule is searched).
SEARCHES = {
    "x * 2 + 1": ((2048, 4096), "x * 2 + 1"),
    "gelu": ((2048, 4096), "x.gelu()"),
    "transpose": ((4096, 4096), "x.T.contiguous()"),
    "softmax": ((2048, 4096), "x.softmax()"),
    "cumsum": ((2048, 4096), "x.cumsum(1)"),
    "matmul": ((512, 512), "x @ x"),
    "sum": ((1 << 24,), "x.sum()"),
}
SEARCH = """\
import os, strata
x = strata.Tensor.rand(*{shape}).realize()
before = os.times()
kernels = ({expression}).tune(beam=2).kernels
after = os.times()
cpu = after.user + after.system - before.user - before.system
print(sum(k.candidates for k in kernels), sum(k.seconds for k in kernels), cpu)
"""


def search_rate(shape, expression, target):
    """The rate of a search with a beam of 2 in a new process with empty caches: all that it does, launches in full too.
    Candidates are those that were compiled, run and compared. CPU time is of the whole Tensor.tune(), on all
    threads."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "STRATA_CACHE_DIR": folder, "STRATA_TARGET": target}
        code = SEARCH.format(shape=shape, expression=expression)
        run = subprocess.run(
            [sys.executable, "-P", "-c", code], env=environment, check=True, capture_output=True, text=True
        )
    candidates, seconds, cpu = map(float, run.stdout.split())
    return {
        "candidates": int(candidates),
        "seconds": round(seconds, 3),
        "candidates_per_s": round(candidates / seconds, 1),
        "cpu_ms_a_candidate": round(cpu / candidates * 1e3, 2),
    }


def searches(quick):
    """Candidates a second through both targets, the ratio of the two, and of the CPU time of one. Each is the best of a
    few searches, in turns."""
    out = {}
    for name, search in list(SEARCHES.items())[: 1 if quick else None]:
        tried = [{target: search_rate(*search, target) for target in TARGETS} for _ in range(1 if quick else 5)]
        rates = {
            target: max((rates[target] for rates in tried), key=lambda rate: rate["candidates_per_s"])
            for target in TARGETS
        }
        out[name] = rates | {
            "ratio": round(rates["asm"]["candidates_per_s"] / rates["hip"]["candidates_per_s"], 2),
            "cpu_ratio": round(rates["hip"]["cpu_ms_a_candidate"] / rates["asm"]["cpu_ms_a_candidate"], 2),
        }
    return out


def big_sum(quick):
    """Sum of 2^24 float32 on one thread of the emulator: the tensor's kernels by target, and the hand-written one of
    `strata bench emu`. Each is the best of rounds in turns, as the host's memory is not equally fast at all times. All
    have as many rounds."""
    import importlib.util

    turns = 15  # as sum_16m has, where it is quick

    data = np.random.default_rng(0).random(1 << 24, dtype=np.float32)
    ms = {}
    with strata.config(device="emu:gfx1100", emu_threads=1):
        x = strata.Tensor(data).realize()
        for _ in range(1 if quick else 6):
            for target in TARGETS:
                ms[target] = min(ms.get(target, np.inf), *(sum_ms(x, target) for _ in range(turns)))
            if importlib.util.find_spec("strata._strata_bench"):
                from .emulator import sum_16m

                ms["hand_assembly"] = min(ms.get("hand_assembly", np.inf), sum_16m(True, data)["ms"])
    out = {name: {"ms": round(best, 3), "gb_per_s": round(data.nbytes / best * 1e-6, 2)} for name, best in ms.items()}
    if "hand_assembly" in ms:
        for target in TARGETS:
            out[target]["share_of_hand_assembly"] = round(ms["hand_assembly"] / ms[target], 3)
    return out


def sum_ms(x, target):
    with strata.config(target=target):
        strata.reset_stats()
        x.sum().item()
    return strata.stats().wall_ms


def one_arch(arch, quick, names):
    kernels = {}
    with strata.config(device=f"emu:{arch}", no_cache=True):
        for name in names:
            try:
                kernels[name] = one_kernel(*KERNELS[name], arch, quick)
            except strata.Error as e:
                kernels[name] = {"error": f"{type(e).__name__}: {e}".split("\n")[0]}
    return {"kernels": kernels, "all": overview(kernels)}


def bench_lowering(quick, archs=(), names=tuple(KERNELS)):
    """Both targets over the kernels on each arch; one of each family if archs is empty."""
    return {
        "archs": {arch: one_arch(arch, quick, names) for arch in archs or ARCHS},
        "first_result_ms": {target: first_result_ms(target, 1 if quick else 5) for target in TARGETS},
        "searches": searches(quick),
        "sum_2^24_float32": big_sum(quick),
    }


def searches_line(name, hip, asm, ratio, cpu_ratio):
    return (
        f"search of {name:10s}: {hip['candidates']} candidates through clang, {hip['candidates_per_s']} a second; "
        f"{asm['candidates']} directly, "
        f"{asm['candidates_per_s']}: {ratio} times as many; {hip['cpu_ms_a_candidate']} and "
        f"{asm['cpu_ms_a_candidate']} ms of CPU time each: {cpu_ratio} times"
    )


def table(result):
    """The result of bench_lowering for people."""
    lines = []
    for arch, part in result["archs"].items():
        lines += [
            "",
            f"{arch:18s} {'clang ms':>9s} {'asm ms':>7s}  {'modelled us':>17s} {'ratio':>6s}  "
            f"{'wave instructions':>19s} {'ratio':>6s}  "
            f"{'vgprs':>9s} {'sgprs':>9s}  {'code bytes':>13s} {'ratio':>6s}",
        ]
        for name, k in part["kernels"].items():
            if "error" in k:
                lines.append(f"{name:18s} {k['error'][:150]}")
                continue
            hip, direct, ratio = k["hip"], k["asm"], k["ratio"]
            lines.append(
                f"{name:18s} {hip['compile_ms']:9.1f} {direct['compile_ms']:7.2f}  {hip['modelled_ms'] * 1e3:8.2f} "
                f"{direct['modelled_ms'] * 1e3:8.2f} "
                f"{ratio['modelled']:6.2f}  {hip['wave_instructions']:9d} {direct['wave_instructions']:9d} "
                f"{ratio['instructions']:6.2f}  "
                f"{hip['vgprs']:4d} {direct['vgprs']:4d} {hip['sgprs']:4d} {direct['sgprs']:4d}  "
                f"{hip['code_bytes']:6d} {direct['code_bytes']:6d} {ratio['code']:6.2f}"
            )
        lines += [
            f"  {name}: geometric mean {r['geometric_mean']}, worst {r['worst']} ({r['worst_kernel']})"
            for name, r in part["all"].items()
            if isinstance(r, dict) and "worst" in r
        ]
        if "slowest_compile" in part["all"]:
            lines.append("  slowest compilation: {ms} ms ({kernel})".format(**part["all"]["slowest_compile"]))
    if "first_result_ms" in result:
        lines += [
            "",
            "first result after import: " + ", ".join(f"{t} {ms} ms" for t, ms in result["first_result_ms"].items()),
        ]
        lines += [searches_line(name, **rates) for name, rates in result["searches"].items()]
        lines.append(
            "  geometric mean: {} times as many".format(
                geometric_mean([rates["ratio"] for rates in result["searches"].values()])
            )
        )
        lines += ["sum of 2^24: " + ", ".join(f"{t} {s['ms']} ms" for t, s in result["sum_2^24_float32"].items())]
    return "\n".join(lines[1:])
