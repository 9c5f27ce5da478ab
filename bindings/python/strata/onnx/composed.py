"""Operators of ONNX that are several of tensors: attention, resizing, scattering, the largest elements."""

import math

import numpy

from .. import _strata
from .._strata import Tensor, Unsupported


def axis_of(axis, ndim):
    if not -ndim <= axis < ndim:
        raise Unsupported(f"[onnx] axis {axis} of a tensor of {ndim} axes")
    return axis % ndim


def heads_of(x, count, kind):
    """(n, positions, heads * width) -> (n, heads, positions, width), as 4 axes are already."""
    if x.ndim == 4:
        return x
    if not count:
        raise Unsupported(f"[onnx] Attention of three axes says how many heads its {kind} have")
    return x.reshape(*x.shape[:2], count, -1).transpose(1, 2)


def attention(q, k, v, mask=None, past_key=None, past_value=None, sizes=None, *, is_causal=0, scale=None, softcap=0.0, q_num_heads=0, kv_num_heads=0,
              qk_matmul_output_mode=0, softmax_precision=1, count=1):  # fmt: skip
    """Version 23's. Of several results the first alone is there, and keys and values without those of earlier calls."""
    if count > 1 or any(x is not None for x in (past_key, past_value, sizes)):
        raise Unsupported("[onnx] Attention with past keys and values, or with more results than one: with one of queries, keys, values and a mask it is there")
    apart = q.ndim == 3
    q, k, v = heads_of(q, q_num_heads, "queries"), heads_of(k, kv_num_heads, "keys"), heads_of(v, kv_num_heads, "values")
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = (x.unsqueeze(2).expand(*x.shape[:2], groups, *x.shape[2:]).reshape(x.shape[0], -1, *x.shape[2:]) for x in (k, v))
    scores = (q @ k.transpose(-1, -2)) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        seen = Tensor.ones(*scores.shape[-2:], dtype="boolean", device=q.device).tril()
        scores = _strata.where(seen, scores, -math.inf)
    if mask is not None:
        scores = _strata.where(mask, scores, -math.inf) if mask.dtype == "boolean" else scores + mask
    if softcap:
        raise Unsupported("[onnx] Attention with a softcap")
    out = scores.softmax(-1) @ v
    return out.transpose(1, 2).reshape(out.shape[0], out.shape[2], -1) if apart else out


