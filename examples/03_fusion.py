#!/usr/bin/env python3
"""Fusion: how many kernels an expression takes, and how much memory they move.

Look at the bars: the bytes that the kernels touch, and dotted what one kernel an operation would touch. The last
part is debug=1 (or STRATA_DEBUG=1): a line a launch, for the last expression.
"""

import sys

import numpy as np
import strata
from strata import Tensor

N = 1 << 16
x = Tensor(np.linspace(0.5, 1.5, N, dtype=np.float32)).realize()

EXPRESSIONS = [  # what, the expression, buffers that one kernel an operation would read and write
    ("x + 1", lambda: x + 1, 2),
    ("((x + 1) * 2).sqrt() - x", lambda: ((x + 1) * 2).sqrt() - x, 9),
    ("x.reshape(256, 256).T + 1", lambda: x.reshape(256, 256).T + 1, 4),
    ("(x * x).sum()", lambda: (x * x).sum(), 3),
    ("x.exp() / x.exp().sum()", lambda: x.exp() / x.exp().sum(), 5),
]


def bar(buffers):
    return "#" * round(4 * buffers)


def main():
    print(f"{'expression':<28} kernels  {N * 4 // 1024} KiB buffers touched: fused, and one kernel an operation")
    for what, build, unfused in EXPRESSIONS:
        tensor = build()
        strata.reset_stats()
        tensor.realize()
        stats = strata.stats()
        touched = stats.bytes / x.nbytes
        print(
            f"{what:<28} {stats.kernels:>7}  {bar(touched):<37}{touched:4.1f}\n"
            f"{'':<38}{bar(unfused).replace('#', '.'):<37}{unfused:4.1f}"
        )
        assert touched < unfused or what == "x + 1"

    print("\nthe launches of the last one, as debug=1 prints them:", flush=True)
    with strata.config(debug=1):  # a fresh graph: values that are known are not computed again
        got = ((x + 0.0).exp() / (x + 0.0).exp().sum()).numpy()
    sys.stderr.flush()
    e = np.exp(x.numpy())
    np.testing.assert_allclose(got, e / e.sum(dtype=np.float64), rtol=1e-4)


if __name__ == "__main__":
    main()
