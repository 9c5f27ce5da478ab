"""Kernels of the language that strata bench lang measures; their lines are counted, with the call."""

import inspect

import strata
from strata import lang, layout as lo


def vecadd(out: lang.Tensor, a: lang.Tensor, b: lang.Tensor, n):
    i = lang.block_idx.x * 256 + lang.thread_idx.x
    if i < n:
        out[i] = a[i] + b[i]


def softmax(out: lang.Tensor, x: lang.Tensor, columns):
    row, largest, total = lang.block_idx.x, float("-inf"), 0.0
    for i in lang.range(lang.thread_idx.x, columns, 128):
        largest = max(largest, x[row, i])
    largest = lang.block_reduce(largest, "max")
    for i in lang.range(lang.thread_idx.x, columns, 128):
        total += lang.exp(x[row, i] - largest)
    total = lang.block_reduce(total)
    for i in lang.range(lang.thread_idx.x, columns, 128):
        out[row, i] = lang.exp(x[row, i] - largest) / total


def tiled_copy(out: lang.Tensor, x: lang.Tensor):
    atom = lang.CopyAtom(128, x.dtype)
    mine = lang.make_tiled_copy_tv(atom, lo.Layout((32, 8), (8, 1)), lo.Layout((1, 4))).get_slice(lang.thread_idx.x)
    source, target = (lo.local_tile(v, (32, 32), (lang.block_idx.x, lang.block_idx.y)) for v in (x, out))
    held = lang.make_fragment_like(mine.partition_S(source))
    lang.copy(atom, mine.partition_S(source), held)
    lang.copy(atom, held, mine.partition_D(target))


def tiled_mma(c: lang.Tensor, a: lang.Tensor, b: lang.Tensor):  # c = a @ b.T, one tile
    mma = lang.make_tiled_mma(lang.MmaAtom(a.dtype), (2, 2, 1))
    thread = mma.get_slice(lang.thread_idx.x)
    sums = thread.make_fragment_C(c)
    sums.fill(0)
    lang.gemm(mma, sums, thread.load_A(a), thread.load_B(b), sums)
    thread.store_C(sums, c)


def matmul(c: lang.Tensor, a: lang.Tensor, b: lang.Tensor, tile: lang.Constexpr):  # c = a @ b.T
    (bm, bn, bk, stages), m, n = tile, lang.block_idx.x, lang.block_idx.y
    mma = lang.make_tiled_mma(lang.MmaAtom(a.dtype), (2, 2, 1))
    thread = mma.get_slice(lang.thread_idx.x)
    ga, gb = lo.local_tile(a, (bm, bk), (m, None)), lo.local_tile(b, (bn, bk), (n, None))
    gc = lo.local_tile(c, (bm, bn), (m, n))
    sa, sb = (lang.shared(lo.Layout((rows, bk), (bk + 8, 1)), a.dtype) for rows in (bm, bn))
    sums = thread.make_fragment_C(gc)
    sums.fill(0)
    for k in lang.range(ga.shape[2], stages=stages):
        lang.copy_tile(ga[None, None, k], sa)
        lang.copy_tile(gb[None, None, k], sb)
        lang.barrier()
        lang.gemm(mma, sums, thread.load_A(sa), thread.load_B(sb), sums)
        lang.barrier()
    thread.store_C(sums, gc)


def matmul_by_lanes(c: lang.Tensor, a: lang.Tensor, b: lang.Tensor, tile: lang.Constexpr):
    """c = a @ b.T: a lane has 4 rows of its wave's 8 columns, whose elements of b are scalars."""
    (bm, bn, bk), lane, wave = tile, lang.thread_idx.x, lang.thread_idx.y
    m, n, steps = lang.block_idx.x, lang.block_idx.y * (bn // 8) + wave, a.shape[1] // bk
    wide, threads = lang.CopyAtom(128, a.dtype), lo.Layout((16 * bn // bk, bk // 4), (bk // 4, 1))
    mine = lang.make_tiled_copy_tv(wide, threads, lo.Layout((1, 4))).get_slice(lang.thread())
    source, columns = mine.partition_S(lo.local_tile(a, (bm, bk), (m, None))), lo.local_tile(b, (8, bk), (n, None))
    held = lang.make_fragment_like(source[None, None, None, 0])
    shared = lang.shared(lo.Layout((bm, bk), (1, bm + 4)), a.dtype)
    sums = lang.registers((4, 8))
    sums.fill(0)
    lang.copy(wide, source[None, None, None, 0], held)
    for k in lang.range(steps):
        lang.autovec_copy(held, mine.partition_D(shared))
        lang.barrier()
        lang.copy(wide, source[None, None, None, lang.minimum(k + 1, steps - 1)], held)  # while this step computes
        for s in lang.range(bk // 4):
            y = [[columns[j, 4 * s + i, k] for j in range(8)] for i in range(4)]
            for i in lang.static_range(4):
                x = lo.local_tile(shared[None, 4 * s + i], (4,), (lane,)).load()
                for row in lang.static_range(4):
                    for j in lang.static_range(8):
                        sums[row, j] = lang.fma(x[row], y[i][j], sums[row, j])
        lang.barrier()
    lo.local_tile(lo.local_tile(c, (bm, 8), (m, n)), (4, 8), (lane, 0)).store(sums)


def product(function, tile, wave):
    """The kernel of a product and its block."""
    block = 4 * wave if function is matmul else (wave, tile[1] // 8)
    grid = lambda c, a, b, tile: (c.shape[0] // tile[0], c.shape[1] // tile[1])  # noqa: E731
    return strata.kernel(function, grid=grid, block=block)


def lines(function):
    """Of a function, without blank ones and comments, and one of a call."""
    text = [line.strip() for line in inspect.getsource(function).splitlines()]
    return sum(1 for line in text if line and not line.startswith("#")) + 1


KERNELS = {"vecadd": vecadd, "tiled copy": tiled_copy, "tiled MMA": tiled_mma, "matmul": matmul, "softmax": softmax}
