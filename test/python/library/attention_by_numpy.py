"""Attention in float64, a query at a time: the reference of the tests of attention."""

import math

import numpy as np


def of_query(q, k, v, at, causal=False, window=(-1, -1), scale=None, softcap=0.0, bias=None, slope=None, sink=None):
    """(result, logarithm of the denominator) of one query of one head, which stands at key `at`."""
    seen = [
        j
        for j in range(len(k))
        if not (causal and j > at)
        and not (window[0] >= 0 and j < at - window[0])
        and not (window[1] >= 0 and j > at + window[1])
    ]
    s = np.array([q @ k[j] for j in seen]) * (1 / math.sqrt(len(q)) if scale is None else scale)
    s = softcap * np.tanh(s / softcap) if softcap else s
    s = s if bias is None else s + bias[seen]
    s = s if slope is None else s - slope * np.array([abs(at - j) for j in seen])
    every = s if sink is None else np.append(s, sink)
    if not len(every):
        return np.zeros(v.shape[-1]), -np.inf
    top = every.max()
    lse = top + np.log(np.exp(every - top).sum())
    return (np.exp(s - lse) @ v[seen] if seen else np.zeros(v.shape[-1])), lse


def dense(q, k, v, bias=None, alibi_slopes=None, sinks=None, **how):
    """(b, n, h, d), (b, m, kv, d), (b, m, kv, e) -> (b, n, h, e), (b, h, n)."""
    (b, n, h, _), (m, kv) = q.shape, k.shape[1:3]
    out, lse = np.zeros((b, n, h, v.shape[-1])), np.zeros((b, h, n))
    bias = None if bias is None else np.broadcast_to(bias, (b, h, n, m))
    of = lambda x, i, j: None if x is None else np.broadcast_to(x, (b, h))[i, j]  # noqa: E731
    for i, r, j in np.ndindex(b, n, h):
        own = j // (h // kv)
        out[i, r, j], lse[i, j, r] = of_query(
            q[i, r, j], k[i, :, own], v[i, :, own], r + m - n, bias=None if bias is None else bias[i, j, r],
            slope=of(alibi_slopes, i, j), sink=of(sinks, i, j), **how,
        )  # fmt: skip
    return out, lse


def rows_of(cache, table, length):
    """Rows of a sequence, from the blocks that its table names."""
    block = cache.shape[1]
    return np.array([cache[table[p // block], p % block] for p in range(length)]).reshape(length, *cache.shape[2:])


def paged(query, keys, values, tables, lengths, starts=None, k_scale=1.0, v_scale=1.0, **how):
    """(t, h, d) and caches -> (t, h, e), (h, t); starts: where the queries of each sequence begin."""
    starts = range(len(lengths) + 1) if starts is None else starts
    out, lse = np.zeros((*query.shape[:2], values.shape[-1])), np.full(query.shape[1::-1], -np.inf)
    for i, length in enumerate(lengths):
        mine = query[starts[i] : starts[i + 1]]
        if not length:
            continue
        k, v = (rows_of(c, tables[i], length) * s for c, s in ((keys, k_scale), (values, v_scale)))
        one, of_one = dense(mine[None], k[None], v[None], causal=True, **how)
        out[starts[i] : starts[i + 1]], lse[:, starts[i] : starts[i + 1]] = one[0], of_one[0]
    return out, lse
