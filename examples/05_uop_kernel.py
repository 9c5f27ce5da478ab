#!/usr/bin/env python3
"""A kernel as a UOp graph: ranges say what runs where, and the rest of the kernel does not change.

The same row sums three times: a thread a row, a block a row that adds through local memory, and the first with smaller
blocks. Look at the bars: same result, other times. The last lines are the HIP text of the first.
"""

import numpy as np
import strata
from strata import Tensor, dtypes, uop

ROWS, COLUMNS = 512, 256


def accumulate(slot, r, value):
    """The sum of value over the reduce range r, in a register."""
    register = uop.placeholder(1, dtypes.float32, "reg", slot)
    zeroed = register.after(register[0].store(0.0), r)
    return register.after(zeroed[0].store(zeroed[0].load() + value).end(r))[0].load()


def thread_a_row(threads):
    def kernel(out, x):
        g, t = uop.range(ROWS // threads, 0, "global"), uop.range(threads, 1, "local")
        r = uop.range(COLUMNS, 2, "reduce")
        row = g * threads + t
        return uop.sink(out[row].store(accumulate(0, r, x[row * COLUMNS + r].load())).end(g, t), name=f"rows_{threads}")

    return kernel


def block_a_row(threads):
    def kernel(out, x):
        g, t = uop.range(ROWS, 0, "global"), uop.range(threads, 1, "local")
        r, s = uop.range(COLUMNS // threads, 2, "reduce"), uop.range(threads, 3, "reduce")
        partial = uop.placeholder(threads, dtypes.float32, "local")
        mine = accumulate(0, r, x[g * COLUMNS + r * threads + t].load())  # neighbours read neighbours
        shared = partial.after(uop.barrier(partial[t].store(mine)))
        stored = out.index(g, t < 1).store(accumulate(1, s, shared[s].load()))
        return uop.sink(stored.end(g, t), name=f"block_{threads}")

    return kernel


VARIANTS = [
    ("a thread a row, blocks of 256", thread_a_row(256)),
    ("a thread a row, blocks of 32", thread_a_row(32)),
    ("a block of 64 threads a row", block_a_row(64)),
]


def main():
    host = np.random.default_rng(5).random((ROWS, COLUMNS), dtype=np.float32)
    x = Tensor(host).realize()
    times = []
    for what, kernel in VARIANTS:
        strata.reset_stats()
        sums, _ = Tensor.empty(ROWS).custom_kernel(x, kernel=kernel)
        np.testing.assert_allclose(sums.numpy(), host.sum(axis=1), rtol=1e-5)
        times.append(strata.stats().time_ms * 1000)
        print(f"{what:<32} {times[-1]:6.1f} us modelled  {'#' * round(6 * times[-1])}")
    assert times[2] < times[0]

    print("\nthe first one as HIP text:\n")
    sums, _ = Tensor.empty(ROWS).custom_kernel(x, kernel=thread_a_row(256))
    print(strata.compile(sums).kernels[0].source.rstrip())


if __name__ == "__main__":
    main()
