"""Mixture of experts: which experts a token goes to, the order of tokens by expert, and the experts themselves."""

from __future__ import annotations

import math

from .._checks import check_all, integer, real
from .._strata import DTypeError, Tensor, UsageError, dtypes
from ._aligning import MOST as MOST_ALIGNED, aligned
from ._routing import MOST, routing
from ._shared import checked, covered, floats, integers, shaped, spread, widened, without_gradient
from .packing import BLOCK, e8m0, fp4_values, unpack_int4, unpacked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


def ranks(x: Tensor) -> Tensor:
    """The place of each element of the last axis in falling order, ties to the lower one: int32, each place once."""
    n = x.shape[-1]
    mine, other = x.unsqueeze(-1), x.unsqueeze(-2)
    earlier = Tensor.arange(n) < Tensor.arange(n).unsqueeze(1)
    return ((other > mine) | ((other == mine) & earlier)).sum(-1, dtype="int32")


def _allowed(choice, groups, topk_groups):
    """The choices of the groups whose best two have the largest sums; -inf for the others."""
    tokens, experts = choice.shape
    of_groups = choice.reshape(tokens, groups, experts // groups)
    best = (ranks(of_groups) < 2).where(of_groups, 0).sum(-1)
    kept = (ranks(best) < topk_groups).unsqueeze(-1)
    return kept.where(of_groups, -math.inf).reshape(choice.shape)


def _routed(logits, k, bias, scoring, renormalize, factor, groups, topk_groups):
    """topk_softmax as tensor code, for groups and for more experts than the kernel takes."""
    wide, experts = widened(logits), logits.shape[1]
    scores = wide.softmax(-1) if scoring == "softmax" else wide.sigmoid()
    choice = scores if bias is None else scores + widened(bias)
    choice = choice.isnan().where(-math.inf, choice)
    choice = _allowed(choice, groups, topk_groups) if topk_groups < groups else choice
    chosen = ranks(choice).unsqueeze(1) == Tensor.arange(k, dtype="int32").unsqueeze(1)
    ids = chosen.where(Tensor.arange(experts, dtype="int32"), 0).sum(-1, dtype="int32")
    weights = chosen.where(scores.unsqueeze(1), 0).sum(-1)
    weights = weights / weights.sum(-1, keepdims=True) if renormalize else weights
    weights = (weights * factor if factor != 1 else weights).cast("float32")
    return weights, ids


def topk_softmax(
    logits: Tensor,
    k: int,
    *,
    renormalize: bool = False,
    scoring: Literal["softmax", "sigmoid"] = "softmax",
    bias: Tensor | None = None,
    groups: int = 1,
    topk_groups: int = 1,
    scale: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """weights, ids: the k experts of each token with the largest scores, in falling order.

    logits (tokens, experts), weights (tokens, k) float32, ids (tokens, k) int32. Scores are the softmax of logits, or
    their sigmoid. Of equal scores the lower id comes first. bias (experts,) is added for the choice alone. groups:
    experts are that many groups of neighbours, of which the topk_groups with the largest sums of their best two take
    part. Weights are scores, divided by their sum where renormalize, times scale. A row of NaN has k different ids.
    No gradient: Unsupported when one arrives. ShapeError, DTypeError, UsageError. DeepSeek-V3, 2024.
    """
    name = "topk_softmax"
    floats(name, logits=logits, bias=bias)
    fits = logits.ndim == 2 and (bias is None or bias.shape == logits.shape[1:])
    shaped(name, "logits (tokens, experts), bias (experts,)", fits, logits=logits, bias=bias)
    tokens, experts = logits.shape
    k, groups, topk_groups = (
        integer(name, what, n, 1) for what, n in (("k", k), ("groups", groups), ("topk_groups", topk_groups))
    )
    if scoring not in ("softmax", "sigmoid"):
        raise UsageError(f"[{name}] scoring {scoring!r}: it is softmax or sigmoid")
    if experts % groups or topk_groups > groups or k > topk_groups * (experts // groups):
        raise UsageError(f"[{name}] k {k} of {experts} experts in {groups} groups, {topk_groups} of which take part")
    factor = real(name, "scale", scale)
    if topk_groups == groups and 0 < experts <= MOST and tokens and logits.dtype != dtypes.float64:
        kernel = routing(scoring, bias is not None, renormalize, factor)
        made = Tensor.empty(tokens, k), Tensor.empty(tokens, k, dtype="int32")
        weights, ids = made[0].custom_kernel(made[1], logits, logits if bias is None else bias, kernel=kernel)[:2]
    else:
        weights, ids = _routed(logits, k, bias, scoring, renormalize, factor, groups, topk_groups)
    return without_gradient(name, [logits, *([] if bias is None else [bias])], weights, ids)  # type: ignore


def _local(ids: Tensor, experts: int, expert_map: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Ids that count, 0 for the others; the experts they stand for here; which count. -1 counts for nothing."""
    signed = ids.cast("int64")
    counts = signed != -1
    known = checked(counts.where(signed, 0), experts)
    if expert_map is None:
        return known, known, counts
    here = expert_map.cast("int64").take(known, 0)
    counts = counts & (here >= 0)
    return known, counts.where(here, 0), counts


def _by_expert(ids: Tensor, counts: Tensor, experts: int, block: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """order, places, of_blocks, end of ids (size,) that count, as of aligned(); by tensor code for many experts."""
    size = ids.shape[0]
    most = size + experts * (block - 1)
    if size and experts <= MOST_ALIGNED:
        return aligned(counts.where(ids, experts).cast("int32"), experts, block)
    of_expert = (ids.unsqueeze(1) == Tensor.arange(experts)) & counts.unsqueeze(1)
    running = of_expert.cast("int32").cumsum(0)  # of each choice: how many of each expert up to it
    total = of_expert.sum(0, dtype="int32")
    ends = ((total + (block - 1)) // block * block).cumsum(0)
    starts = ends - (total + (block - 1)) // block * block
    before = of_expert.where(running - 1 + starts, 0).sum(1, dtype="int32")
    at = counts.where(before, most)
    order = Tensor.full((most + 1,), size, "int32").scatter(0, at, Tensor.arange(size, dtype="int32"))[:most]
    blocks = Tensor.arange(-(-most // block), dtype="int32") * block
    after = (blocks.unsqueeze(1) >= ends).sum(1, dtype="int32")  # experts whose blocks end before it
    return order, counts.where(before, 0), (after < experts).where(after, -1).cast("int32"), ends[-1:].cast("int32")


def moe_align_block_size(
    topk_ids: Tensor, block_size: int, num_experts: int, expert_map: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """sorted_token_ids, expert_ids, num_tokens_post_padded: choices by expert, each expert's filled up to blocks.

    topk_ids (tokens, k) of integers. sorted_token_ids (topk_ids.size + num_experts * (block_size - 1),) int32 holds
    places in topk_ids, in their order for one expert, and topk_ids.size where there is none. expert_ids has the expert
    of each block, -1 beyond the last. num_tokens_post_padded (1,) counts the places of all blocks. expert_map
    (num_experts,) gives the id that an expert has here, or -1. Choices of -1, and those mapped to -1, are left out.
    Another id out of range is an error. vLLM's. ShapeError, DTypeError, UsageError.
    """
    name = "moe_align_block_size"
    integers(name, topk_ids=topk_ids, expert_map=expert_map)
    block_size, num_experts = integer(name, "block_size", block_size, 1), integer(name, "num_experts", num_experts, 1)
    fits = topk_ids.ndim == 2 and (expert_map is None or expert_map.shape == (num_experts,))
    words = f"topk_ids (tokens, k), expert_map ({num_experts},)"
    shaped(name, words, fits, topk_ids=topk_ids, expert_map=expert_map)
    known, _, counts = _local(topk_ids.reshape(-1), num_experts, expert_map)
    order, _, expert, end = _by_expert(known, counts, num_experts, block_size)
    if expert_map is not None:
        used = expert >= 0
        expert = used.where(expert_map.cast("int32").take(used.where(expert, 0), 0), -1).cast("int32")
    return order, expert, end


_ACTIVATIONS = {"silu": Tensor.silu, "gelu": Tensor.gelu, "gelu_tanh": Tensor.gelu_tanh}


def _weights(name, what, w, scale, ids):
    """float32 weights (tokens, k, rows, columns) of the experts that were chosen, of which alone are read."""
    mine = w.take(ids, 0)
    rows, columns = w.shape[1], w.shape[2] * (2 if w.dtype == dtypes.uint8 else 1)
    if w.dtype.is_float and scale is None:
        return widened(mine)
    if scale is None:
        raise UsageError(f"[{name}] {what} is of {w.dtype.name}: give {what}_scale")
    grid = scale.reshape(*scale.shape, *[1] * (3 - scale.ndim)) if 1 <= scale.ndim <= 3 else scale
    fits = grid.ndim == 3 and grid.shape[0] == w.shape[0] and 1 <= grid.shape[1] <= rows
    words = f"{what}_scale is (E,), (E, rows) or (E, rows / a, columns / b)"
    shaped(name, words, fits and 1 <= grid.shape[2] <= columns, **{what: w, f"{what}_scale": scale})
    is_e8m0 = w.dtype == scale.dtype == dtypes.uint8  # MXFP4
    block = (covered(rows, grid.shape[1]), BLOCK if is_e8m0 else covered(columns, grid.shape[2]))
    fits = -(-rows // block[0]) == grid.shape[1] and -(-columns // block[1]) == grid.shape[2]
    shaped(name, words, fits, **{what: w, f"{what}_scale": scale})
    every = spread(grid.take(ids, 0), rows, columns, block)
    if w.dtype != dtypes.uint8:
        return mine.cast("float32") * every
    if is_e8m0:
        return e8m0(fp4_values(unpacked(mine)), every)
    return unpack_int4(mine).cast("float32") * every


def _checked_experts(name, x, w1, w2, topk_weights, topk_ids, activation, **more):
    floats(name, x=x, topk_weights=topk_weights)
    integers(name, topk_ids=topk_ids, expert_map=more["expert_map"])
    if activation not in _ACTIVATIONS:
        raise UsageError(f"[{name}] activation {activation!r}: it is one of {', '.join(_ACTIVATIONS)}")
    for what, w in (("w1", w1), ("w2", w2)):
        if not (w.dtype.is_float or w.dtype in (dtypes.int8, dtypes.uint8)):
            raise DTypeError(f"[{name}] {what} is of {w.dtype.name}: it takes floats, int8, or uint8 of 4-bit numbers")
    fits = x.ndim == topk_ids.ndim == 2 and w1.ndim == w2.ndim == 3 and topk_ids.shape[0] == x.shape[0]
    if fits:
        (experts, double, h1), (_, h2, i2) = w1.shape, w2.shape
        h1, i2 = (n * (2 if w.dtype == dtypes.uint8 else 1) for n, w in ((h1, w1), (i2, w2)))
        fits = w2.shape[0] == experts and h1 == h2 == x.shape[1] and double == 2 * i2
        fits = fits and topk_weights.shape == topk_ids.shape
        for bias, n in ((more["w1_bias"], double), (more["w2_bias"], h2)):
            fits = fits and (bias is None or bias.shape == (experts, n))
    words = "x (t, h), w1 (E, 2 i, h), w2 (E, h, i), biases (E, 2 i) and (E, h), topk_weights and topk_ids (t, k)"
    given = {"x": x, "w1": w1, "w2": w2, "topk_weights": topk_weights, "topk_ids": topk_ids}
    shaped(name, words, fits, **given, w1_bias=more["w1_bias"], w2_bias=more["w2_bias"])


def fused_moe(
    x: Tensor,
    w1: Tensor,
    w2: Tensor,
    topk_weights: Tensor,
    topk_ids: Tensor,
    *,
    activation: Literal["silu", "gelu", "gelu_tanh"] = "silu",
    w1_scale: Tensor | None = None,
    w2_scale: Tensor | None = None,
    w1_bias: Tensor | None = None,
    w2_bias: Tensor | None = None,
    expert_map: Tensor | None = None,
    apply_router_weight_on_input: bool = False,
) -> Tensor:
    """sum over a token's choices e of weight * (w2[e] @ (act(gate) * up)), gate and up the halves of w1[e] @ x.

    x (t, h), w1 (E, 2 i, h), w2 (E, h, i), topk_weights and topk_ids (t, k), result (t, h) of x's type. Weights are
    floats, int8 or fp8, or uint8 of two 4-bit numbers, low half first: two's complement, or E2M1 where the scale is
    uint8 (MXFP4). Scales are (E,), (E, rows), or (E, rows / a, columns / b), where a and b divide, or are powers of
    two. Biases are (E, 2 i) and (E, h). expert_map: the id that an expert has here, or -1. Ids of -1, or mapped to
    -1, add 0. An id that comes twice counts twice. Another id out of range is an error. apply_router_weight_on_input:
    x is multiplied, not the result. More choices than 2 E are put in order of their experts, in blocks of 16 to 128.
    There operands of products are rounded to x's type. ShapeError, DTypeError, UsageError. Shazeer et al. 2017.
    """
    name = "fused_moe"
    _checked_experts(name, x, w1, w2, topk_weights, topk_ids, activation, expert_map=expert_map, w1_bias=w1_bias,
                     w2_bias=w2_bias)  # fmt: skip
    if not (x.size and topk_ids.size and w2.size):
        return x.zeros_like()
    _, ids, counts = _local(topk_ids, w1.shape[0] if expert_map is None else expert_map.shape[0], expert_map)
    ids = ids if expert_map is None else checked(ids, w1.shape[0])
    factor = widened(topk_weights).unsqueeze(-1)
    weights = ((w1, w1_scale, w1_bias), (w2, w2_scale, w2_bias))
    shape, experts = topk_ids.shape, w1.shape[0]
    if topk_ids.size > 2 * experts:
        flat = counts.reshape(-1)
        block = min(128, max(16, 1 << (topk_ids.size // experts).bit_length()))
        order, at, expert, _ = _by_expert(ids.reshape(-1), flat, experts, block)
        expert = (expert >= 0).where(expert, 0)
        choice = (order < topk_ids.size).where(order, 0).pad(((0, expert.shape[0] * block - order.shape[0]),))
        rows = x.take(choice // shape[1], 0)
        if apply_router_weight_on_input:
            rows = (widened(rows) * factor.reshape(-1, 1).take(choice, 0)).cast(x.dtype)
        rows = rows.reshape(-1, block, x.shape[1]).contiguous()  # a product reads each of them many times
        out = _applied(name, rows, expert, weights, activation, x.dtype)
        out = out.reshape(-1, x.shape[1]).take(at, 0).reshape(*shape, x.shape[1])
    else:
        rows = widened(x).unsqueeze(1)
        rows = (rows * factor if apply_router_weight_on_input else rows).unsqueeze(2)
        out = _applied(name, rows, ids, weights, activation, widened(x).dtype).squeeze(2)
    out = out if apply_router_weight_on_input else out * factor
    return counts.unsqueeze(-1).where(out, 0).sum(1).cast(x.dtype)


def _applied(name, rows, ids, weights, activation, dtype):
    """The results of experts ids (...) on rows (..., rows, h). Operands of products are rounded to dtype."""
    (w1, scale1, bias1), (w2, scale2, bias2) = weights

    def product(a, what, w, scale, bias):
        w = w.take(ids, 0) if w.dtype == dtype and scale is None else _weights(name, what, w, scale, ids).cast(dtype)
        out = widened(a.cast(dtype)) @ widened(w).mT
        return out if bias is None else out + widened(bias).take(ids, 0).unsqueeze(-2)

    gate, up = product(rows, "w1", w1, scale1, bias1).split([w1.shape[1] // 2] * 2, -1)
    return product(_ACTIVATIONS[activation](gate) * up, "w2", w2, scale2, bias2)


def moe_sum(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """The sum over a token's choices of x (tokens, k, h): (tokens, h) of x's type, summed in float32, rounded once.

    mask (tokens, k) of bool: choices that are False are left out, and are not read. ShapeError, DTypeError.
    """
    floats("moe_sum", x=x)
    fits = x.ndim == 3 and (mask is None or mask.shape == x.shape[:2])
    shaped("moe_sum", "x (tokens, k, h), mask (tokens, k)", fits, x=x, mask=mask)
    if mask is not None and not mask.dtype.is_bool:
        raise DTypeError(f"[moe_sum] mask is of {mask.dtype.name}: it takes bool")
    wide = widened(x)
    return (wide if mask is None else mask.unsqueeze(-1).where(wide, 0)).sum(1).cast(x.dtype)


check_all(globals(), __name__, is_total=True)
