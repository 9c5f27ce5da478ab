#!/usr/bin/env python3
"""A matrix product from tiles: one source for the matrix instructions of four architectures.

Look at the loop: a block copies tiles of both operands to local memory one step ahead, and its waves multiply them.
Change TILE, or the padding of eight elements a row: proofs over the layouts refuse what does not fit.
"""

import numpy as np
import strata
from strata import Tensor, lang, layout as lo

ROWS, COLUMNS, DEPTH, TILE = 256, 192, 128, (64, 64, 32)


@strata.kernel(grid=lambda c, a, b, tile: (c.shape[0] // tile[0], c.shape[1] // tile[1]), block=128)
def product(c: lang.Tensor, a: lang.Tensor, b: lang.Tensor, tile: lang.Constexpr):
    """c = a @ b.T"""
    (bm, bn, bk), m, n = tile, lang.block_idx.x, lang.block_idx.y
    mma = lang.make_tiled_mma(lang.MmaAtom(a.dtype), (2, 128 // lang.wave_size() // 2, 1))
    thread = mma.get_slice(lang.thread_idx.x)
    ga, gb = lo.local_tile(a, (bm, bk), (m, None)), lo.local_tile(b, (bn, bk), (n, None))
    gc = lo.local_tile(c, (bm, bn), (m, n))
    sa, sb = (lang.shared(lo.Layout((rows, bk), (bk + 8, 1)), a.dtype) for rows in (bm, bn))
    sums = thread.make_fragment_C(gc)
    sums.fill(0)
    for k in lang.range(ga.shape[2], stages=2):
        lang.copy_tile(ga[None, None, k], sa)
        lang.copy_tile(gb[None, None, k], sb)
        lang.barrier()
        lang.gemm(mma, sums, thread.load_A(sa), thread.load_B(sb), sums)
        lang.barrier()
    thread.store_C(sums, gc)


def main():
    random = np.random.default_rng(1)
    a, b = (random.standard_normal((rows, DEPTH)).astype("float16") for rows in (ROWS, COLUMNS))
    expected = a.astype(float) @ b.astype(float).T
    for arch in ("gfx1100", "gfx1201", "gfx942", "gfx90a"):
        with strata.config(device=f"emu:{arch}", check="raise"):
            (c,) = product(Tensor.zeros(ROWS, COLUMNS), Tensor(a), Tensor(b), TILE)
            np.testing.assert_allclose(c.numpy(), expected, rtol=1e-4, atol=1e-4)
        print(f"{arch}: {ROWS} x {COLUMNS} sums of {DEPTH} products agree with NumPy's in float64")


if __name__ == "__main__":
    main()
