"""Random programs of tensors, computed in many ways and by NumPy in float64 with a bound of rounding: none differs
beyond it.

    .venv/bin/python test/python/programs/test_program_fuzz.py --seed 5 --programs 10000 --ways usual,jit,hip

A program that differs is made as small as it gets, and printed as Python that runs alone. STRATA_FUZZ_SECONDS: how
long programs are made beyond the first ones; STRATA_FUZZ_SEED: where they start.
"""

import argparse
import os
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import conftest  # noqa: F401  (the settings of the tests)

import bounded
import numpy as np
import pytest
import strata
from program_draw import drawn_program
from program_run import BY_NAME, WAYS, References, check, hip_compiler, taken
from program_shrink import report, shrunk
from program_text import Input, Program

PROGRAMS, GROUP = 1000, 100


def first_difference(seed, ways=None):
    """(program, way, what is wrong), or None."""
    program = drawn_program(seed)
    references = References(program)
    for way in ways or taken(seed):
        if bad := check(program, way, references):
            return program, way, bad
    return None


@pytest.mark.parametrize("first", range(0, PROGRAMS, GROUP))
def test_a_program_gives_what_numpy_does_whatever_way_it_is_computed(first):
    for seed in range(first, first + GROUP):
        if found := first_difference(seed):
            pytest.fail(report(*found), pytrace=False)


def test_fuzz_of_more_programs():
    seed = int(os.environ.get("STRATA_FUZZ_SEED", "1000000"))
    until, programs = time.monotonic() + float(os.environ.get("STRATA_FUZZ_SECONDS", "0")), 0
    while time.monotonic() < until:
        if found := first_difference(seed + programs):
            pytest.fail(report(*found), pytrace=False)
        programs += 1
    print(f"{programs} programs from seed {seed}")


def test_every_way_is_taken():
    without = set() if hip_compiler() else {"hip"}
    assert {way.name for seed in range(PROGRAMS) for way in taken(seed)} == set(BY_NAME) - without


def test_what_is_wrong_is_found_and_made_small(monkeypatch):
    usual = strata.functional.rmsnorm
    monkeypatch.setattr(strata.functional, "rmsnorm", lambda x, **given: usual(x, **given) * (1 + 2e-6 * x.shape[-1]))
    lines = ("v0 = x0.permute(1, 0)", "v1 = v0 * k", "v2 = strata.functional.rmsnorm(v1)", "v3 = v2 - v2.mean(0, True)")
    program = Program({"n": 33, "m": 17}, {"x0": Input(("n", "m"), "float32")}, lines, ("v1", "v3"))
    assert check(program, WAYS[0])
    small, bad = shrunk(program, WAYS[0])
    assert (
        small.lines == ("v2 = strata.functional.rmsnorm(x0)",) or len(small.lines) == 1 and "rmsnorm" in small.lines[0]
    ), small
    assert "elements differ" in bad
    assert "rmsnorm" in report(program, WAYS[0], bad)


def slopes(program, h=1e-6):
    """Central differences of a program's value by its inputs."""
    arrays = program.arrays()
    value = lambda: float(program.reference(arrays)[0].v)  # noqa: E731
    found = []
    for name in program.by:
        out = np.zeros(arrays[name].shape)
        for at in np.ndindex(out.shape):
            x = arrays[name][at]
            sides = []
            for side in (h, -h):
                arrays[name][at] = x + side
                sides.append(value())
            arrays[name][at] = x
            out[at] = (sides[0] - sides[1]) / (2 * h)
        found.append(out)
    return found


@pytest.mark.parametrize(
    "line",
    [
        "({0} - {0}.mean(1, True)).square()",
        "{0}.softmax(-1) * {0}",
        "strata.functional.layernorm({0})",
        "{0}.var(0, 0, True) / ({0}.square() + 1)",
        "{0} @ {0}.mT",
        "strata.cat([{0}, {0}.flip(1)], 1)[:, 1::2]",
        "{0}.cumsum(1) * {0}",
        "{0}.pad([(1, 0), (0, 2)], 1).square()",
        "({0}.exp() + 1).log().tanh()",
        "{0}.max(1) * 2",
        "strata.where({0} < 0.1, {0}, {0} * {0})",
        "{0}.sort(1)[:, 1:]",
        "strata.functional.rmsnorm({0}).gelu()",
        "{0}.logsumexp(0) + {0}.silu()",
    ],
)
def test_slopes_of_bounded_values_are_central_differences(line):
    program = Program(
        {"n": 3, "m": 4},
        {"x0": Input(("n", "m"), "float64")},
        (f"v0 = {line.format('x0')}", "v1 = v0.sin() * v0"),
        ("v1",),
        ("x0",),
        seed=3,
    )
    got = program.reference(program.arrays())[1:]
    np.testing.assert_allclose(got[0].v, slopes(program)[0], rtol=1e-6, atol=1e-8)


def test_bounds_hold_in_numpys_float32(rng):
    """Sums in any order, products and functions of one element, computed in float32 itself, stay within the bounds."""
    for _ in range(20):
        x = rng.standard_normal((17, 65)).astype(np.float32)
        b = bounded.Bounded(x, "float32")
        for got, want in (
            (x.sum(0), b.sum(0)),
            (x @ x.T, b @ b.T),
            (np.exp(x), b.exp()),
            ((x - x.mean(1, keepdims=True)) * x, (b - b.mean(1, True)) * b),
        ):
            assert (abs(got - want.v) <= want.e).all()


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seed", type=int, default=0, help="of the first program")
    options.add_argument("--programs", type=int, default=PROGRAMS)
    options.add_argument("--seconds", type=float, default=float("inf"), help="ends earlier")
    options.add_argument(
        "--ways", help=f"of each program, separated by commas, of {', '.join(BY_NAME)}; some of them by default"
    )
    options.add_argument(
        "--failures", type=int, default=10, help="programs that are made small and printed before it ends"
    )
    options.add_argument("--quick", action="store_true", help="do not make them small")
    given = options.parse_args()
    ways = [BY_NAME[name] for name in given.ways.split(",")] if given.ways else None
    start, told, wrong = time.monotonic(), 0.0, []
    for n, seed in enumerate(range(given.seed, given.seed + given.programs), 1):
        if found := first_difference(seed, ways):
            wrong.append(seed)
            print(
                f"program {seed}, {found[1].name}: {found[2]}" if given.quick else report(*found),
                end="\n\n",
                flush=True,
            )
        passed = time.monotonic() - start
        done = n == given.programs or passed > given.seconds or len(wrong) == given.failures
        if done or passed > told + 5:
            told = passed
            print(
                f"{n} programs, seed {seed}: {len(wrong)} differ, {n / passed:.0f} a second",
                file=sys.stderr,
                flush=True,
            )
        if done:
            break
    if wrong:
        print("differ:", *wrong)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
