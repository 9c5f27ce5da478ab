#!/usr/bin/env python3
"""Causal attention in one kernel: products by matrix instructions, and an online softmax between them.

Look at the loop: keys and values of a tile come to local memory, and `reduce` gives each row's largest score by
exchanges of lanes. The sums so far are then rescaled. Change TILE, or the type of the tensors to bfloat16.
"""

import math

import numpy as np
import strata
from strata import Tensor, lang, layout as lo

HEADS, ROWS, DEPTH, TILE = 2, 128, 64, (64, 32)


@strata.kernel(grid=lambda out, q, k, v, tile: (q.shape[1] // tile[0], q.shape[0]), block=128)
def attention(out: lang.Tensor, q: lang.Tensor, k: lang.Tensor, v: lang.Tensor, tile: lang.Constexpr):
    (bm, bn), depth, m, head = tile, q.shape[2], lang.block_idx.x, lang.block_idx.y
    mma = lang.make_tiled_mma(lang.MmaAtom(q.dtype), (128 // lang.wave_size(), 1, 1))
    thread = mma.get_slice(lang.thread_idx.x)
    queries, result = (lo.local_tile(t[head, None, None], (bm, depth), (m, 0)) for t in (q, out))
    keys, values = (lo.local_tile(t[head, None, None], (bn, depth), (None, 0)) for t in (k, v))
    narrow = lang.wave_size() == 32  # such waves have few registers: queries stay in local memory
    turned = (1, bn + 8) if narrow else (depth + 8, 1)  # products read values along the keys
    sk, weights_of_wave, sv = (
        lang.shared(lo.Layout(*shape), q.dtype)
        for shape in (((bn, depth), (depth + 8, 1)), ((bm, bn), (bn + 8, 1)), ((bn, depth), turned))
    )
    atom = lang.CopyAtom(128, v.dtype)
    copy = lang.make_tiled_copy_tv(atom, lo.Layout((bn, 128 // bn)), lo.Layout((1, atom.elements)))
    of_values = copy.get_slice(lang.thread_idx.x)
    moved = lang.make_fragment_like(of_values.partition_S(values[None, None, 0]))
    if narrow:
        sq = lang.shared(lo.Layout((bm, depth), (depth + 8, 1)), q.dtype)
        lang.copy_tile(queries, sq)
    else:
        mine = thread.load_A(queries)
    places, sums = thread.partition_C(lang.identity((bm, bn))), thread.make_fragment_C(result)
    sums.fill(0)
    largest = thread.reduce(thread.make_fragment_C((bm, bn)), "max", 1)
    total = thread.reduce(thread.make_fragment_C((bm, bn)), "max", 1)
    largest.fill(float("-inf"))
    total.fill(0)
    for j in lang.range((m + 1) * bm // bn):
        lang.copy_tile(keys[None, None, j], sk)
        if narrow:
            lang.copy(atom, of_values.partition_S(values[None, None, j]), moved)
            lang.autovec_copy(moved, of_values.partition_D(sv))
        else:
            lang.copy_tile(values[None, None, j], sv)
        lang.barrier()
        scores = thread.make_fragment_C((bm, bn))
        scores.fill(0)
        lang.gemm(mma, scores, thread.load_A(sq) if narrow else mine, thread.load_B(sk), scores)
        scores.store(scores * (math.log2(math.e) / math.sqrt(depth)))
        if (j + 1) * bn > m * bm:  # on the diagonal
            for i in lang.static_range(lo.size(scores.layout)):
                row, column = places[i]
                scores[i] = lang.select(m * bm + row < j * bn + column, float("-inf"), scores[i])
        now = lang.maximum(largest, thread.reduce(scores, "max", 1))
        factor, weights = lang.exp2(largest - now), lang.exp2(scores - now)
        total = total * factor + thread.reduce(weights, "add", 1)
        largest = now
        sums.store(sums * factor)
        thread.store_C(weights, weights_of_wave)
        lang.wave_barrier()
        lang.gemm(mma, sums, thread.load_A(weights_of_wave), thread.load_B(lo.select(sv, (1, 0))), sums)
        lang.barrier()
    thread.store_C(sums / total, result)


def expected(q, k, v):
    rows, depth = q.shape[1:]
    scores = np.einsum("hid,hjd->hij", q, k) / math.sqrt(depth)
    scores = np.where(np.tril(np.ones((rows, rows), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def main():
    random = np.random.default_rng(1)
    q, k, v = (random.standard_normal((HEADS, ROWS, DEPTH)).astype("float16") for _ in range(3))
    wanted = expected(*(x.astype(float) for x in (q, k, v)))
    for arch in ("gfx1100", "gfx1201", "gfx942", "gfx90a"):
        with strata.config(device=f"emu:{arch}", check="raise"):
            (out,) = attention(Tensor.zeros(HEADS, ROWS, DEPTH), Tensor(q), Tensor(k), Tensor(v), TILE)
            np.testing.assert_allclose(out.numpy(), wanted, rtol=4e-3, atol=4e-3)
        print(f"{arch}: {HEADS} heads of {ROWS} queries agree with NumPy in float64")


if __name__ == "__main__":
    main()
