"""The ways to compute a program, and what is wrong with what they give."""

import functools
import os
import threading
import traceback
from dataclasses import dataclass, replace

import bounded
import formats
import numpy as np
import strata
from program_text import NUMBERS
from tested import EMULATED, QUICK_TARGET


@dataclass(frozen=True)
class Way:
    """settings: of strata.config; SEED stands for the program's. often: how likely beside the usual one, in
    proportion. flushes: the chip's products take denormals of float16 for zeros.
    """

    name: str
    often: float
    settings: dict
    call: str = "plain"
    flushes: bool = False


SEED = object()
WAYS = [
    Way("usual", 0, {}),
    Way("less", 1, {"fusion": "less"}),
    Way("more", 2, {"fusion": "more"}),
    Way("none", 1, {"schedule": "none"}),
    Way("random", 3, {"schedule": "random", "schedule_seed": SEED}),
    Way("eager", 1, {}, "eager"),
    Way("jit", 2, {}, "jit"),
    Way("symbolic", 1, {}, "symbolic"),
    Way("threads", 1, {}, "threads"),
]
EMULATED_WAYS = [
    Way("hip", 0.15, {"target": "hip", "no_cache": False}),
    Way("gfx942", 1, {"device": "emu:gfx942"}),
    Way("gfx90a", 0.5, {"device": "emu:gfx90a"}, flushes=True),
    Way("gfx1201", 1, {"device": "emu:gfx1201"}),
    Way("order", 0.5, {"emu_seed": SEED}),
    Way("strict", 0.3, {"check": "raise", "check_races": True}),
]
WAYS += EMULATED_WAYS if EMULATED else []
BY_NAME = {way.name: way for way in WAYS}
BASE = {"target": QUICK_TARGET}
# Settings that cost time and decide no value: times of launches, files of kernels. One program in WHOLE has all.
LEAN, WHOLE = {"emu_timed": False, "no_cache": True}, 8
TAKEN = 3  # ways beside the usual one


def settings_of(way, program):
    lean = LEAN if EMULATED and program.seed % WHOLE else {}
    own = {name: program.seed % 2**32 if value is SEED else value for name, value in way.settings.items()}
    return {**BASE, **lean, **own}


def tensors(program, arrays):
    return [
        formats.tensor("boolean" if x.dtype == "bool" else x.dtype, arrays[name]) for name, x in program.inputs.items()
    ]


def wrong(got, want):
    """The difference of results, or None."""
    for i, (t, x) in enumerate(zip(got, want, strict=True)):
        if t.shape != x.shape or t.dtype.name != ("boolean" if x.dtype == "bool" else x.dtype):
            return f"result {i} is {t.dtype.name}{t.shape}, not {x.dtype}{x.shape}"
        a = np.asarray(formats.array(t), x.v.dtype)
        off = ~(abs(a - x.v) <= x.e) if x.is_float else a != x.v
        if off.any():
            worst = np.unravel_index(
                np.argmax(np.nan_to_num(abs(a.astype(float) - x.v) / (x.e + 1e-300), nan=np.inf)), x.shape
            )
            return (
                f"result {i}: {off.sum()} of {x.size} elements differ, as at {tuple(map(int, worst))}: "
                f"{a[worst]}, not {x.v[worst]} within {x.e[worst]:.2g}"
            )
    return None


# Each way of calling gives what is wrong, or None.
def plain(program, references, eager=False):
    if not (case := references.of(0)):
        return None
    arrays, number, want = case
    out = program.function(strata, eager)(*tensors(program, arrays), number)
    if program.seed % 3:
        strata.realize(list(out))  # together
    return wrong(out, want)


def eager(program, references):
    return plain(program, references, True)


def jit(program, references):
    """Calls whose values, and now and then the number, are others."""
    f = strata.jit(program.function(strata))
    for turn in (0, 1, 0, 2, 1):
        if (case := references.of(turn)) and (bad := wrong(f(*tensors(program, case[0]), case[1]), case[2])):
            return f"call of values {turn}: {bad}"
    return None


def symbolic(program, references):
    """One size changes from call to call."""
    f = strata.jit(program.function(strata), symbolic=True)
    for n in (0, 1, 0, 2, 1):
        if (case := references.of(0, grown=n)) and (bad := wrong(f(*tensors(program, case[0]), case[1]), case[2])):
            return f"call of sizes {n}: {bad}"
    return None


def threads(program, references):
    """The same new program in several threads, with numbers of their own."""
    cases = [case for number in NUMBERS[program.seed % 3 :][:3] if (case := references.of(0, number))]
    found, start, settings = [], threading.Barrier(len(cases)), strata.settings()
    keep = {name: settings[name] for name in ("target", "device", "fusion", "schedule", "schedule_seed")}

    def work(case):
        with strata.config(**keep):
            try:
                for _ in range(2):
                    given = tensors(program, case[0])
                    start.wait()
                    if bad := wrong(program.function(strata)(*given, case[1]), case[2]):
                        found.append(f"number {case[1]} in one of {len(cases)} threads: {bad}")
            except Exception as e:
                found.append(error(e))

    running = [threading.Thread(target=work, args=(case,)) for case in cases]
    for t in running:
        t.start()
    for t in running:
        t.join()
    return found[0] if found else None


CALLS = {"plain": plain, "eager": eager, "jit": jit, "symbolic": symbolic, "threads": threads}


class References:
    """References of a program, by values, number and sizes, made when asked for."""

    def __init__(self, program, flushes=False):
        self.program, self.flushes, self.known = program, flushes, {}

    def of(self, turn, number=None, grown=0):
        """(arrays, number, results), or None where rounding decides or the text does not fit the sizes."""
        key = turn, number, grown
        if key not in self.known:
            self.known[key] = self.make(*key)
        return self.known[key]

    def make(self, turn, number, grown):
        program = self.program
        if not grown and not turn and number in (None, program.number) and not self.flushes:
            arrays, want = program.usual
            return want and (arrays, program.number, want)
        if grown and program.sizes:
            first = next(iter(program.sizes))
            program = replace(program, sizes={**program.sizes, first: program.sizes[first] + grown})
        arrays, number = program.arrays(turn), program.number if number is None else number
        try:
            with bounded.flushed_products(self.flushes):
                want = program.reference(arrays, number)
        except (ValueError, IndexError, ZeroDivisionError) as e:
            if not grown:
                raise
            del e
            return None
        return want and (arrays, number, want)


def error(e):
    last = traceback.extract_tb(e.__traceback__)[-1]
    return f"{type(e).__name__}: {str(e)[:600]} ({os.path.basename(last.filename)}:{last.lineno})"


def check(program, way, references=None):
    """The difference of a program computed one way, or None."""
    with strata.config(**settings_of(way, program)):
        try:
            if way.flushes:
                references = References(program, flushes=True)
            return CALLS[way.call](program, references or References(program))
        except strata.Error as e:
            return error(e)


OFTEN = np.array([way.often for way in WAYS]) / sum(way.often for way in WAYS)


def taken(seed):
    """The ways for a program: the usual one and some others, each as often as its row says. Without a HIP compiler its
    way is left out.
    """
    others = np.random.default_rng([7, seed]).choice(len(WAYS), TAKEN, replace=False, p=OFTEN)
    ways = [WAYS[0], *(WAYS[i] for i in others)]
    return [way for way in ways if way.name != "hip" or hip_compiler()]


@functools.cache
def hip_compiler():
    return strata._strata._hip_compiler()[0]
