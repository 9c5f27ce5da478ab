"""Attention with its masks and caches, and the positions that are turned into queries and keys."""

import math

import numpy

from ... import _strata, functional
from ..._strata import Tensor, Unsupported
from ..values import type_name
from .common import positions, wide

LONGEST = 1 << 15  # positions that are unrolled


def heads_of(x, count, kind):
    """(n, positions, heads * width) -> (n, heads, positions, width), as 4 axes are already."""
    if x.ndim == 4:
        return x
    if not count:
        raise Unsupported(f"[onnx] Attention of three axes says how many heads its {kind} have")
    return x.reshape(*x.shape[:2], count, -1).transpose(1, 2)


def _allowed(q, k, is_causal, offset, left, right):
    """Which keys j each query i sees by places alone, or None: queries stand `offset` after the first key."""
    if not is_causal and left < 0 and right < 0:
        return None
    i, j = positions(q, offset).reshape(-1, 1), positions(k, offset).reshape(1, -1)
    apart = i + offset - j
    seen = apart >= 0 if is_causal else None
    for bound in ([apart <= left] if left >= 0 else []) + ([-apart <= right] if right >= 0 else []):
        seen = bound if seen is None else seen & bound
    return seen


def _bias(like, q, k, mask, past, lengths, is_causal, left, right):
    """The term added to the scores of q queries and k keys: 0, a mask's numbers, or -inf for masked keys. None adds
    nothing.
    """
    out = None
    if mask is not None:
        if mask.shape[-1] < k:
            mask = mask.pad(
                [(0, 0)] * (mask.ndim - 1) + [(0, k - mask.shape[-1])], False if mask.dtype.is_bool else -math.inf
            )
        out = _strata.where(mask, 0.0, -math.inf).cast(like.dtype) if mask.dtype.is_bool else mask.cast(like.dtype)
    offset = Tensor(numpy.array(past, numpy.int64), device=like.device)
    if lengths is not None:
        lengths = lengths.cast("int64").reshape(-1, 1, 1, 1)
        offset = lengths - q
    seen = _allowed(q, k, is_causal, offset, left, right)
    if lengths is not None:
        there = positions(k, like).reshape(1, 1, 1, k) < lengths
        seen = there if seen is None else seen & there
    if seen is None:
        return out
    return _strata.where(seen, 0.0 if out is None else out, -math.inf).cast(like.dtype)


def _softmax(x, bias):
    """Rows that see no key are 0."""
    largest = x.max(-1, True)
    power = (x - _strata.where(largest == -math.inf, 0, largest)).exp()
    whole = power.sum(-1, True)
    out = power / _strata.where(whole == 0, 1, whole)
    return out if bias is None else _strata.where(bias.max(-1, True) == -math.inf, 0, out)


def attention(
    query,
    key,
    value,
    mask=None,
    past_key=None,
    past_value=None,
    lengths=None,
    *,
    is_causal=0,
    scale=None,
    softcap=0.0,
    q_num_heads=0,
    kv_num_heads=0,
    qk_matmul_output_mode=0,
    softmax_precision=1,
    left_window_size=-1,
    right_window_size=-1,
    count=1,
):
    """(output, keys and values with those of earlier calls in front, the scores that the mode says)."""
    kind, three = query.dtype, query.ndim == 3
    q, k, v = (
        heads_of(query, q_num_heads, "queries"),
        heads_of(key, kv_num_heads, "keys"),
        heads_of(value, kv_num_heads, "values"),
    )
    past = 0 if past_key is None else past_key.shape[2]
    if past_key is not None:
        k, v = _strata.cat([past_key, k], 2), _strata.cat([past_value, v], 2)
    present = k, v
    groups = q.shape[1] // k.shape[1]
    k, v = (repeated(x, groups) for x in (k, v))
    q, k, v = map(wide, (q, k, v))
    placed = mask is not None or past or lengths is not None or left_window_size >= 0 or right_window_size >= 0
    bias = (
        _bias(q, q.shape[2], k.shape[2], mask, past, lengths, is_causal, left_window_size, right_window_size)
        if placed or count > 1 or softcap
        else None
    )
    if count == 1 and not softcap:
        out = functional.scaled_dot_product_attention(q, k, v, bias, bool(is_causal) and not placed, scale)
        out = out if bias is None else _strata.where(bias.max(-1, True) == -math.inf, 0, out)
        shown = None
    else:
        out, shown = _apart(q, k, v, bias, scale, softcap, qk_matmul_output_mode)
    out = out.cast(kind)
    out = out.transpose(1, 2).reshape(out.shape[0], out.shape[2], -1) if three else out
    return out if count == 1 else (out, *present, shown.cast(kind))[:count]


def _apart(q, k, v, bias, scale, softcap, mode):
    """(output, the scores that the mode says) step by step."""
    product = (q @ k.transpose(-1, -2)) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    scores = softcap * (product / softcap).tanh() if softcap else product
    biased = scores if bias is None else scores + bias
    weights = _softmax(biased, bias)
    return weights @ v, {0: product, 1: scores, 2: biased, 3: weights}[mode]


