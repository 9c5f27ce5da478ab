#!/usr/bin/env python3
"""Kernels as Python functions: a vector sum, a softmax and a walk of random length, on four architectures.

Look at the walk: each thread decides its own `while` and `if`. The same source runs on waves of 32 and of 64 lanes, in
strict mode. A race, or a read of memory that nothing wrote, would end it.
"""

import numpy as np
import strata
from strata import Tensor, lang

ROWS, COLUMNS = 8, 300


@strata.kernel(grid=lambda out, a, b, n: lang.cdiv(n, 256), block=256)
def add(out: lang.Tensor, a: lang.Tensor, b: lang.Tensor, n):
    i = lang.block_idx.x * 256 + lang.thread_idx.x
    if i < n:
        out[i] = a[i] + b[i]


@strata.kernel(grid=ROWS, block=128)
def softmax(out: lang.Tensor, x: lang.Tensor):
    row, largest, total = lang.block_idx.x, float("-inf"), 0.0
    for i in lang.range(lang.thread_idx.x, x.shape[1], 128):
        largest = max(largest, x[row, i])
    largest = lang.block_reduce(largest, "max")
    for i in lang.range(lang.thread_idx.x, x.shape[1], 128):
        total += lang.exp(x[row, i] - largest)
    total = lang.block_reduce(total)
    for i in lang.range(lang.thread_idx.x, x.shape[1], 128):
        out[row, i] = lang.exp(x[row, i] - largest) / total


@strata.kernel(grid=1, block=64)
def walk(out: lang.Tensor, seed):
    """Steps until a random walk leaves -5 to 5."""
    place, steps = 0, 0
    while -5 <= place <= 5:
        place += 1 if lang.rand(seed + lang.thread_idx.x, steps) < 0.5 else -1
        steps += 1
    out[lang.thread_idx.x] = steps


def steps_of_a_walk(seed):
    place = steps = 0
    while -5 <= place <= 5:
        place += 1 if lang.rand(seed, steps) < 0.5 else -1
        steps += 1
    return steps


def main():
    random = np.random.default_rng(0)
    a, b, x = (random.standard_normal(shape).astype("float32") for shape in (1000, 1000, (ROWS, COLUMNS)))
    exact = np.exp(x - x.max(1, keepdims=True))
    exact /= exact.sum(1, keepdims=True)
    want = [steps_of_a_walk(7 + i) for i in range(64)]
    for arch in ("gfx1100", "gfx1201", "gfx942", "gfx90a"):
        with strata.config(device=f"emu:{arch}", check="raise"):
            (total,) = add(Tensor.zeros(1000), Tensor(a), Tensor(b), 1000)
            (soft,) = softmax(Tensor.zeros(ROWS, COLUMNS), Tensor(x))
            (steps,) = walk(Tensor.zeros(64, dtype="int32"), 7)
            assert np.array_equal(total.numpy(), a + b)
            assert np.allclose(soft.numpy(), exact, atol=1e-6)
            assert steps.numpy().tolist() == want
            print(f"{arch}: sum and softmax agree with NumPy; the longest of 64 walks took {max(want)} steps")


if __name__ == "__main__":
    main()
