"""Attention to keys and values that lie in blocks of a cache, as a table names them."""

from __future__ import annotations

import math

from .._checks import check_all, integer
from .._strata import Tensor
from ._attend import checked_window, in_window
from ._shared import checked, floats, integers, shaped, widened
from .attention import dense, sequences_of
from .caches import of_heads, rows_of


def _of_tokens(name, query, block_tables, context_lens, cu_seqlens_q):
    """Of each query: its row of the table, how many keys it sees, and whether it is of a sequence (None: all are)."""
    integers(name, block_tables=block_tables, context_lens=context_lens, cu_seqlens_q=cu_seqlens_q)
    lengths = context_lens.cast("int64")
    if cu_seqlens_q is None:
        return block_tables, lengths, None
    sequence, at, inside = sequences_of(cu_seqlens_q, query.shape[0])
    ends = cu_seqlens_q.cast("int64")
    behind = (ends[1:] - ends[:-1]).take(sequence, 0) - 1 - at  # queries of its sequence after it
    return block_tables.take(sequence, 0), inside.where(lengths.take(sequence, 0) - behind, 0), inside


def _places(name, cache, block_tables, lengths):
    """Positions that are there, (sequences, positions). A length beyond the table is an index out of range.

    Lengths are checked by a kernel of their own: the attention kernel then addresses the cache itself, without copies.
    """
    most = block_tables.shape[1] * cache.shape[1]
    return Tensor.arange(most) < checked(lengths, most + 1).contiguous().unsqueeze(1)


def _gathered(name, query, caches, block_tables, context_lens, cu_seqlens_q, window=(-1, -1)):
    """Rows of each cache for each query, what of them it sees, where it stands among them, and whether it is one."""
    tables, lengths, inside = _of_tokens(name, query, block_tables, context_lens, cu_seqlens_q)
    there = _places(name, caches[0], tables, lengths)
    place = (lengths - 1).reshape(-1, 1)
    near = in_window(place.unsqueeze(-1), Tensor.arange(there.shape[1]), (window[0], -1), False)
    return [rows_of(cache, tables, there) for cache in caches], [there.unsqueeze(1), *near], place, inside


def _in_sequences(inside, out, lse):
    """0 and -inf for queries that are of no sequence."""
    if inside is None:
        return out, lse
    return inside.reshape(-1, 1, 1).where(out, 0), inside.where(lse, -math.inf)


def paged_attention(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    block_tables: Tensor,
    context_lens: Tensor,
    *,
    cu_seqlens_q: Tensor | None = None,
    scale: float | None = None,
    window: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    sinks: Tensor | None = None,
    k_scale: Tensor | float | None = None,
    v_scale: Tensor | float | None = None,
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Attention of the last tokens of sequences to their keys and values, which lie in blocks of a cache.

    query (t, h, d), key_cache (blocks, block, kv, d), value_cache (blocks, block, kv, e) of floats or int8.
    block_tables (sequences, most blocks) and context_lens (sequences,) of integers. The result is (t, h, e) of
    query's type, lse (h, t) float32. A sequence has one query, or cu_seqlens_q[i] to cu_seqlens_q[i + 1] of them
    (sequences + 1,). A query sees the keys up to itself. Keys are multiplied by k_scale and values by v_scale,
    numbers or tensors (1,) or (kv,). The others as flash_attention. Entries of the table and rows beyond a length
    may be anything. A block or a length out of range is an error. Kwon et al. 2023. ShapeError, DTypeError,
    UsageError.
    """
    name = "paged_attention"
    floats(name, query=query, alibi_slopes=alibi_slopes, sinks=sinks)
    given = {"query": query, "key_cache": key_cache, "value_cache": value_cache, "block_tables": block_tables,
             "context_lens": context_lens, "cu_seqlens_q": cu_seqlens_q}  # fmt: skip
    fits = query.ndim == 3 and key_cache.ndim == 4 and key_cache.shape[:3] == value_cache.shape[:-1]
    fits = fits and query.shape[-1] == key_cache.shape[-1] and block_tables.ndim == 2
    fits = fits and context_lens.shape == block_tables.shape[:1]
    sequences = block_tables.shape[0] if block_tables.ndim else 0
    queries = query.shape[:1] == (sequences,) if cu_seqlens_q is None else cu_seqlens_q.shape == (sequences + 1,)
    words = (
        "query (t, h, d), caches (blocks, block, kv, d), tables (b, most), lens (b,), cu_seqlens_q (b + 1,) or t = b"
    )
    shaped(name, words, fits and queries, **given)
    heads = key_cache.shape[2]
    scales = [of_heads(name, what, x, heads) for what, x in (("k_scale", k_scale), ("v_scale", v_scale))]
    (keys, values), see, place, inside = _gathered(
        name, query, (key_cache, value_cache), block_tables, context_lens, cu_seqlens_q, checked_window(name, window)
    )
    keys, values = (_scaled(x, s) for x, s in zip((keys, values), scales))
    q = query.unsqueeze(1)
    out, lse = dense(name, q, keys, values, place, see, (scale, softcap), None, alibi_slopes, sinks)
    out, lse = _in_sequences(inside, out.squeeze(1), lse.squeeze(2).T)
    return (out, lse) if return_lse else out


def _scaled(rows, scale):
    """Rows of a cache as the numbers that they stand for."""
    if scale is None:
        return rows if rows.dtype.itemsize > 1 else rows.cast("float32")
    return widened(rows.cast("float32") if not rows.dtype.is_float else rows) * scale


def mla_decode(
    query: Tensor,
    kv_cache: Tensor,
    block_tables: Tensor,
    context_lens: Tensor,
    *,
    value_dim: int = 512,
    scale: float | None = None,
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Latent attention: all heads share one key a position, whose first value_dim elements are the value too.

    query (b, h, d), kv_cache (blocks, block, d), block_tables (b, most blocks) and context_lens (b,) of integers.
    The result is (b, h, value_dim) of query's type, lse (h, b) float32. d is 576 and value_dim 512 in DeepSeek's
    models. scale: 1 / sqrt(d) by default. Lengths and tables as paged_attention. DeepSeek-V2, 2024. ShapeError,
    DTypeError, UsageError.
    """
    name = "mla_decode"
    floats(name, query=query, kv_cache=kv_cache)
    value_dim = integer(name, "value_dim", value_dim)
    given = {"query": query, "kv_cache": kv_cache, "block_tables": block_tables, "context_lens": context_lens}
    fits = query.ndim == kv_cache.ndim == 3 and query.shape[-1] == kv_cache.shape[-1] >= value_dim
    fits = fits and block_tables.ndim == 2 and context_lens.shape == block_tables.shape[:1] == query.shape[:1]
    words = f"query (b, h, d), kv_cache (blocks, block, d), tables (b, most), lens (b,), value_dim {value_dim} up to d"
    shaped(name, words, fits, **given)
    (keys,), see, place, _ = _gathered(name, query, (kv_cache,), block_tables, context_lens, None)
    keys = keys.unsqueeze(2)
    out, lse = dense(name, query.unsqueeze(1), keys, keys[..., :value_dim], place, see, (scale, 0.0))
    return (out.squeeze(1), lse.squeeze(2).T) if return_lse else out.squeeze(1)


check_all(globals(), __name__, is_total=True)
