"""strata bench programs: composed programs beside the limit of a card, by the timing model, or on a card beside torch.

The limit is the longer of two times. One is that of the bytes that must move, each operand read once and each result
written once, at the bandwidth of DRAM. The other is that of the operations, at the peak of the operands' type. Modelled
times are of a few workgroups of each launch, and the same on every machine."""

import gc
import math
import statistics
import sys
import time

from .float64 import Float64, Real
from .program_libraries import Strata, Torch
from .program_models import MODELS
from .program_rows import ATTENTION, CONVOLUTIONS, PRODUCTS, ROWS

PROGRAMS = [*PRODUCTS, *ATTENTION, *CONVOLUTIONS, *ROWS, *MODELS]
ARCHS = ("gfx1100", "gfx942")
LOW = 0.25
KINDS = ("float32", "int64", "int32", "int8", "uint8", "fp8e4m3")  # words for the types of operands
TOLERANCES = {"float32": 1e-5, "float16": 3e-3, "bfloat16": 2e-2}  # of the norm of a result


def rows(only=(), card=False, programs=PROGRAMS):
    """(name of the row, program, type, sizes) of all, or of those whose names contain one of the texts in any case.
    card: the large sizes too."""
    for program in programs:
        for dtype, sizes in [*program.at, *(program.large if card else ())]:
            name = f"{program.name}, {dtype} {'x'.join(map(str, sizes.values()))}"
            if not only or any(text.lower() in name.lower() for text in only):
                yield name, program, dtype, sizes


def parsed(program, dtype, sizes):
    """[(shape, type, bound of integers or 0, not negative)] of the operands. With a bound -n all are n."""
    text = program.operands if isinstance(program.operands, str) else program.operands(**sizes)
    out = []
    for operand in text.split(","):
        kind, shape, below, positive = dtype, [], 0, False
        for word in operand.split():
            if word in KINDS:
                kind = word
            elif word == "+":
                positive = True
            elif word.startswith("<"):
                below = sizes[word[1:]]
            elif word.startswith("="):
                below = -sizes[word[1:]]
            else:
                shape.append(math.prod(sizes[f] if f in sizes else int(f) for f in word.split("*")))
        out.append((tuple(shape), kind, below, positive))
    return out


def arrays(operands):
    """Values for operands, the same each time."""
    import numpy as np

    rng = np.random.default_rng(1)
    for shape, kind, below, positive in operands:
        if below:
            yield rng.integers(0, below, shape) if below > 0 else np.full(shape, -below)
        elif kind in ("int8", "uint8"):
            yield rng.integers(-127 if kind == "int8" else 0, 128, shape).astype(kind)
        else:
            values = rng.standard_normal(shape, dtype=np.float32) * 0.25
            yield abs(values) if positive else values + (len(shape) == 1)


def tensors(strata, operands, empty):
    """Operands in memory; empty: those of floats without values."""
    for shape, kind, below, positive in operands:
        if empty and not below:
            yield strata.Tensor.empty(*shape, dtype=kind).realize()
        else:
            (array,) = arrays([(shape, kind, below, positive)])
            yield strata.Tensor(array).cast(kind).realize()


def listed(results):
    return list(results) if isinstance(results, (list, tuple)) else [results]


# Values.


def values_of(strata, program, dtype):
    """(results, those of float64) of the small sizes, as arrays of float64."""
    import numpy as np

    operands = parsed(program, dtype, program.small)
    mine = [strata.Tensor(a).cast(kind).realize() for a, (_, kind, *_) in zip(arrays(operands), operands, strict=True)]
    wide = [t.cast("int64" if below else "float64").numpy() for t, (*_, below, _) in zip(mine, operands, strict=True)]
    want = [x.value for x in listed(program.call(Float64(), *map(Real, wide)))]
    results = listed(program.call(Strata(), *mine))
    strata.realize(results)
    return [r.cast("float32").numpy().astype(np.float64) for r in results], want


def wrong(strata, program, dtype):
    """The largest distance of a result from float64, in its norm, over what the type allows."""
    import numpy as np

    got, want = values_of(strata, program, dtype)
    if [g.shape for g in got] != [w.shape for w in want]:
        return math.inf
    distances = [np.linalg.norm(g - w) / max(np.linalg.norm(w), 1e-30) for g, w in zip(got, want, strict=True)]
    return max(float(d) if math.isfinite(d) else math.inf for d in distances) / TOLERANCES[dtype]


# Modelled times.


def queued_ms(launches, card):
    """Milliseconds that launches take less because all but the first find the queue busy: each is modelled by itself,
    from an empty one."""
    return max(len(launches) - 1, 0) * (card["launch_us"] - card["next_launch_us"]) * 1e-3


