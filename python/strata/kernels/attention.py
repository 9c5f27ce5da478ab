"""Attention by the arguments of flash-attention: dense, and of sequences one after the other. The log-sum-exp
of its rows merges attention to parts of the keys."""

from __future__ import annotations

import math

from .._checks import check_all, integer, real
from .._strata import Tensor
from ._attend import Scores, attend, checked_window, heads_of, in_window
from ._shared import floats, integers, shaped, unsigned, widened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, overload


def scale_of(name: str, scale: float | None, width: int) -> float:
    return 1 / math.sqrt(max(width, 1)) if scale is None else real(name, "scale", scale)


def _per_head(name, what, given, batch, of_keys, shared):
    """(h,) or (b, h) with axes for queries and keys."""
    heads = of_keys * shared
    fits = given.shape in ((heads,), (batch, heads))
    shaped(name, f"{what} is ({heads},) or ({batch}, {heads})", fits, **{what: given})
    return given.reshape(-1, of_keys, shared, 1, 1)


def dense(
    name: str,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    place: Tensor,
    see: list[Tensor],
    scores: tuple[float | None, float],
    bias: Tensor | None = None,
    alibi_slopes: Tensor | None = None,
    sinks: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention of q (b, n, h, d) to k (b, m, kv, d) and v (b, m, kv, e), and its lse (b, h, n).

    place (b or 1, n): where queries stand among the keys. see: masks (b or 1, n or 1, m). scores: scale and softcap.
    """
    (b, n, h, d), (m, of_keys), e = q.shape, k.shape[1:3], v.shape[-1]
    shared = heads_of(name, h, of_keys)
    if not (q.size and k.size and v.size):
        return _of_nothing(q, b, h, n, e, sinks)
    add = None
    if bias is not None:
        fits = bias.ndim <= 4 and all(x in (1, y) for x, y in zip(bias.shape[::-1], (m, n, h, b)))
        shaped(name, f"bias broadcasts to {(b, h, n, m)}", fits, bias=bias)
        bias = bias.reshape(*(1,) * (4 - bias.ndim), *bias.shape)
        of_heads = (of_keys, shared) if bias.shape[1] == h else (1, 1)
        add = bias.reshape(bias.shape[0], *of_heads, *bias.shape[2:])
    if alibi_slopes is not None:
        far = (place.unsqueeze(-1) - Tensor.arange(m)).abs().cast("float32").reshape(-1, 1, 1, n, m)
        slopes = widened(_per_head(name, "alibi_slopes", alibi_slopes, b, of_keys, shared)) * -far
        add = slopes if add is None else add + slopes
    sink = None if sinks is None else _per_head(name, "sinks", sinks, b, of_keys, shared)
    query = q.reshape(b, n, of_keys, shared, d).permute(0, 2, 3, 1, 4)
    key, value = (x.permute(0, 2, 1, 3).unsqueeze(2) for x in (k, v))
    seen = [mask.reshape(mask.shape[0], 1, 1, mask.shape[1], m) for mask in see]
    turned = n == 1  # heads that share keys are then the rows of one product
    if turned:
        query = query.transpose(2, 3)
        add, sink = (None if x is None else x.transpose(2, 3) for x in (add, sink))
    how = Scores(scale_of(name, scores[0], d), real(name, "softcap", scores[1], 0), seen)
    out, lse = attend(query, key, value, how, add, sink)
    out, lse = (x.transpose(2, 3) if turned else x for x in (out, lse))
    return out.permute(0, 3, 1, 2, 4).reshape(b, n, h, e), lse.reshape(b, h, n)


def _of_nothing(q, b, h, n, e, sinks):
    """No query, or no key: 0, and the logarithm of the sinks alone."""
    lse = Tensor.full((b, h, n), -math.inf, "float32", device=q.device)
    if sinks is not None and lse.size:
        lse = widened(sinks).reshape(-1, h, 1).expand(b, h, n)
    return Tensor.zeros(b, n, h, e, dtype=q.dtype, device=q.device), lse


def _checked(name, ndim, words, q, k, v, **more):
    floats(name, q=q, k=k, v=v, **more)
    fits = q.ndim == k.ndim == v.ndim == ndim and k.shape[:-1] == v.shape[:-1] and q.shape[-1] == k.shape[-1]
    fits = fits and (ndim == 3 or q.shape[0] == k.shape[0])
    shaped(name, words, fits, q=q, k=k, v=v)


if TYPE_CHECKING:

    @overload
    def flash_attention(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        *,
        causal: bool = False,
        window: tuple[int, int] = (-1, -1),
        scale: float | None = None,
        softcap: float = 0.0,
        bias: Tensor | None = None,
        alibi_slopes: Tensor | None = None,
        sinks: Tensor | None = None,
        return_lse: Literal[False] = False,
    ) -> Tensor: ...
    @overload
    def flash_attention(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        *,
        causal: bool = False,
        window: tuple[int, int] = (-1, -1),
        scale: float | None = None,
        softcap: float = 0.0,
        bias: Tensor | None = None,
        alibi_slopes: Tensor | None = None,
        sinks: Tensor | None = None,
        return_lse: bool,
    ) -> Tensor | tuple[Tensor, Tensor]: ...


def flash_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    window: tuple[int, int] = (-1, -1),
    scale: float | None = None,
    softcap: float = 0.0,
    bias: Tensor | None = None,
    alibi_slopes: Tensor | None = None,
    sinks: Tensor | None = None,
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """softmax(cap(q k^T * scale) + bias - slope * distance) v, and where return_lse the logarithms of its denominators.

    q (b, n, h, d), k (b, m, kv, d), v (b, m, kv, e). The result is (b, n, h, e) of q's type, lse (b, h, n) float32. h
    is a multiple of kv, whose heads serve neighbours. Query i stands at key i + m - n. causal: it sees keys up to
    there. window: that many left and right of it besides itself, -1 for all. scale: 1 / sqrt(d) by default. softcap
    c: cap(s) = c tanh(s / c). bias broadcasts to (b, h, n, m). alibi_slopes and sinks (h,) or (b, h). A sink is a
    score without a value, which lse counts. A row that sees nothing is 0, its lse -inf, its gradients 0. Dao et al.
    2022. ShapeError, DTypeError, UsageError.
    """
    name = "flash_attention"
    words = "q (b, n, h, d), k (b, m, kv, d), v (b, m, kv, e)"
    _checked(name, 4, words, q, k, v, bias=bias, alibi_slopes=alibi_slopes, sinks=sinks)
    n, m = q.shape[1], k.shape[1]
    place = (Tensor.arange(n) + (m - n)).reshape(1, n)
    see = in_window(place.unsqueeze(-1), Tensor.arange(m), checked_window(name, window), causal)
    out, lse = dense(name, q, k, v, place, see, (scale, softcap), bias, alibi_slopes, sinks)
    return (out, lse) if return_lse else out


def padded_rows(x: Tensor, starts: Tensor, counts: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """(sequences, most, ...) of x (tokens, ...), 0 beyond each count, and where there is a token."""
    there = Tensor.arange(most) < counts.unsqueeze(1)
    at = there.where(starts.unsqueeze(1) + Tensor.arange(most), 0)
    rows = x.take(unsigned(at), 0)
    return there.reshape(*there.shape, *[1] * (x.ndim - 1)).where(rows, 0), there


def sequences_of(cu: Tensor, tokens: int) -> tuple[Tensor, Tensor, Tensor]:
    """The sequence of each token, its place in there, and whether it is in one."""
    token = Tensor.arange(tokens)
    found = cu.cast("int64").searchsorted(token, True) - 1
    inside = (found >= 0) & (found < cu.size - 1)
    sequence = inside.where(found, 0)
    return sequence, inside.where(token - cu.cast("int64").take(sequence, 0), 0), inside


def flash_attention_varlen(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    *,
    causal: bool = False,
    window: tuple[int, int] = (-1, -1),
    scale: float | None = None,
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    sinks: Tensor | None = None,
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """flash_attention of sequences one after the other: sequence i has tokens cu[i] to cu[i + 1] of its tensor.

    q (t, h, d), k (u, kv, d), v (u, kv, e). The result is (t, h, e) of q's type, lse (h, t) float32. cu_seqlens_q and
    cu_seqlens_k (sequences + 1,) of integers begin with 0 and do not fall. No sequence has more than max_seqlen_q
    queries and max_seqlen_k keys. Tokens beyond the last sequence get 0, and what they hold is not read. The others
    as flash_attention. An offset or a length out of range is an error. ShapeError, DTypeError, UsageError.
    """
    name = "flash_attention_varlen"
    _checked(name, 3, "q (t, h, d), k (u, kv, d), v (u, kv, e)", q, k, v, alibi_slopes=alibi_slopes, sinks=sinks)
    integers(name, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k)
    fits = cu_seqlens_q.ndim == 1 and cu_seqlens_q.shape == cu_seqlens_k.shape and cu_seqlens_q.size > 0
    shaped(name, "both (sequences + 1,)", fits, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k)
    most_q, most_k = (integer(name, f"max_seqlen_{what}", x) for what, x in (("q", max_seqlen_q), ("k", max_seqlen_k)))
    window = checked_window(name, window)
    (t, h, _), e = q.shape, v.shape[-1]
    if cu_seqlens_q.size == 1 or not (q.size and k.size and most_q and most_k):
        out, lse = _of_nothing(q.unsqueeze(0), 1, h, t, e, sinks)
        return (out.squeeze(0), lse.squeeze(0)) if return_lse else out.squeeze(0)
    (begin_q, count_q), (begin_k, count_k) = (
        (cu[:-1].cast("int64"), _counts(cu.cast("int64"), most))
        for cu, most in ((cu_seqlens_q, most_q), (cu_seqlens_k, most_k))
    )
    rows, _ = padded_rows(q, begin_q, count_q, most_q)
    keys, is_key = padded_rows(k, begin_k, count_k, most_k)
    values, _ = padded_rows(v, begin_k, count_k, most_k)
    place = Tensor.arange(most_q) + (count_k - count_q).unsqueeze(1)
    see = [is_key.unsqueeze(1), *in_window(place.unsqueeze(-1), Tensor.arange(most_k), window, causal)]
    out, lse = dense(name, rows, keys, values, place, see, (scale, softcap), None, alibi_slopes, sinks)
    sequence, at, inside = sequences_of(cu_seqlens_q, t)
    flat = sequence * most_q + at
    out = inside.reshape(t, 1, 1).where(out.reshape(-1, h, e).take(flat, 0), 0)
    lse = inside.where(lse.transpose(0, 1).reshape(h, -1).take(flat, 1), -math.inf)
    return (out, lse) if return_lse else out


def _counts(cu, most):
    """Lengths of sequences; one below 0 or above most is an index out of range."""
    return Tensor.arange(most + 1).take(unsigned(cu[1:] - cu[:-1]), 0)


def merge_states(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    """out, lse of attention to all keys, from those to two parts of the keys: weights exp(lse_a), exp(lse_b).

    out (..., n, h, e), lse (..., h, n) as flash_attention gives them. Where a part saw nothing, its lse is -inf, and
    its out is not read. out has out_a's type, lse is float32. ShapeError, DTypeError.
    """
    name = "merge_states"
    floats(name, out_a=out_a, lse_a=lse_a, out_b=out_b, lse_b=lse_b)
    fits = out_a.ndim >= 3 and out_a.shape == out_b.shape and lse_a.shape == lse_b.shape
    fits = fits and lse_a.shape == (*out_a.shape[:-3], out_a.shape[-2], out_a.shape[-3])
    words = "out (..., n, h, e), lse (..., h, n)"
    shaped(name, words, fits, out_a=out_a, lse_a=lse_a, out_b=out_b, lse_b=lse_b)
    top = lse_a.maximum(lse_b)
    shift = top.isfinite().where(top, 0).detach()
    a, b = ((widened(lse) - shift).exp() for lse in (lse_a, lse_b))
    total = a + b
    none = total == 0
    weigh = lambda out, w: (w != 0).where(widened(out), 0) * w  # noqa: E731
    of_rows = [x.transpose(-1, -2).unsqueeze(-1) for x in (a, b, none.where(1, total))]
    out = (weigh(out_a, of_rows[0]) + weigh(out_b, of_rows[1])) / of_rows[2]
    return out.cast(out_a.dtype), none.where(-math.inf, none.where(1, total).log() + shift)


check_all(globals(), __name__, is_total=True)
