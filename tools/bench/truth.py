"""strata bench model --truth FOLDER: programs of HIP whose times on a real card are published, run as they are on the
emulated card.

FOLDER is a checkout of github.com/sarchlab/mgpusim (MIT); scripts/model_truth clones it at a fixed commit. Its
gpu_perf_scripts has the programs, their sizes (run_all.sh) and the milliseconds of an MI300A (mi300a.csv). Nothing of
it is part of Strata.

Errors are weighted as that repository's compare_sim_vs_real.py weights them. The error is the sum of |modelled -
measured| over the sum of measured, of runs that took 0.01 ms or longer. Ranks are Spearman's."""

import csv
import itertools
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CARD, ARCH = "mi300a", "gfx942"
SHORT_MS = 0.01  # runs that take less are mostly launch, and have no weight
MOST_MS = 0.5  # of a run on the card: longer ones take the emulator's host too long, or too much of its memory
HOST = {"memcopy_h2d", "memcopy_d2h"}  # copies over the host's link, of which the model of kernels knows nothing
WHOLE = {"bfs"}  # what it launches depends on what the kernels computed: no sample of their workgroups will do
VARIABLE = re.compile(r"\$\{(\w+)\}")


def sizes(script):
    """(program, arguments) of each run of run_all.sh, in its order."""
    loops, text = [], re.sub(r"\\\n", " ", script.read_text())
    for line in map(str.strip, text.splitlines()):
        words = shlex.split(line, comments=True) if line.startswith(("for ", "run_bench ")) else []
        if words[:1] == ["for"]:
            loops.append((words[1], [word.rstrip(";") for word in words[3:] if word != "do"]))
        elif line == "done" and loops:
            loops.pop()
        elif words and "()" not in words[1]:
            for arguments, values in itertools.product(words[2:], itertools.product(*(values for _, values in loops))):
                known = dict(zip((name for name, _ in loops), values))
                yield words[1], VARIABLE.sub(lambda found: known.get(found[1], found[0]), arguments).split()


def measured(file):
    """{(benchmark, size): [milliseconds of each run of that name, in order]}"""
    found = {}
    for row in csv.DictReader(file.read_text().splitlines()):
        found.setdefault((row["kernel_name"], row["problem_size"]), []).append(float(row["avg_ms"]))
    return found


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    out = [0.0] * len(values)
    for _, same in itertools.groupby(enumerate(order), key=lambda pair: values[pair[1]]):
        same = list(same)
        for _, at in same:
            out[at] = (same[0][0] + same[-1][0]) / 2
    return out


def spearman(a, b):
    """Rank correlation; None where one side is constant."""
    a, b = ranks(a), ranks(b)
    means = sum(a) / len(a), sum(b) / len(b)
    both = sum((x - means[0]) * (y - means[1]) for x, y in zip(a, b))
    each = [sum((x - mean) ** 2 for x in side) for side, mean in zip((a, b), means)]
    return both / math.sqrt(each[0] * each[1]) if min(each) > 0 else None


def summary(runs):
    """Statistics of (measured, modelled) pairs."""
    long = [pair for pair in runs if pair[0] >= SHORT_MS] or runs
    rank = spearman(*zip(*runs)) if len(runs) > 1 else None
    return {
        "runs": len(runs),
        "weighted_error_percent": round(100 * sum(abs(b - a) for a, b in long) / sum(a for a, _ in long), 1),
        "modelled_of_measured": round(math.exp(sum(math.log(b / a) for a, b in runs) / len(runs)), 3),
        "rank_correlation": None if rank is None else round(rank, 3),
    }


class Programs:
    """Builds and runs the programs of a checkout."""

    def __init__(self, folder, work):
        import strata
        from strata.cli.hip_run import library

        self.source, self.work = Path(folder).resolve() / "gpu_perf_scripts", Path(work)
        if not (self.source / f"{CARD}.csv").exists():
            raise strata.UsageError(
                f"--truth {folder}: no gpu_perf_scripts/{CARD}.csv there; scripts/model_truth makes such a checkout"
            )
        self.library = library()
        sys.path.insert(0, str(self.library.parents[3] / "scripts"))
        from hip_toolchain import Toolchain

        self.clang = Toolchain(self.work, f"emu:{ARCH}").clang

    def build(self, name):
        """The program, with the options of the repository's build_all.sh."""
        import strata

        failed = self.clang(
            self.source, "-O2", f"{name}.cpp", "-o", str(self.work / name), f"-L{self.library}", "-lamdhip64"
        )
        if failed:
            raise strata.CompileError(f"--truth: {name}.cpp: {failed}")

    def run(self, name, arguments):
        """[(benchmark, size, milliseconds)] of one run, or none if the emulated card cannot run it."""
        env = os.environ | {
            "LD_LIBRARY_PATH": str(self.library),
            "STRATA_DEVICE": f"emu:{ARCH}",
            "STRATA_EMU_MODEL": CARD,
            "STRATA_EMU_SAMPLED": "0" if name in WHOLE else "1",
            "STRATA_EMU_TIMED": "1",
        }
        done = subprocess.run(
            [self.work / name, "--iterations", "2", *arguments], cwd=self.work, env=env, capture_output=True, text=True
        )
        if done.returncode:
            return []
        rows = csv.DictReader(done.stdout.splitlines())
        return [
            (row["kernel_name"], row["problem_size"], float(row["avg_ms"]))
            for row in rows
            if row["kernel_name"] != "kernel_name"
        ]


def bench_truth(folder, most_ms=MOST_MS, only=()):
    """The runs by benchmark with their error and rank correlation, and of all together."""
    with tempfile.TemporaryDirectory() as work:
        programs = Programs(folder, work)
        known, wanted = measured(programs.source / f"{CARD}.csv"), {}
        for name, arguments in sizes(programs.source / "run_all.sh"):
            if not only or name in only:
                wanted.setdefault(name, []).append(arguments)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(programs.build, wanted))
        found = {}
        for name, runs in wanted.items():
            for arguments in runs:
                rows = programs.run(name, arguments)
                times = [(row, known[row[:2]].pop(0)) for row in rows if row[0] not in HOST and known.get(row[:2])]
                for (benchmark, size, modelled), on_card in times:
                    if on_card <= most_ms:
                        found.setdefault(benchmark, []).append(
                            {
                                "size": size,
                                "arguments": " ".join(arguments),
                                "measured_ms": on_card,
                                "modelled_ms": modelled,
                            }
                        )
                if not rows or (times and min(on_card for _, on_card in times) > most_ms):
                    break
    pairs = {name: [(run["measured_ms"], run["modelled_ms"]) for run in runs] for name, runs in found.items()}
    return {
        "card": CARD,
        "benchmarks": {name: summary(pairs[name]) | {"sizes": found[name]} for name in found},
        "all": summary([pair for runs in pairs.values() for pair in runs]),
    }


def table(result):
    lines = [
        "| benchmark | runs | weighted error | modelled / measured | rank correlation |",
        "|---|---:|---:|---:|---:|",
    ]
    rows = sorted(result["benchmarks"].items(), key=lambda row: row[1]["weighted_error_percent"])
    for name, row in [*rows, (f"all, {result['card']}", result["all"])]:
        rank = row["rank_correlation"]
        lines.append(
            f"| {name} | {row['runs']} | {row['weighted_error_percent']:.1f} % | {row['modelled_of_measured']:.2f} | "
            f"{'' if rank is None else f'{rank:.3f}'} |"
        )
    return "\n".join(lines)