def limited_by(launches, wants_matrix, ms, card):
    """The program's bound: launches, or what most of the time of its kernels is bound by. wants_matrix: whether
    its products should be by matrix instructions."""
    started = sum(one["bound_cycles"]["launch"] / one["mhz"] * 1e-3 for one in launches) - queued_ms(launches, card)
    if started > ms / 2:
        return f"launches {started / ms:.0%}"
    by = {}
    for one in launches:
        by[one["bound"]] = by.get(one["bound"], 0) + one["time_ms"]
    bound = max(by, key=by.get)
    vector = sum(one["time_ms"] for one in launches if not by_matrix(one))
    without = f"no matrix instructions {vector / ms:.0%}, " if wants_matrix and vector > ms / 2 else ""
    return f"{without}{bound} {by[bound] / ms:.0%}"


def by_matrix(launch):
    return any(word in place["instruction"] for place in launch["instructions"] for word in ("_wmma_", "_mfma_"))


def peak_of(card, dtype):
    """Operations a second on operands of a type; for what it lacks those of bfloat16 or float32."""
    peaks = card["peak_ops_per_s"]
    return peaks.get(dtype, peaks["bfloat16" if dtype.startswith("fp8") else "float32"])


def bytes_of(strata, elements, dtype):
    return elements * getattr(strata.dtypes, dtype).itemsize


def modelled(strata, card, program, dtype, sizes):
    """The figures of a row."""
    gc.collect()
    others = strata.Tensor.full((1 << 19,), 1.0).contiguous().realize()  # what rows before left is given back now
    operands, o, before = parsed(program, dtype, sizes), Strata(), strata.stats().live_bytes
    given = list(tensors(strata, operands, not program.whole))
    held = sum(t.nbytes for t in given)
    with strata.config(emu_sampled=not program.whole):
        strata.reset_stats()
        with strata.profile() as profile:
            results = listed(program.call(o, *given))
            strata.realize(results)
        peak = strata.stats().peak_bytes - before
    del others
    launches = profile.launches
    own = sum(t.nbytes for t in results if not any(t is other for other in given))
    least = held + own + o.written - bytes_of(strata, program.unread(**sizes), dtype)
    operations_ms = program.operations(**sizes) / peak_of(card, getattr(program, "peak", "") or dtype) * 1e3
    limit = max(least / card["dram_gb_per_s"] * 1e-6, operations_ms)
    ms = sum(one["time_ms"] for one in launches) - queued_ms(launches, card)
    wants_matrix = program.operations(**sizes) and peak_of(card, dtype) > peak_of(card, "float32")
    return {
        "ms": round(ms, 5),
        "limit_ms": round(limit, 5),
        "share": round(limit / ms, 4),
        "kernels": len(launches),
        "bytes_over_least": round(sum(one["dram_bytes"] for one in launches) / least, 2),
        "peak_over_least": round(peak / (held + own + bytes_of(strata, program.kept(**sizes), dtype)), 2),
        "limited_by": limited_by(launches, wants_matrix, ms, card),
    }


def geometric_mean(numbers):
    return math.exp(statistics.fmean(map(math.log, numbers))) if numbers else 0.0


def figures(strata, arch, chosen, show, figures_of=modelled):
    """{name: what figures_of gives of a row, or why it has none}."""
    out = {}
    card = strata._strata._card(arch)
    with strata.config(device=f"emu:{arch}", target="asm", garbage_mb=1, emu_pool_mb=0):
        for i, (name, *row) in enumerate(chosen):
            show(f"{arch} {name}", i)
            try:
                out[name] = figures_of(strata, card, *row)
            except strata.Error as error:
                out[name] = {"failed": f"{type(error).__name__}: {error}"[:300]}
    return out


def of_arch(strata, arch, chosen, show):
    start = time.perf_counter()
    card = strata._strata._card(arch)
    out = figures(strata, arch, chosen, show)
    shares = [row["share"] for row in out.values() if "share" in row]
    return {
        "card": card["name"],
        "seconds": round(time.perf_counter() - start, 1),
        "geometric_mean": round(geometric_mean(shares), 4),
        f"below_{LOW}": sum(share < LOW for share in shares),
        "rows": out,
    }


# On a card.


def synchronized_ms(strata, make, repeat):
    """Device times of calls that compute again."""
    times = []
    for _ in range(repeat + 2):
        strata.reset_stats()
        strata.realize(listed(make()))
        times.append(strata.stats().time_ms)
    return statistics.median(times[2:])


def captured_ms(strata, program, given, repeat):
    """The wall time of a call of the captured program, with a wait at its end; nothing for what no capture takes."""
    call, times = strata.jit(lambda *operands: program.call(Strata(), *operands)), []
    try:
        for _ in range(repeat + 3):
            strata.synchronize()
            start = time.perf_counter()
            call(*given)
            strata.synchronize()
            times.append((time.perf_counter() - start) * 1e3)
    except strata.Error:
        return {}
    return {"captured_ms": round(statistics.median(times[3:]), 4)}


def torch_ms(torch, call, given, repeat):
    from .gpu import theirs_ms, torch_events

    return statistics.median(theirs_ms(torch_events(torch), lambda: call(*given), repeat + 2)[2:])


