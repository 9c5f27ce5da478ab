"""The kernels of moe_align_block_size: ids of a block of threads are counted by expert, then each takes its place."""

from __future__ import annotations

import functools

from .. import lang
from .._strata import Tensor, dtypes
from ..lang._kernel import Kernel, kernel

MOST = 1024  # experts: one a thread


def threads(experts: int) -> int:
    """Threads of a block, and ids that it places: a power of two, 256 or one an expert."""
    return max(256, 1 << (experts - 1).bit_length())


@functools.cache
def counting(experts: int) -> Kernel:
    """The kernel counts (blocks, experts) = f(ids (size,)): how many ids of a block name an expert. Those of `experts`
    name none."""
    block = threads(experts)

    @kernel(grid=lambda counts, ids: counts.shape[0], block=block)
    def moe_counts(counts: lang.Tensor, ids: lang.Tensor):
        mine, place = lang.thread_idx.x, lang.block_idx.x * block + lang.thread_idx.x
        found = lang.shared(block, dtypes.int32)
        found[mine] = 0
        lang.barrier()
        if place < ids.shape[0]:
            if ids[place] < experts:
                lang.atomic_add(found.at(ids[place]), 1)
        lang.barrier()
        if mine < experts:
            counts[lang.block_idx.x, mine] = found[mine]

    return moe_counts


@functools.cache
def placing(experts: int, size: int) -> Kernel:
    """The kernel that fills order, places, of_blocks and end from ids and their counts (`aligned`). `size` is the block
    size to which an expert's places are filled up."""
    block = threads(experts)

    @kernel(grid=lambda *given: given[-1].shape[0], block=block)
    def moe_places(
        order: lang.Tensor,
        places: lang.Tensor,
        of_blocks: lang.Tensor,
        end: lang.Tensor,
        ids: lang.Tensor,
        counts: lang.Tensor,
    ):
        mine, group, groups = lang.thread_idx.x, lang.block_idx.x, counts.shape[0]
        place, choices = group * block + mine, ids.shape[0]
        keys, starts = lang.shared(block, dtypes.int32), lang.shared(block, dtypes.int32)
        key = dtypes.int32(experts)
        if place < choices:
            key = ids[place]
        keys[mine] = key
        total = before = dtypes.int32(0)
        if mine < experts:
            for i in lang.range(groups, unroll=8 if groups % 8 == 0 else 1):
                count = counts[i, mine]
                total = total + count
                before = before + lang.select(i < group, count, 0)
        filled = (total + (size - 1)) // size * size
        start = lang.block_scan(filled, exclusive=True)
        starts[mine] = start + before
        last = start + filled  # of the last thread: the end of all
        ends = lang.shared(1, dtypes.int32)
        if mine == block - 1:
            ends[0] = last
        lang.barrier()
        if key < experts:
            rank = dtypes.int32(0)
            for i in lang.range(block, unroll=16):
                rank = rank + lang.select((keys[i] == key) & (i < mine), 1, 0)
            order[starts[key] + rank] = place
            places[place] = starts[key] + rank
        elif place < choices:
            places[place] = 0
        if group == 0:
            if mine < experts:
                for i in lang.range(total, filled):
                    order[start + i] = choices
                for i in lang.range(filled // size):
                    of_blocks[start // size + i] = mine
            if mine == 0:
                end[0] = ends[0]
        for i in lang.range(ends[0] + place, order.shape[0], groups * block):
            order[i] = choices
        for i in lang.range(ends[0] // size + place, of_blocks.shape[0], groups * block):
            of_blocks[i] = -1

    return moe_places


def aligned(ids: Tensor, experts: int, size: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """order, places, of_blocks, end: ids (choices,) int32 by expert, each expert's filled up to blocks of `size`.

    order has the choice at each place, or their number where there is none. places has the place of each choice, 0 of
    those whose id is `experts`. of_blocks has the expert of each block, -1 beyond the last. end (1,) counts the places.
    """
    choices = ids.shape[0]
    most = choices + experts * (size - 1)
    table = Tensor.empty(-(-choices // threads(experts)), experts, dtype="int32")
    counts = table.custom_kernel(ids, kernel=counting(experts))[0]
    order, places, of_blocks, end = (Tensor.empty(n, dtype="int32") for n in (most, choices, -(-most // size), 1))
    made = order.custom_kernel(places, of_blocks, end, ids, counts, kernel=placing(experts, size))
    return made[0], made[1], made[2], made[3]
