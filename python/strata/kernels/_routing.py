"""The kernel of topk_softmax: 32 lanes a token, whose scores are in their registers."""

from __future__ import annotations

import functools

from .. import lang
from .._strata import dtypes
from ..lang._kernel import Kernel, kernel

BLOCK, LANES = 256, 32  # threads of a block, and of a token: half a wave where that is 64
MOST = 16 * LANES  # experts whose scores fit the registers


def _ordered(x):
    """A word whose order as an unsigned number is that of a float: 1 or more, NaN as -inf, -0 as 0."""
    x = lang.select(x == x, x, -float("inf")) + 0.0
    bits = x.bitcast(dtypes.uint32)
    return lang.select(bits >> 31 == 1, ~bits, bits | 0x80000000)


@functools.cache
def routing(scoring: str, biased: bool, renormalize: bool, scale: float) -> Kernel:
    """The kernel weights, ids (tokens, k) = f(logits (tokens, experts), bias (experts,)).

    In each of k turns the lanes of a token take their largest choice, of equal ones that with the lower id.
    """

    @kernel(grid=lambda weights, *rest: -(-weights.shape[0] // (BLOCK // LANES)), block=BLOCK)
    def topk_softmax(weights: lang.Tensor, ids: lang.Tensor, logits: lang.Tensor, bias: lang.Tensor):
        (tokens, k), experts = weights.shape, logits.shape[1]
        token = lang.block_idx.x * (BLOCK // LANES) + lang.thread_idx.x // LANES
        each = -(-experts // LANES)
        if token < tokens:
            mine = [lang.thread_idx.x % LANES + LANES * i for i in range(each)]
            scores = [_loaded(logits, (token, expert), experts) for expert in mine]
            _weigh(scores, mine, experts, scoring)
            choices = [s + _loaded(bias, (e,), experts) for s, e in zip(scores, mine)] if biased else scores
            keys = [lang.select(e < experts, _ordered(c), dtypes.uint32(0)) for c, e in zip(choices, mine)]
            places = [dtypes.int32(-1)] * each
            for turn in range(k):
                top = keys[0]
                for i in lang.static_range(1, each):
                    top = lang.maximum(top, keys[i])
                top = _over_lanes(top, "max")
                first = dtypes.int32(experts)
                for i in lang.static_range(each):
                    first = lang.select(keys[i] == top, lang.minimum(first, mine[i]), first)
                first = _over_lanes(first, "min")
                for i in lang.static_range(each):
                    places[i] = lang.select(mine[i] == first, turn, places[i])
                    keys[i] = lang.select(mine[i] == first, dtypes.uint32(0), keys[i])
            factor = dtypes.float32(scale)
            if renormalize:
                total = dtypes.float32(0)
                for i in lang.static_range(each):
                    total = total + lang.select(places[i] >= 0, scores[i], 0.0)
                factor = factor / _over_lanes(total, "add")
            for i in lang.static_range(each):
                if places[i] >= 0:
                    weights[token, places[i]] = scores[i] * factor
                    ids[token, places[i]] = mine[i]

    return topk_softmax


def _over_lanes(value, op):
    return lang.wave_reduce(value, op, width=LANES)


def _loaded(view, at, experts):
    """An element as float32. Lanes beyond the last expert have that one's."""
    return view[(*at[:-1], lang.minimum(at[-1], experts - 1))].cast(dtypes.float32)


def _weigh(scores, mine, experts, scoring):
    """Logits become scores in place; those beyond the last expert count for nothing."""
    if scoring == "sigmoid":
        for i in range(len(scores)):
            scores[i] = 1 / (1 + lang.exp(-scores[i]))
        return
    inside = [lang.select(expert < experts, score, -float("inf")) for score, expert in zip(scores, mine)]
    largest = inside[0]
    for score in inside[1:]:
        largest = lang.maximum(largest, score)
    largest = _over_lanes(largest, "max")
    total = dtypes.float32(0)
    for i in range(len(scores)):
        scores[i] = lang.exp(inside[i] - largest)
        total = total + scores[i]
    total = _over_lanes(total, "add")
    for i in range(len(scores)):
        scores[i] = scores[i] / total