def on_card(strata, torch, program, dtype, sizes, repeat):
    """Times of a row, beside torch's; peak memory of one call."""
    operands = parsed(program, dtype, sizes)
    given, o = list(tensors(strata, operands, False)), Strata()
    out = {"ms": round(synchronized_ms(strata, lambda: program.call(o, *given), repeat), 4)}
    out["peak_mib"] = round(strata.stats().peak_bytes / 2**20, 1)
    out |= captured_ms(strata, program, given, repeat)
    if torch is None:
        return out
    theirs = [
        torch.from_numpy(a).cuda().to(getattr(torch, kind)) for a, (_, kind, *_) in zip(arrays(operands), operands)
    ]
    if "gradient" in program.name or "training" in program.name:
        theirs = [t.requires_grad_() if t.is_floating_point() else t for t in theirs]
    p = Torch()
    for name, make in (("torch", lambda f: f), ("torch.compile", torch.compile)):
        try:
            call = make(lambda *operands: program.call(p, *operands))
            torch.cuda.reset_peak_memory_stats()
            out[f"{name}_ms"] = round(torch_ms(torch, call, theirs, repeat), 4)
            out[f"{name}_peak_mib"] = round(torch.cuda.max_memory_allocated() / 2**20, 1)
        except Exception as error:  # torch's own compiler may lack a tool here, or not take a program
            out[name] = f"failed: {type(error).__name__}"
    best = min((out[key] for key in ("torch_ms", "torch.compile_ms") if key in out), default=None)
    return out | ({"times_torch": round(out["ms"] / best, 2)} if best else {})


def bench_card(strata, chosen, repeat, show):
    import importlib.util

    if strata.device_properties()["time_is_modelled"]:
        raise strata.Unsupported(
            "'strata bench programs --card' measures a card, and the device here is an emulated one: STRATA_DEVICE=hip"
        )
    torch = None
    if importlib.util.find_spec("torch"):
        import torch
    out = {"card": strata.device_properties()["name"], "torch": torch and torch.__version__, "rows": {}}
    for i, (name, *row) in enumerate(chosen):
        show(name, i)
        try:
            out["rows"][name] = on_card(strata, torch, *row, repeat)
        except strata.Error as error:
            out["rows"][name] = {"failed": f"{type(error).__name__}: {error}"[:300]}
        if torch:
            torch.cuda.empty_cache()
    times = [row["times_torch"] for row in out["rows"].values() if "times_torch" in row]
    return out | {"times_torch_geometric_mean": round(geometric_mean(times), 3)}


def bar(count):
    """A function of (name, number) that shows both, and the time left, on a terminal."""
    start, calls = time.perf_counter(), []

    def show(name, _):
        calls.append(name)
        if sys.stderr.isatty():
            done = len(calls) - 1
            left = (time.perf_counter() - start) / max(done, 1) * (count - done)
            filled = 24 * done // max(count, 1)
            text = f"programs [{'#' * filled}{'.' * (24 - filled)}] {done}/{count}, {left:.0f} s left; {name}"
            print(f"\r{text[:110]}\033[K", end="", file=sys.stderr, flush=True)

    return show


def bench_programs(quick, archs=(), card=False, only=()):
    """quick: the first size of each program. archs: gfx1100 and gfx942 if empty. only: texts that names contain."""
    import strata

    chosen = list(rows(only, card))
    if not chosen:
        known = ", ".join(program.name for program in PROGRAMS)
        raise strata.UsageError(f"no program's name contains {' or '.join(map(repr, only))}; known: {known}")
    if quick:
        chosen = list({program.name: row for row in reversed(chosen) for program in [row[1]]}.values())[::-1]
    if card:
        return bench_card(strata, chosen, 5 if quick else 20, bar(len(chosen)))
    archs = archs or ARCHS
    show = bar(len(chosen) * len(archs))
    return {arch: of_arch(strata, arch, chosen, show) for arch in archs}


def table(result):
    """The result of bench_programs for people, in Markdown: in a cell what each arch has, in their order."""
    every = [result] if "rows" in result else list(result.values())
    named = every[0]["rows"]
    keys = list(dict.fromkeys(key for of in every for row in of["rows"].values() for key in row if key != "failed"))
    first = "; ".join(of["card"] for of in every)
    lines = [[f"program ({first})", *keys], ["---", *["--:"] * len(keys)]]
    for name in named:
        rows = [of["rows"][name] for of in every]
        failed = next((row["failed"] for row in rows if "failed" in row), "-")
        lines.append([name, *("; ".join(str(row.get(key, failed)) for row in rows) for key in keys)])
    for key, value in every[0].items():
        if isinstance(value, (int, float)):
            values = "; ".join(str(of[key]) for of in every)
            lines.append([key.replace("_", " "), values, *[""] * (len(keys) - 1)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    cells = [[cell.ljust(w) for cell, w in zip(line, widths)] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def document(result):
    """The table of docs/benchmarks.md."""
    from .pages import of_cards

    return of_cards(table(result))
