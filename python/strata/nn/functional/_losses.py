"""Losses of values by torch's names; those over classes are in _classes.py. size_average and reduce, where given, stand
for reduction.
"""

from __future__ import annotations

import math

from ..._checks import called, shown
from ..._strata import ShapeError, Tensor, UsageError
from .. import losses as _own
from ._activations import logsigmoid
from ._distances import cosine_similarity, pairwise_distance
from ._shared import reduced, rounded_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "gaussian_nll_loss",
    "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss",
    "mse_loss", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip


def _weighted(name, loss, weight):
    if weight is not None and weight.shape != loss.shape:
        raise ShapeError(f"[{name}] weight of shape {weight.shape} for elements of shape {loss.shape}")
    return loss if weight is None else loss * weight


def _mean_by_weight(name, loss, weight, reduction, size_average, reduce):
    """The mean as the sum of weighted elements over the sum of weights."""
    weighted = _weighted(name, loss, weight)
    by_weight = weight is not None and reduction == "mean" and size_average is None and reduce is None
    return weighted.sum() / weight.sum() if by_weight else reduced(weighted, reduction, size_average, reduce)


@rounded_once
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|x - target|; the mean is by weight where there is one."""
    return _mean_by_weight("l1_loss", _own.l1(input, target, "none"), weight, reduction, size_average, reduce)


@rounded_once
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(x - target)^2; the mean is by weight where there is one."""
    return _mean_by_weight("mse_loss", _own.mse(input, target, "none"), weight, reduction, size_average, reduce)


@rounded_once
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d^2 / (2 beta) of the difference d up to beta, |d| - beta / 2 above; |d| where beta is 0."""
    if beta < 0:
        raise UsageError(f"[smooth_l1_loss] beta {beta} is below 0")
    loss = _own.l1(input, target, "none") if beta == 0 else _own.smooth_l1(input, target, beta, "none")
    return reduced(loss, reduction, size_average, reduce)


@rounded_once
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """d^2 / 2 of the difference d up to delta, delta * (|d| - delta / 2) above, times weight."""
    if delta <= 0:
        raise UsageError(f"[huber_loss] delta {delta} is not above 0")
    return reduced(_weighted("huber_loss", _own.huber(input, target, delta, "none"), weight), reduction)


@rounded_once
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(target log x + (1 - target) log(1 - x)) of probabilities x, times weight, which broadcasts; logarithms not
    below -100.
    """
    loss = _own.binary_cross_entropy(input, target, "none")
    return reduced(loss if weight is None else loss * weight, reduction, size_average, reduce)


@rounded_once
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy of sigmoid(x), without overflow. pos_weight broadcasts, and multiplies the part of
    target.
    """
    loss = _own.binary_cross_entropy_with_logits(input, target, "none")
    if pos_weight is not None:
        loss = loss + (1 - pos_weight) * target * logsigmoid(input)
    return reduced(loss if weight is None else loss * weight, reduction, size_average, reduce)


@rounded_once
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target * (log target - input) of logarithms `input` and probabilities `target`, or of their logarithms where
    log_target.

    reduction 'batchmean': the sum over the size of axis 0.
    """
    loss = target.exp() * (target - input) if log_target else _own.kl_div(input, target, "none")
    if reduction == "batchmean" and size_average is None and reduce is None:
        return loss.sum() / input.shape[0] if input.ndim else loss
    return reduced(loss, reduction, size_average, reduce)


@rounded_once
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """exp(x) - target * x of logarithms of rates, or x - target * log(x + eps) of rates. full: with Stirling's term for
    targets above 1.
    """
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        above = (target > 1).where(target, 1)
        loss = loss + (target > 1).where(target * above.log() - target + (above * (2 * math.pi)).log() * 0.5, 0)
    return reduced(loss, reduction, size_average, reduce)


@rounded_once
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """(log v + (x - target)^2 / v) / 2 with v the variance, not below eps: a number, of x's shape, or one for each row.
    full: with log(2 pi) / 2.
    """
    v = var if isinstance(var, Tensor) else input.full_like(var)
    if v.shape == input.shape[:-1] and v.shape != input.shape:
        v = v.unsqueeze(-1)
    if v.shape != input.shape and v.shape != (*input.shape[:-1], 1):
        raise ShapeError(f"[gaussian_nll_loss] var of shape {v.shape} for shape {input.shape}")
    v = v + (v.maximum(eps) - v).detach()
    loss = (v.log() + (input - target).square() / v) * 0.5
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@rounded_once
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """x where target is 1, max(0, margin - x) where it is -1."""
    return reduced(
        (target != 1).where((margin - input).relu(), 0) + (target != -1).where(input, 0),
        reduction,
        size_average,
        reduce,
    )


@rounded_once
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """log(1 + exp(-target * x)) of targets -1 and 1."""
    return reduced(_own.soft_margin(input, target, "none"), reduction, size_average, reduce)


@rounded_once
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin - target * (input1 - input2)): target 1 wants input1 above, -1 below. The three broadcast."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise ShapeError(
            f"[margin_ranking_loss] shapes {input1.shape}, {input2.shape} and {target.shape}: they need as many axes"
        )
    return reduced((margin - target * (input1 - input2)).relu(), reduction, size_average, reduce)


@rounded_once
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cosine of rows of (n, width) where target (n,) is 1, max(0, cosine - margin) where it is -1; or of one row,
    target ().
    """
    if target.ndim + 1 != input1.ndim or input1.ndim not in (1, 2) or input2.ndim != input1.ndim:
        raise ShapeError(
            f"[cosine_embedding_loss] shapes {input1.shape}, {input2.shape} and {target.shape}: rows (n, "
            f"width) and (n,), or (width,) and ()"
        )
    cosine = cosine_similarity(input1, input2, -1)
    loss = (target == 1).where(1 - cosine, 0) + (target == -1).where((cosine - margin).relu(), 0)
    return reduced(loss, reduction, size_average, reduce)


@rounded_once
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, |anchor - positive| - |anchor - negative| + margin) of rows. swap: the nearer of anchor and positive to
    negative counts.
    """
    far = pairwise_distance(anchor, negative, p, eps)
    far = far.minimum(pairwise_distance(positive, negative, p, eps)) if swap else far
    return reduced((pairwise_distance(anchor, positive, p, eps) - far + margin).relu(), reduction, size_average, reduce)


def _distance_of(function, a, b):
    name = "triplet_margin_with_distance_loss"
    if not callable(function):
        raise UsageError(f"[{name}] distance_function is {shown(function)}: a function of two tensors")
    value = called(name, function, (a, b))
    if not isinstance(value, Tensor):
        raise UsageError(f"[{name}] distance_function gives {shown(value)}: it must give a Tensor")
    return value


@rounded_once
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss by a distance of one's own: distance_function(rows, rows); pairwise_distance by default."""

    def distance(a, b):
        return pairwise_distance(a, b) if distance_function is None else _distance_of(distance_function, a, b)

    far = distance(anchor, negative)
    far = far.minimum(distance(positive, negative)) if swap else far
    return reduced((distance(anchor, positive) - far + margin).relu(), reduction)
