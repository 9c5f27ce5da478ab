"""Sums of products by name, and functions of pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import _strata
from .._narrow import rounded_once
from .._strata import ShapeError, Tensor, UsageError

if TYPE_CHECKING:
    from .._types import ArrayLike

__all__ = ["cdist", "einsum", "kron"]

_REST = "..."


def _labels(term: str, ndim: int, common: int) -> list[str]:
    """One a axis; those that '...' stands for are numbered from the last."""
    before, dots, after = term.partition(_REST)
    rest = ndim - len(before) - len(after)
    if rest < 0 or (rest and not dots) or not (before + after).isalpha() and before + after:
        raise ShapeError(f"[einsum] '{term}' for an operand of {ndim} axes: a letter an axis, '...' for several")
    return [*before, *(f"{_REST}{i}" for i in range(common - rest, common)), *after] if dots else [*before]


def _parsed(subscripts: str, operands: Sequence[Tensor]) -> tuple[list[list[str]], list[str]]:
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        raise UsageError(f"[einsum] '{subscripts}' is of {len(terms)} operands, given are {len(operands)}")
    common = max(x.ndim - len(term.replace(_REST, "")) if _REST in term else 0 for term, x in zip(terms, operands))
    labels = [_labels(term, x.ndim, common) for term, x in zip(terms, operands)]
    every = [name for term in labels for name in term]
    rest = [f"{_REST}{i}" for i in range(common)]
    if not arrow:
        return labels, rest + sorted(name for name in {*every} if every.count(name) == 1 and _REST not in name)
    before, dots, after = output.partition(_REST)
    wanted = [*before, *(rest if dots else []), *after]
    if len({*wanted}) < len(wanted) or not {*wanted} <= {*every}:
        raise UsageError(f"[einsum] '{output}' is made of letters of the operands, each once")
    return labels, wanted


def _diagonal(x: Tensor, labels: list[str]) -> tuple[Tensor, list[str]]:
    """Axes of one name as one axis."""
    for name in {name for name in labels if labels.count(name) > 1}:
        while labels.count(name) > 1:
            first = labels.index(name)
            second = labels.index(name, first + 1)
            n = x.shape[first]
            if x.shape[second] != n:
                raise ShapeError(f"[einsum] '{name}' is {n} and {x.shape[second]}")
            x = x.movedim((first, second), (-2, -1))
            rest = x.shape[:-2]
            x = x.reshape(*rest, n * n).pad([(0, 0)] * len(rest) + [(0, n)]).reshape(*rest, n, n + 1)[..., 0]
            labels = [label for i, label in enumerate(labels) if i not in (first, second)] + [name]
    return x, labels


def _summed(x: Tensor, labels: list[str], keep: set[str]) -> tuple[Tensor, list[str]]:
    gone = [at for at, name in enumerate(labels) if name not in keep]
    return (x.sum(gone, dtype=x.dtype), [name for name in labels if name in keep]) if gone else (x, labels)


def _contracted(
    a: Tensor, left: list[str], b: Tensor, right: list[str], keep: set[str], sizes: dict[str, int]
) -> tuple[Tensor, list[str]]:
    """The product of two operands, summed over the labels that both have and nothing later does."""
    shared = [name for name in left if name in right]
    batch, inner = [name for name in shared if name in keep], [name for name in shared if name not in keep]
    rows, columns = [name for name in left if name not in shared], [name for name in right if name not in shared]

    def matrices(x: Tensor, labels: list[str], first: list[str], second: list[str]) -> Tensor:
        order = [*batch, *first, *second]
        x = x.permute([labels.index(name) for name in order])
        x = x.expand([sizes[name] if name in shared else n for name, n in zip(order, x.shape)])
        count = lambda names: math.prod(x.shape[order.index(name)] for name in names)  # noqa: E731
        return x.reshape(count(batch), count(first), count(second))

    y = matrices(a, left, rows, inner) @ matrices(b, right, inner, columns)
    size = {**sizes, **dict(zip(right, b.shape)), **dict(zip(left, a.shape)), **{name: sizes[name] for name in shared}}
    names = [*batch, *rows, *columns]
    return y.reshape([size[name] for name in names]), names


@rounded_once
def einsum(subscripts: str, *operands: ArrayLike) -> Tensor:
    """numpy.einsum: 'ij,jk->ik'. Products of two at a time, from the left, as matrix products; '...' broadcasts."""
    tensors = [x if isinstance(x, Tensor) else Tensor(x) for x in operands]
    terms, output = _parsed(subscripts, tensors)
    dtype = tensors[0].dtype
    sizes: dict[str, int] = {}
    for x, labels in zip(tensors, terms):
        dtype = _strata.promote(dtype, x.dtype)
        for name, n in zip(labels, x.shape):
            if sizes.setdefault(name, n) != n and 1 not in (n, sizes[name]):
                raise ShapeError(f"[einsum] '{name}' is {sizes[name]} and {n}")
            sizes[name] = n if sizes[name] == 1 else sizes[name]
    parts = [_diagonal(x, labels) for x, labels in zip(tensors, terms)]
    value, labels = parts[0]
    for i, (x, others) in enumerate(parts[1:], 2):
        later = {*output, *(name for _, names in parts[i:] for name in names)}
        value, labels = _summed(value, labels, later | {*others})
        x, others = _summed(x, others, later | {*labels})
        value, labels = _contracted(value, labels, x, others, later, sizes)
    value, labels = _summed(value, labels, {*output})
    return value.permute([labels.index(name) for name in output]).expand([sizes[name] for name in output]).cast(dtype)


def kron(a: Tensor, b: Tensor, /) -> Tensor:
    """The Kronecker product: b at each element of a, times it."""
    n = max(a.ndim, b.ndim)
    first, second = [1] * (n - a.ndim) + [*a.shape], [1] * (n - b.ndim) + [*b.shape]
    spread = a.reshape([size for m in first for size in (m, 1)]) * b.reshape([size for m in second for size in (1, m)])
    return spread.reshape([m * k for m, k in zip(first, second)])


@rounded_once
def cdist(a: Tensor, b: Tensor, /, p: float = 2.0) -> Tensor:
    """Distances (..., n, m) of the points a (..., n, d) and b (..., m, d): the p-norms of their differences."""
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-1]:
        raise ShapeError(f"[cdist] shapes {a.shape} and {b.shape}: (..., n, d) and (..., m, d)")
    apart = (a.unsqueeze(-2) - b.unsqueeze(-3)).abs()
    if p == math.inf:
        return apart.max(-1) if apart.size else apart.sum(-1)
    if p == 0:
        return (apart != 0).sum(-1).cast(apart.dtype)
    return apart.sum(-1) if p == 1 else _strata._root_of((apart.square() if p == 2 else apart**p).sum(-1), p)
