"""strata bench search: the beam search beside simulated annealing, which may try as many schedules and four times as
many.

Annealing starts from the schedule that is chosen without a search, as the beam does. A step changes one action: its
amount, another one more, one less, two that change places. Schedules are timed as records of a file are used. Modelled
times are the same on every machine.
"""

import contextlib
import math
import random
import re
import tempfile
import time

ACTION = re.compile(r"(\w+)\((\d+), (\d+)\)")
AMOUNTS = (0, 2, 3, 4, 8, 16, 32)
HOT, COLD = 0.3, 0.02  # a step that is so much slower is taken one time in e, at the start and at the end
TIMES = 4


def programs():
    """name: (shapes, tensors to tensor)"""
    return {
        "matmul 256": ([(256, 256)] * 2, lambda a, b: a @ b),
        "matmul 512": ([(512, 512)] * 2, lambda a, b: a @ b),
        "transpose of 1024": ([(1024, 1024)], lambda x: x.T.contiguous()),
        "column sums of 2048": ([(2048, 2048)], lambda x: x.sum(0)),
    }


QUICK = ("matmul 256",)


@contextlib.contextmanager
def nothing_known():
    import strata

    with (
        tempfile.TemporaryDirectory() as folder,
        strata.config(cache_dir=folder, emu_sampled=True, target="asm", fusion="more"),
    ):
        yield


class Trials:
    """Modelled milliseconds of schedules of one kernel."""

    def __init__(self, shapes, call):
        self.shapes, self.call = shapes, call
        self.start = self.tuned(candidates=1)[0].schedule
        start = time.perf_counter()
        self.beam, self.record = self.tuned(beam=2)
        self.seconds = time.perf_counter() - start

    def value(self):
        """The value of new operands: a value computed of the same ones would not be computed again."""
        import strata

        return self.call(*[strata.Tensor.empty(*shape).realize() for shape in self.shapes])

    def tuned(self, **limits):
        with nothing_known():
            report = self.value().tune(**limits)
            return report.kernels[-1], report._records()[-1]

    def ms(self, schedule):
        """None: it is none of this kernel's."""
        import strata
        from strata import _strata

        with nothing_known():
            if _strata._import_record({**self.record, "schedule": schedule, "beam": 1000, "stopped": ""}):
                return None
            y = self.value()
            strata.reset_stats()
            kernel = y.tune(beam=1, candidates=1).kernels[-1]
            return strata.stats().launches[-1].time_ms if kernel.known else None


def changed(actions, names, chance):
    """One action more, less, of another amount or at another place."""
    out, way = list(actions), chance.randrange(4)
    at = chance.randrange(len(out)) if out else 0
    if way == 0 or not out:
        out.insert(chance.randrange(len(out) + 1), (chance.choice(names), chance.randrange(3), chance.choice(AMOUNTS)))
    elif way == 1:
        del out[at]
    elif way == 2:
        name, axis, amount = out[at]
        out[at] = (name, axis, amount * 2 if chance.random() < 0.5 else amount // 2)
    else:
        to = chance.randrange(len(out))
        out[at], out[to] = out[to], out[at]
    return out


def text(actions):
    return " ".join(f"{name}({axis}, {amount})" for name, axis, amount in actions)


def annealed(trials, start, tries):
    """Best milliseconds after each try that was a schedule of the kernel."""
    chance = random.Random(0)
    names = sorted(
        {name for name, _, _ in ACTION.findall(start)} | {"upcast", "local", "unroll", "group", "stage", "swap"}
    )
    now = [(name, int(axis), int(amount)) for name, axis, amount in ACTION.findall(start)]
    now_ms = trials.ms(text(now))
    best, seen = [now_ms], {text(now)}
    for _ in range(60 * tries):
        if len(best) >= tries:
            break
        next_one = changed(now, names, chance)
        schedule = text(next_one)
        if schedule in seen:
            continue
        seen.add(schedule)
        ms = trials.ms(schedule)
        if ms is None:
            continue
        warmth = HOT * (COLD / HOT) ** (len(best) / tries)
        if ms <= now_ms or chance.random() < math.exp((now_ms - ms) / now_ms / warmth):
            now, now_ms = next_one, ms
        best.append(min(best[-1], ms))
    return best


def compared(shapes, call, times):
    trials = Trials(shapes, call)
    tries = trials.beam.candidates
    best = annealed(trials, trials.start, times * tries)
    return {
        "start_ms": round(trials.beam.heuristic_ms, 5),
        "beam_ms": round(trials.beam.best_ms, 5),
        "beam_candidates": tries,
        "beam_seconds": round(trials.seconds, 2),
        "annealed_ms": round(best[min(tries, len(best)) - 1], 5),
        **({f"annealed_{times}_times_ms": round(best[-1], 5)} if times > 1 else {}),
    }


def bench_search(quick):
    return {
        name: compared(*program, times=1 if quick else TIMES)
        for name, program in programs().items()
        if not quick or name in QUICK
    }


def document(result):
    """The table of docs/benchmarks.md."""
    more = f"annealed_{TIMES}_times_ms"
    rows = [
        [name, *(f"{row[key]:.4f}" if key in row else "" for key in ("beam_ms", "annealed_ms", more))]
        for name, row in result.items()
    ]
    columns = ["kernel", "beam", "annealing", f"annealing, {TIMES} times the candidates"]
    sides = ["left", "right", "right", "right"]
    return {"machine": "a 7900 XTX, modelled; milliseconds", "columns": columns, "align": sides, "rows": rows}


def table(result):
    """The result of bench_search for people."""
    lines = [
        f"{'':22s}{'start ms':>10s}{'beam=2 ms':>11s}{'tried':>7s}{'annealed ms':>13s}{f'{TIMES} times as many':>17s}"
    ]
    for name, row in result.items():
        more = row.get(f"annealed_{TIMES}_times_ms")
        lines.append(
            f"{name:22s}{row['start_ms']:10.4f}{row['beam_ms']:11.4f}{row['beam_candidates']:7d}{row['annealed_ms']:13.4f}"
            + (f"{more:17.4f}" if more else "")
        )
    return "\n".join(lines)
