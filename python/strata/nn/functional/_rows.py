"""Linear maps and rows of tables, by torch's arguments."""

from __future__ import annotations

import math

from ... import functional as _own
from ..._strata import ShapeError, Tensor, UsageError
from ._shared import from_start, rounded_once

__all__ = ["bilinear", "embedding", "embedding_bag", "linear", "one_hot"]


@rounded_once
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x (..., in) @ weight (out, in)^T + bias (out,); a weight (in,) gives (...)."""
    if weight.ndim == 1:
        out = _own.linear(input, weight.unsqueeze(0)).squeeze(-1)
        return out if bias is None else out + bias
    return _own.linear(input, weight, bias)


@rounded_once
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1 (..., in1), weight (out, in1, in2), input2 (..., in2) -> (..., out): x1 @ weight[i] @ x2 for each i, plus
    bias (out,).
    """
    if (
        weight.ndim != 3
        or input1.shape[:-1] != input2.shape[:-1]
        or weight.shape[1:] != (input1.shape[-1], input2.shape[-1])
    ):
        raise ShapeError(
            f"[bilinear] shapes {input1.shape}, {input2.shape} and weight {weight.shape}: (..., in1), (..., "
            f"in2) and (out, in1, in2)"
        )
    first, second = (x.reshape(-1, x.shape[-1]) for x in (input1, input2))
    out, wide, deep = weight.shape
    mixed = (first @ weight.permute(1, 0, 2).reshape(wide, out * deep)).reshape(-1, out, deep)
    y = (mixed @ second.unsqueeze(-1)).reshape(*input1.shape[:-1], out)
    return y if bias is None else y + bias


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Integers of any shape -> shape + (num_classes,): 1 at the index, 0 elsewhere. -1: one class more than the
    largest, which computes.
    """
    if num_classes != -1:
        return tensor.one_hot(num_classes)
    if tensor.size == 0:
        raise UsageError("[one_hot] num_classes is needed of no integers")
    return tensor.one_hot(int(tensor.max().item()) + 1)


def _place(name, padding_idx, entries):
    if padding_idx is not None and not -entries <= padding_idx < entries:
        raise UsageError(f"[{name}] padding_idx {padding_idx} of {entries} entries")
    return None if padding_idx is None else padding_idx % entries


def _shortened(ids, weight, max_norm, norm_type):
    """weight itself, in which the rows of these ids have at most that norm from now on."""
    from ...linalg import vector_norm

    rows = weight.detach()
    norms = vector_norm(rows.cast("float32") if rows.dtype.itemsize < 4 else rows, axis=1, keepdims=True, ord=norm_type)
    used = (
        Tensor.zeros(weight.shape[0], dtype="int64").scatter_add(
            0, ids.reshape(-1).cast("int64"), ids.reshape(-1).ones_like("int64")
        )
        > 0
    )
    long = used.unsqueeze(1) & (norms > max_norm)
    return weight.assign(long.where(rows * (max_norm / (norms + 1e-7)), rows).cast(weight.dtype))


def _looked_up(name, ids, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq):
    place = _place(name, padding_idx, weight.shape[0])
    if max_norm is not None:
        weight = _shortened(ids, weight, max_norm, norm_type)
    if place is not None:
        weight = (Tensor.arange(weight.shape[0]) == place).unsqueeze(1).where(weight.detach(), weight)
    ids = from_start(ids)
    rows = _own.embedding(ids, weight)
    if not scale_grad_by_freq:
        return rows
    counts = Tensor.zeros(weight.shape[0]).scatter_add(0, ids.reshape(-1).cast("int64"), Tensor.ones(ids.size))
    share = rows / counts.take(ids).unsqueeze(-1).cast(rows.dtype)
    return rows.detach() + share - share.detach()


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of weight (entries, width) by integer ids: shape + (width,).

    padding_idx: no gradient arrives at this row. max_norm: rows that are used and of a larger norm are shortened, in
    weight itself. scale_grad_by_freq: what arrives at a row is divided by how often it is used. Gradients are dense,
    also where sparse.
    """
    return _looked_up("embedding", input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)


def _bags(ids, offsets, include_last_offset):
    """(ids of all bags one after the other, the bag of each, how many bags there are)."""
    if ids.ndim == 2:
        if offsets is not None:
            raise UsageError("[embedding_bag] offsets go with ids of one axis: rows of two are the bags")
        return ids.reshape(-1), Tensor.arange(ids.shape[0]).unsqueeze(1).expand(ids.shape).reshape(-1), ids.shape[0]
    if ids.ndim != 1 or offsets is None or offsets.ndim != 1:
        raise ShapeError(f"[embedding_bag] ids of shape {ids.shape}: (bags, n), or (n,) with offsets (bags,)")
    return (
        ids,
        offsets.cast("int64").searchsorted(Tensor.arange(ids.size), True) - 1,
        offsets.size - bool(include_last_offset),
    )


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or largest elements of rows of weight, a bag each: ids (bags, n), or (n,) with offsets (bags,)
    where each begins.

    per_sample_weights, of input's shape, multiply the rows of a sum. Ids that are padding_idx are left out. A bag of
    none gives 0. include_last_offset: the last offset is the end of the last bag. max_norm, scale_grad_by_freq, sparse:
    as embedding.
    """
    if mode not in ("sum", "mean", "max"):
        raise UsageError(f"[embedding_bag] mode '{mode}': use sum, mean or max")
    if per_sample_weights is not None and (mode != "sum" or per_sample_weights.shape != input.shape):
        raise UsageError("[embedding_bag] per_sample_weights have input's shape and go with mode sum")
    ids, bag, bags = _bags(input, offsets, include_last_offset)
    rows = _looked_up("embedding_bag", ids, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)
    place = _place("embedding_bag", padding_idx, weight.shape[0])
    counted = ids.ones_like("bool") if place is None else ids != place
    return _of_bags(
        rows, counted, bag, bags, mode, None if per_sample_weights is None else per_sample_weights.reshape(-1)
    )


@rounded_once
def _of_bags(rows, counted, bag, bags, mode, weights):
    members = (bag == Tensor.arange(bags).unsqueeze(1)) & counted
    if mode == "max":
        if not rows.shape[0]:
            return Tensor.zeros(bags, rows.shape[1], dtype=rows.dtype)
        largest = members.unsqueeze(-1).where(rows, -math.inf).max(1)
        return members.any(1, keepdims=True).where(largest, 0)
    rows = rows if weights is None else rows * weights.unsqueeze(-1)
    total = Tensor.zeros(bags, rows.shape[1], dtype=rows.dtype).index_add(0, bag, counted.unsqueeze(-1).where(rows, 0))
    return total if mode == "sum" else total / members.sum(1, keepdims=True).maximum(1).cast(rows.dtype)
