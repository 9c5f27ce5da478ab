#!/usr/bin/env python3
"""Beam search: let Strata look for a better schedule than the rules give.

Each candidate is compiled, run, and compared with the plain kernel before it is timed. Look at the bars: the same
expression with the hand-written rules, and searched. What is found is kept: a second search is free.
"""

import time

import numpy as np
import strata
from strata import Tensor

rng = np.random.default_rng(7)
A, B = rng.random((48, 64), dtype=np.float32), rng.random((64, 32), dtype=np.float32)
EXPRESSIONS = [
    ("(a @ b).relu()", lambda a, b: (a @ b).relu(), np.maximum(A @ B, 0)),
    ("(a * a).sum(axis=0)", lambda a, b: (a * a).sum(axis=0), (A * A).sum(axis=0)),
]


def measured(build, beam):
    """(modelled microseconds, seconds to the result, values)"""
    a, b = Tensor(A).realize(), Tensor(B).realize()
    strata.reset_stats()
    start = time.perf_counter()
    with strata.config(beam=beam):
        values = build(a, b).numpy()
    return strata.stats().time_ms * 1000, time.perf_counter() - start, values


def main():
    print(f"{'expression':<22} {'schedule':<12} modelled")
    for what, build, expected in EXPRESSIONS:
        times = {}
        for how, beam in (("rules", 0), ("beam=2", 2), ("again", 2)):
            times[how], seconds, values = measured(build, beam)
            np.testing.assert_allclose(values, expected, rtol=1e-4)
            print(
                f"{what:<22} {how:<12} {times[how]:6.2f} us {'#' * round(4 * times[how]):<40} {seconds:.2f} s "
                "to the result"
            )
            what = ""
        assert times["beam=2"] <= times["rules"] and times["again"] == times["beam=2"]
    print(
        "\nSTRATA_DEBUG=1 prints what the search tried and which actions won; STRATA_DEBUG=2 why candidates "
        "were rejected."
    )


if __name__ == "__main__":
    main()