def group_norm(x, scale, bias, *, num_groups, epsilon=1e-5, stash_type=1, version=21):
    apart = x.reshape(x.shape[0], num_groups, -1)
    apart = apart - apart.mean(-1, True)
    out = (apart / (apart.square().mean(-1, True) + epsilon).sqrt()).reshape(x.shape)
    if version < 21:  # of each group
        scale, bias = (v.reshape(-1, 1).expand(num_groups, x.shape[1] // num_groups).reshape(-1) for v in (scale, bias))
    by = [-1 if i == 1 else 1 for i in range(x.ndim)]
    return out * scale.reshape(by) + bias.reshape(by)


def rms_norm(x, scale, *, axis=-1, epsilon=1e-5, stash_type=1):
    return x / (x.square().mean(tuple(range(axis_of(axis, x.ndim), x.ndim)), True) + epsilon).sqrt() * scale


def places(size, n, factor, how):
    """Where the elements of a resized axis lie in the one before."""
    i = numpy.arange(size, dtype=numpy.float64)
    if how == "align_corners":
        return i * ((n - 1) / (size - 1) if size > 1 else 0)
    if how == "half_pixel" or how == "pytorch_half_pixel":
        return (i + 0.5) / factor - 0.5 if how == "half_pixel" or size > 1 else i * 0
    if how != "asymmetric":
        raise Unsupported(f"[onnx] Resize with coordinate_transformation_mode {how}")
    return i / factor


LONGEST_AXIS = 1 << 24  # that is resized: its places are made on the host
ROUNDED = {"round_prefer_floor": lambda p: numpy.ceil(p - 0.5), "round_prefer_ceil": lambda p: numpy.floor(p + 0.5), "floor": numpy.floor, "ceil": numpy.ceil}


def resize(x, roi=None, scales=None, sizes=None, *, mode="nearest", coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_floor", axes=None, antialias=0,
           keep_aspect_ratio_policy="stretch", exclude_outside=0, extrapolation_value=0.0, cubic_coeff_a=-0.75):  # fmt: skip
    if mode not in ("nearest", "linear") or antialias or exclude_outside or keep_aspect_ratio_policy != "stretch":
        raise Unsupported(f"[onnx] Resize with mode {mode}, antialias {antialias}, keep_aspect_ratio_policy {keep_aspect_ratio_policy}: plain nearest and linear are there")
    scales, sizes = ([float(n) for n in numpy.asarray(v).reshape(-1)] if v is not None else [] for v in (scales, sizes))
    for i, axis in enumerate(axes or range(x.ndim)):
        n = x.shape[axis]
        to = int(sizes[i]) if sizes else math.floor(n * scales[i])
        if not 0 <= to < LONGEST_AXIS:
            raise Unsupported(f"[onnx] Resize of axis {axis} to {to} elements")
        if to == n and (sizes or scales[i] == 1):
            continue
        at = places(to, n, to / n if sizes else scales[i], coordinate_transformation_mode)
        by = [to if k == axis % x.ndim else 1 for k in range(x.ndim)]
        if mode == "nearest":
            x = x.take(Tensor(ROUNDED[nearest_mode](at).clip(0, n - 1).astype(numpy.int64)), axis)
            continue
        at = at.clip(0, n - 1)
        low = numpy.floor(at).astype(numpy.int64)
        part = Tensor((at - low).astype(numpy.float32), device=x.device).cast(x.dtype).reshape(by)
        x = x.take(Tensor(low), axis) * (1 - part) + x.take(Tensor(numpy.minimum(low + 1, n - 1)), axis) * part
    return x


def topk(x, k, *, axis=-1, largest=1, sorted=1):
    return x.topk(int(numpy.asarray(k).reshape(-1)[0]), axis, bool(largest))


def scatter_elements(x, indices, values, *, axis=0, reduction="none"):
    """Along the axis; elsewhere the indices may be fewer than the elements."""
    if reduction not in ("none", "add"):
        raise Unsupported(f"[onnx] ScatterElements with reduction {reduction}: none and add are there")
    axis = axis_of(axis, x.ndim)
    whole, sizes = x, [n if i == axis else m for i, (n, m) in enumerate(zip(x.shape, indices.shape))]
    part = whole[tuple(slice(n) for n in sizes)]
    indices = _strata.where(indices < 0, indices + x.shape[axis], indices)
    part = part.scatter_add(axis, indices, values) if reduction == "add" else part.scatter(axis, indices, values)
    return part if part.shape == x.shape else placed(whole, part)


def placed(whole, part):
    """The part in place of the first elements along all axes."""
    missing = [(0, n - m) for n, m in zip(whole.shape, part.shape)]
    there = Tensor.ones(*part.shape, dtype="boolean", device=whole.device).pad(missing)
    return _strata.where(there, part.pad(missing), whole)


def scatter_nd(x, indices, values, *, reduction="none"):
    if reduction not in ("none", "add"):
        raise Unsupported(f"[onnx] ScatterND with reduction {reduction}: none and add are there")
    depth = indices.shape[-1]
    outer, rest = x.shape[:depth], x.shape[depth:]
    rows = indices.reshape(-1, depth)
    at = Tensor.zeros(rows.shape[0], dtype="int64", device=x.device)
    for i, n in enumerate(outer):
        at = at * n + _strata.where(rows[:, i] < 0, rows[:, i] + n, rows[:, i])
    flat, inner = x.reshape(math.prod(outer), -1), math.prod(rest)
    at, values = at.reshape(-1, 1).expand(rows.shape[0], inner), values.reshape(rows.shape[0], inner)
    return (flat.scatter_add(0, at, values) if reduction == "add" else flat.scatter(0, at, values)).reshape(x.shape)


def one_hot(indices, depth, values, *, axis=-1):
    n = int(numpy.asarray(depth).reshape(-1)[0])
    at = indices.cast("int64").unsqueeze(axis)
    by = [n if i == axis % at.ndim else 1 for i in range(at.ndim)]
    at = _strata.where(at < 0, at + n, at)
    return _strata.where(at == Tensor.arange(n, device=indices.device).reshape(by), values[1], values[0])


def blocks_apart(x, *, blocksize, mode="DCR"):
    n, c, h, w = x.shape
    if mode == "DCR":
        x = x.reshape(n, blocksize, blocksize, -1, h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        x = x.reshape(n, -1, blocksize, blocksize, h, w).permute(0, 1, 4, 2, 5, 3)
    return x.reshape(n, -1, h * blocksize, w * blocksize)


def blocks_together(x, *, blocksize):
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // blocksize, blocksize, w // blocksize, blocksize)
    return x.permute(0, 3, 5, 1, 2, 4).reshape(n, -1, h // blocksize, w // blocksize)


COMPOSED = {
    "Attention": attention, "DepthToSpace": blocks_apart, "GroupNormalization": group_norm, "OneHot": one_hot, "RMSNormalization": rms_norm, "Resize": resize,
    "ScatterElements": scatter_elements, "ScatterND": scatter_nd, "SpaceToDepth": blocks_together, "TopK": topk,
}  # fmt: skip
