#!/usr/bin/env python3
"""Softmax of rows: a block has its row in registers, and reads and writes memory once.

Look at `softmax`: a tiled copy gives each thread accesses of 128 bits, and `block_reduce` joins what threads have. The
modelled time is that of the bytes that must move.
"""

import numpy as np
import strata
from strata import Tensor, lang, layout as lo

ROWS, COLUMNS = 256, 4096


@strata.kernel(grid=lambda out, x: x.shape[0], block=256)
def softmax(out: lang.Tensor, x: lang.Tensor):
    given, made = (lo.local_tile(t, (1, x.shape[1]), (lang.block_idx.x, 0)) for t in (x, out))
    atom = lang.CopyAtom(128, x.dtype)
    copy = lang.make_tiled_copy_tv(atom, lo.Layout((1, 256)), lo.Layout((1, atom.elements)))
    thread = copy.get_slice(lang.thread_idx.x)
    mine = thread.partition_S(given)
    values = lang.make_fragment_like(mine)
    lang.copy(atom, mine, values)
    largest = lang.block_reduce(values.reduce("max"), "max")
    weights = lang.exp(values - largest)
    total = lang.block_reduce(weights.reduce("add"))
    values.store(weights / total)
    lang.copy(atom, values, thread.partition_D(made))


def main():
    x = np.random.default_rng(1).standard_normal((ROWS, COLUMNS)).astype("float32")
    exponentials = np.exp(x.astype(float) - x.max(1, keepdims=True))
    for arch in ("gfx1100", "gfx1201", "gfx942", "gfx90a"):
        with strata.config(device=f"emu:{arch}", check="raise"):
            data = Tensor(x).realize()
            strata.reset_stats()
            (out,) = softmax(Tensor.empty(ROWS, COLUMNS), data)
            np.testing.assert_allclose(out.numpy(), exponentials / exponentials.sum(1, keepdims=True), rtol=1e-5)
            stats = strata.stats()
        print(f"{arch}: {2 * x.nbytes / stats.time_ms * 1e-6:.0f} GB/s modelled, agrees with NumPy in float64")


if __name__ == "__main__":
    main()
