"""strata bench compile, as a whole: the aims of the compiler, row by row, with the figures of this run. Beside it
stands tinygrad's figure where that is installed and does the same. Times of kernels are modelled; seconds of searches
are this machine's."""

import json
import os
import subprocess
import sys
import tempfile

SEARCHED = ("x * 2 + 1", "gelu", "transpose", "softmax", "cumsum", "matmul 512 float32", "sum of 1 GiB")
COLD_SECONDS, KNOWN_SECONDS = 2, 1  # of each, with nothing known; where a process before has searched

SEARCHES = """\
import json, time, strata, numpy as np
from strata_tools.bench.kernels import programs
known, out, chance = programs(), {{}}, np.random.default_rng(0)
for name in {names!r}:
    shapes, dtype, call = known[name][:3] if name in known else ([(1 << 28,)], "float32", lambda x: x.sum())
    def of(s):
        return strata.Tensor(chance.random(s, dtype=np.float32)) if name in known else strata.Tensor.empty(*s)

    x = [of(s).realize() for s in shapes]
    with strata.config(beam=2):
        start = time.perf_counter()
        call(*x).realize()
        out[name] = round(time.perf_counter() - start, 3)
print(json.dumps(out))
"""


def bench_searches(quick):
    """Seconds of beam=2 in a process with an empty cache, then in another with what that left."""
    names = ["softmax"] if quick else list(SEARCHED)
    with tempfile.TemporaryDirectory() as folder:
        code, env = SEARCHES.format(names=names), {**os.environ, "STRATA_CACHE_DIR": folder}
        cold, known = [
            json.loads(
                subprocess.run(
                    [sys.executable, "-P", "-c", code], env=env, check=True, capture_output=True, text=True
                ).stdout
            )
            for _ in range(2)
        ]
    return {name: {"cold_s": cold[name], "known_s": known[name]} for name in names}


def at_most(what, value, aim, unit, peer=None):
    return {
        "what": what,
        "value": value,
        "unit": unit,
        "aim": f"at most {aim}",
        "met": value <= aim,
        "off_percent": round(100 * (value / aim - 1), 1) if aim else None,
        "tinygrad": peer,
    }


def at_least(what, value, aim, unit, peer=None):
    return {
        "what": what,
        "value": value,
        "unit": unit,
        "aim": f"at least {aim}",
        "met": value >= aim,
        "off_percent": round(100 * (value / aim - 1), 1),
        "tinygrad": peer,
    }


def aims(result):
    """Rows of what bench_compile measured: {what, value, unit, aim, met, off_percent, tinygrad}; of quick runs those
    that were.
    """
    mine, small, kernels = result["transformer"], result["small"], result["kernels"]
    peer = result.get("tinygrad", {})
    theirs, their_small = peer.get("transformer", {}), peer.get("small", {})
    rows = [
        at_most("transformer of 12 layers, seen before", mine["again_ms"], 3, "ms", theirs.get("again_ms")),
        at_most("the same from disk, in a new process", mine["in_a_new_process_ms"], 20, "ms"),
        at_most("the same cold, to text", mine["to_text_ms"], 60, "ms", theirs.get("to_text_ms")),
        at_most("its kernels", mine["kernels"], 90, "", theirs.get("kernels")),
    ]
    for name, least in {
        "softmax": 900,
        "layernorm": 900,
        "rmsnorm": 900,
        "var": 900,
        "argmax": 900,
        "cumsum": 850,
        "transpose": 850,
    }.items():
        if name in kernels:
            rows += [
                at_most(f"{name}, kernels", kernels[name]["kernels"], 1, ""),
                at_least(name, kernels[name]["gb_per_s"], least, "GB/s"),
            ]
    if "attention" in kernels:
        rows.append(at_most("causal attention 4 x 8 x 128 x 64, kernels", kernels["attention"]["kernels"], 1, ""))
    for name, least, searched in (("matmul 1024 float32", 35, 45), ("matmul 1024 float16", 60, 85)):
        if name in kernels:
            rows.append(at_least(name, kernels[name]["tflop_per_s"], least, "TFLOP/s"))
        if "searched" in kernels.get(name, {}):
            rows += [
                at_least(f"{name}, beam=2", kernels[name]["searched"]["tflop_per_s"], searched, "TFLOP/s"),
                at_most(f"{name}, its search", kernels[name]["searched"]["seconds"], 5, "s"),
            ]
    for name, seconds in result["searches"].items():
        rows += [
            at_most(f"beam=2, nothing known: {name}", seconds["cold_s"], COLD_SECONDS, "s"),
            at_most(f"beam=2, known: {name}", seconds["known_s"], KNOWN_SECONDS, "s"),
        ]
    rows.append(
        at_most(
            "(x + k).sum(), the third new number k: compilations", small["compilations_from_the_third_number"], 0, ""
        )
    )
    rows.append(
        {
            "what": "the same, each",
            "value": small["sum_with_a_new_number_us"],
            "unit": "us",
            "aim": "",
            "met": None,
            "off_percent": None,
            "tinygrad": their_small.get("sum_with_a_new_number_us"),
        }
    )
    return rows


def table(rows):
    """aims() for people."""
    lines = [f"{'':58s}{'strata':>12s}  {'':8s}{'aim':>14s}  {'':12s}{'tinygrad':>12s}"]
    for row in rows:
        met = (
            ""
            if row["met"] is None
            else "met"
            if row["met"]
            else "missed"
            if row["off_percent"] is None
            else f"off {row['off_percent']:+.1f}%"
        )
        peer = "" if row["tinygrad"] is None else f"{row['tinygrad']:12.1f}"
        lines.append(
            f"{row['what']:58s}{row['value']:12.2f}  {row['unit']:8s}{row['aim']:>14s}  {met:12s}{peer}".rstrip()
        )
    return "\n".join(lines)
