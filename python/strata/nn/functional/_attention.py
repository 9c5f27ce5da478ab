"""Attention by torch's arguments."""

from __future__ import annotations

import math

from ..._strata import ShapeError, Tensor, UsageError, cat
from ...functional import linear, scaled_dot_product_attention as _own
from ._dropouts import dropout
from ._shared import rounded_once

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]

_NEVER = -math.inf


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key^T * scale + attn_mask) @ value: query (..., n, d), key (..., m, d), value (..., m, e) ->
    (..., n, e).

    attn_mask broadcasts to (..., n, m): bool (true: may attend), or a float that is added. dropout_p: each weight is
    left out with that probability. is_causal: query i sees key j where j <= i, and there is no attn_mask. scale: 1 /
    sqrt(d) by default. enable_gqa: the heads of key and value, axis -3, are fewer, and each serves a group of query's.
    A query that may see no key gives 0.
    """
    if is_causal and attn_mask is not None:
        raise UsageError(
            "[scaled_dot_product_attention] is_causal=True goes without attn_mask: put the causal part into the mask"
        )
    if enable_gqa:
        key, value = (_for_each(query, x) for x in (key, value))
    if not dropout_p:
        return _own(query, key, value, attn_mask, is_causal, scale)
    return _weighted(query, key, value, attn_mask, dropout_p, is_causal, scale)[0]


def _for_each(query, x):
    """Heads of keys or values, repeated for those of the queries."""
    if query.ndim < 3 or x.ndim < 3 or query.shape[-3] % max(x.shape[-3], 1):
        raise ShapeError(
            f"[scaled_dot_product_attention] shapes {query.shape} and {x.shape}: query's heads, axis -3, "
            f"are not a multiple of theirs"
        )
    times = query.shape[-3] // x.shape[-3]
    return x.repeat(times, -3) if times > 1 else x


@rounded_once
def _weighted(query, key, value, mask, dropout_p, is_causal, scale):
    """(the result, the weights that it was made with)."""
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        mask = Tensor.ones(scores.shape[-2:], dtype="bool").tril()
    if mask is not None:
        scores = mask.where(scores, _NEVER) if mask.dtype.is_bool else scores + mask
    seen = scores.max(-1, keepdims=True) > _NEVER
    weights = seen.where(seen.where(scores, 0).softmax(-1), 0)
    weights = dropout(weights, dropout_p) if dropout_p else weights
    return weights @ value, weights


def _projections(query, key, value, in_proj_weight, in_proj_bias, separate):
    """Queries, keys and values of all heads, side by side."""
    width = query.shape[-1]
    weights = separate if separate is not None else [in_proj_weight[i * width : (i + 1) * width] for i in range(3)]
    biases = [None] * 3 if in_proj_bias is None else [in_proj_bias[i * width : (i + 1) * width] for i in range(3)]
    return [linear(x, weight, bias) for x, weight, bias in zip((query, key, value), weights, biases)]


def _added(mask, more):
    """One mask that says both, as numbers to add."""
    numbers = [m if m is None or not m.dtype.is_bool else m.where(_NEVER, 0.0) for m in (mask, more)]
    return numbers[0] if numbers[1] is None else numbers[1] if numbers[0] is None else numbers[0] + numbers[1]


@rounded_once
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor,
    in_proj_bias: Tensor,
    bias_k: Tensor,
    bias_v: Tensor,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads: query (n, batch, width), key and value (m, batch, width), or all without batch.

    Masks are bool (true: may NOT attend) or added: key_padding_mask (batch, m), attn_mask (n, m) or (batch * heads, n,
    m). Gives the result and, where need_weights, the weights (batch, n, m), the mean over heads, or (batch, heads, n,
    m).
    """
    single = query.ndim == 2
    if single:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    n, batch, width = query.shape
    if width != embed_dim_to_check or width % num_heads:
        raise ShapeError(
            f"[multi_head_attention_forward] width {width}: it must be {embed_dim_to_check}, "
            f"and a multiple of {num_heads} heads"
        )
    if is_causal and attn_mask is None:
        raise UsageError("[multi_head_attention_forward] is_causal says that attn_mask is causal: give the mask too")
    q, k, v = _projections(
        query,
        key,
        value,
        in_proj_weight,
        in_proj_bias,
        (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None,
    )
    if bias_k is not None and bias_v is not None:
        k, v = (cat([x, bias.expand(1, batch, width)]) for x, bias in ((k, bias_k), (v, bias_v)))
    q, k, v = (x.reshape(x.shape[0], batch, num_heads, x.shape[2] // num_heads).permute(1, 2, 0, 3) for x in (q, k, v))
    k, v = (
        own if given is None else given.reshape(batch, num_heads, *given.shape[1:])
        for own, given in ((k, static_k), (v, static_v))
    )
    more = (bias_k is not None) + bool(add_zero_attn)
    if add_zero_attn:
        k, v = (x.pad([(0, 0), (0, 0), (0, 1), (0, 0)]) for x in (k, v))
    if attn_mask is not None:
        attn_mask = attn_mask.reshape(batch, num_heads, *attn_mask.shape[1:]) if attn_mask.ndim == 3 else attn_mask
        attn_mask = attn_mask.pad([*[(0, 0)] * (attn_mask.ndim - 1), (0, more)])
    padding = (
        None if key_padding_mask is None else key_padding_mask.reshape(batch, 1, 1, -1).pad([*[(0, 0)] * 3, (0, more)])
    )
    out, weights = _weighted(q, k, v, _added(attn_mask, padding), dropout_p if training else 0.0, False, None)
    out = linear(out.permute(2, 0, 1, 3).reshape(n, batch, width), out_proj_weight, out_proj_bias)
    weights = None if not need_weights else weights.mean(1) if average_attn_weights else weights
    return (out.squeeze(1), weights if weights is None else weights.squeeze(0)) if single else (out, weights)