def rotary(x, cos, sin, places=None, *, interleaved=0, num_heads=0, rotary_embedding_dim=0):
    """Pairs of each head turned by the angle of their place; pairs are neighbours, or halves of the head apart."""
    shape, kind = x.shape, x.dtype
    x = x.transpose(1, 2) if x.ndim == 4 else x.reshape(*shape[:2], num_heads, -1)
    width = rotary_embedding_dim or x.shape[-1]
    turned, rest = x[..., :width], x[..., width:]
    if places is not None:
        cos, sin = cos.take(places, 0), sin.take(places, 0)
    cos, sin = cos.unsqueeze(2), sin.unsqueeze(2)
    first, second = (turned[..., 0::2], turned[..., 1::2]) if interleaved else turned.chunk(2, -1)
    first, second, cos, sin = map(wide, (first, second, cos, sin))
    real, imaginary = (cos * first - sin * second).cast(kind), (sin * first + cos * second).cast(kind)
    out = (
        _strata.stack([real, imaginary], -1).reshape(turned.shape)
        if interleaved
        else _strata.cat([real, imaginary], -1)
    )
    out = _strata.cat([out, rest], -1) if rest.shape[-1] else out
    return out.transpose(1, 2) if len(shape) == 4 else out.reshape(shape)


def flex_attention(step, inputs, scope):
    """Attention whose scores and weights go through graphs of the model's own."""
    q, k, v = inputs
    kind, how = q.dtype, step.attributes
    groups = q.shape[1] // k.shape[1]
    k, v = (repeated(x, groups) for x in (k, v))
    root = math.sqrt(how.get("scale", 1 / math.sqrt(q.shape[-1])))
    precision = (
        type_name(how["softmax_precision"])
        if how.get("softmax_precision")
        else "float64"
        if kind == _strata.dtypes.float64
        else "float32"
    )
    compute = precision if precision in ("float32", "float64") else "float32"
    q, k, v = (x.cast(compute) for x in (q, k, v))
    scores = ((q * root) @ (k.transpose(-1, -2) * root)).cast(precision)
    for name, after in (
        ("score_mod", lambda x: _softmax(x.cast(compute), None).cast(precision)),
        ("prob_mod", lambda x: x),
    ):
        body = how.get(name)
        if body is not None:
            inner = scope.inner()
            inner[body.inputs[0]] = scores
            (scores,) = body.run(inner)
        scores = after(scores)
    return (scores.cast(compute) @ v).cast(kind)


def repeated(x, groups):
    """Each head repeated, one after the other."""
    return (
        x
        if groups == 1
        else x.unsqueeze(2).expand(*x.shape[:2], groups, *x.shape[2:]).reshape(x.shape[0], -1, *x.shape[2:])
    )


def linear_attention(
    query,
    key,
    value,
    past_state=None,
    decay=None,
    beta=None,
    *,
    kv_num_heads,
    q_num_heads,
    chunk_size=64,
    scale=0.0,
    update_rule="gated_delta",
    count=1,
):
    """A state (n, heads, width of keys, width of values) that each position decays, corrects and reads. Positions are
    unrolled.
    """
    if (
        update_rule not in ("linear", "gated", "delta", "gated_delta")
        or ("gated" in update_rule) != (decay is not None)
        or ("delta" in update_rule) != (beta is not None)
    ):
        raise Unsupported(
            f"[onnx] LinearAttention with update_rule {update_rule}, {'a' if decay is not None else 'no'} decay and "
            f"{'a' if beta is not None else 'no'} beta"
        )
    if query.shape[1] > LONGEST:
        raise Unsupported(f"[onnx] LinearAttention of {query.shape[1]} positions: {LONGEST} are the most")
    kind, groups = query.dtype, q_num_heads // kv_num_heads
    q, k, v = (
        heads_of(x, n, "inputs").cast("float32")
        for x, n in ((query, q_num_heads), (key, kv_num_heads), (value, kv_num_heads))
    )
    decay = None if decay is None else heads_of(decay, kv_num_heads, "decays").cast("float32").exp()
    beta = None if beta is None else beta.transpose(1, 2).unsqueeze(-1).cast("float32")
    state = (
        Tensor.zeros(q.shape[0], kv_num_heads, k.shape[-1], v.shape[-1], device=q.device)
        if past_state is None
        else past_state.cast("float32")
    )
    outputs = []
    for t in range(q.shape[2]):
        new = v[:, :, t]
        state = state if decay is None else state * decay[:, :, t].unsqueeze(-1)
        if beta is not None:
            new = beta[:, :, t] * (new - (k[:, :, t].unsqueeze(-2) @ state).squeeze([-2]))
        state = state + k[:, :, t].unsqueeze(-1) * new.unsqueeze(-2)
        outputs.append((q[:, :, t].unsqueeze(-2) @ repeated(state, groups)).squeeze([-2]))
    out = _strata.stack(outputs, 1) * (scale or 1 / math.sqrt(q.shape[-1]))
    out = out.reshape(*out.shape[:2], -1).cast(kind)
    return out if count == 1 else (out, state.cast(kind if past_state is None else past_state.dtype))


def causal_conv(x, weight, bias=None, past_state=None, *, activation="none", count=1):
    """Each channel by itself over what came before; the last positions are the next call's past."""
    if activation not in ("none", "silu", "swish"):
        raise Unsupported(f"[onnx] CausalConvWithState with activation {activation}: none, silu and swish are there")
    before = weight.shape[2] - 1
    whole = x.pad([(0, 0), (0, 0), (before, 0)]) if past_state is None else _strata.cat([past_state, x], 2)
    y = functional.conv(whole, weight, bias, 1, 0, 1, x.shape[1]).cast(x.dtype)
    y = y if activation == "none" else y.silu()
    return y if count == 1 else (y, whole[:, :, whole.shape[2] - before :])


ROWS = {
    "Attention": attention,
    "CausalConvWithState": causal_conv,
    "LinearAttention": linear_attention,
    "RotaryEmbedding": rotary,
}
