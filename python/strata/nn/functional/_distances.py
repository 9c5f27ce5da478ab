"""Distances of vectors, and vectors of norm 1."""

from __future__ import annotations

import itertools

from ..._strata import ShapeError, Tensor, UsageError, broadcast_shapes
from .. import losses as _own
from ._shared import rounded_once

__all__ = ["cosine_similarity", "normalize", "pairwise_distance", "pdist"]


def _norm(x, p, axis, keepdims=False):
    from ...linalg import vector_norm

    return vector_norm(x, axis=axis, keepdims=keepdims, ord=p)


@rounded_once
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 / (|x1| |x2|) along an axis; norms are not taken below eps. The two broadcast."""
    shape = broadcast_shapes(x1.shape, x2.shape)
    return _own.cosine_similarity(x1.expand(shape), x2.expand(shape), dim, eps)


@rounded_once
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last axis. The two broadcast."""
    return _norm(x1 - x2 + eps, p, -1, keepdim)


@rounded_once
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The p-norms of the differences of rows i < j of (n, width): (n (n - 1) / 2,), by i, then by j."""
    if input.ndim != 2:
        raise ShapeError(f"[pdist] shape {input.shape}: it takes (n, width)")
    pairs = itertools.combinations(range(input.shape[0]), 2)
    first, second = (
        (Tensor(rows, "int64", input.device) for rows in zip(*pairs))
        if input.shape[0] > 1
        else [Tensor.zeros(0, dtype="int64")] * 2
    )
    return _norm(input.take(first, 0) - input.take(second, 0), p, -1)


@rounded_once
def _normalised(x, p, dim, eps):
    return x / _norm(x, p, dim, True).maximum(eps)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """x over its p-norm along an axis, which is not taken below eps."""
    if out is not None:
        raise UsageError("[normalize] out: operations do not write into tensors: use the result")
    return _normalised(input, p, dim, eps)
