"""Losses: tensors of predictions and targets -> their mean; reduction="sum" or "none" gives the sum or each element's.

Targets broadcast to no other shape than the predictions' own, and a ShapeError says so. A loss over (n, n) pairs by
mistake trains to nothing.
"""

from __future__ import annotations

import math

from .. import _strata
from .._checks import check_all
from .._derivatives import custom_gradient as _custom_gradient
from .._narrow import rounded_once as _rounded_once
from .._strata import ShapeError, Tensor, UsageError
from ..functional import cross_entropy as _cross_entropy
from .activations import softplus as _softplus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._types import Reduction


_TINY = 1e-12


def _reduced(x, reduction):
    if reduction not in ("mean", "sum", "none"):
        raise UsageError(f"[loss] reduction '{reduction}': use mean, sum or none")
    return x if reduction == "none" else getattr(x, reduction)()


def _alike(name, x, *others):
    for other in others:
        if isinstance(other, Tensor) and other.shape != x.shape:
            raise ShapeError(f"[{name}] shapes {x.shape} and {other.shape} differ")


def _cross_of_logits(x, target):
    """target softplus(-x) + (1 - target) softplus(x), of which no part cancels another."""
    above = x > 0
    return above.where(x * (1 - target), -x * target) + above.where(-x, x).exp().log1p()


def l1(x: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """|x - target|."""
    _alike("l1", x, target)
    return _reduced((x - target).abs(), reduction)


def mse(x: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """(x - target)^2."""
    _alike("mse", x, target)
    return _reduced((x - target).square(), reduction)


def huber(x: Tensor, target: Tensor, delta: float = 1.0, reduction: Reduction = "mean") -> Tensor:
    """d^2 / 2 of the difference d up to delta, delta * (|d| - delta / 2) above."""
    _alike("huber", x, target)
    d = (x - target).abs()
    return _reduced((d <= delta).where(d.square() * 0.5, (d - 0.5 * delta) * delta), reduction)


def smooth_l1(x: Tensor, target: Tensor, beta: float = 1.0, reduction: Reduction = "mean") -> Tensor:
    """huber with delta = beta, divided by beta."""
    return huber(x, target, beta, reduction) / beta


def log_cosh(x: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """log(cosh(x - target)), without overflow."""
    _alike("log_cosh", x, target)
    d = x - target
    is_near = d.abs() < 20  # beyond, what is missing is below half an ulp
    near = is_near.where(d, 0)
    by_square = (near.expm1().square() * (-near).exp() * 0.5).log1p()  # cosh d = 1 + (e^d - 1)^2 / (2 e^d)
    return _reduced(is_near.where(by_square, d.abs() - math.log(2)), reduction)


def cross_entropy(
    logits: Tensor, target: Tensor, reduction: Reduction = "mean", label_smoothing: float = 0.0
) -> Tensor:
    """-log_softmax(logits)[target]: logits (n, classes, ...) or (classes,), target integers (n, ...) or (). A negative
    class counts from the last one, as an index does. A target whose class has all but an ulp of the probability costs
    exactly 0, as in PyTorch.

    label_smoothing: so much of the target is spread evenly over all classes (Szegedy et al. 2016).
    """
    hard = _cross_entropy(logits, target, reduction)
    if not label_smoothing:
        return hard
    spread = _reduced(-logits.log_softmax(min(logits.ndim - 1, 1)).mean(min(logits.ndim - 1, 1)), reduction)
    return hard * (1 - label_smoothing) + spread * label_smoothing


def nll(log_probabilities: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """-log_probabilities[target]: (n, classes), target integers (n,)."""
    if log_probabilities.ndim != 2 or target.shape != log_probabilities.shape[:1]:
        raise ShapeError(f"[nll] shapes {log_probabilities.shape} and {target.shape}: it takes (n, classes) and (n,)")
    return _reduced(-log_probabilities.gather(1, target.unsqueeze(1)).squeeze(1), reduction)


@_custom_gradient
def _binary_cross(x, target):
    """The slope is that without the limit of the logarithms, and finite at 0 and 1."""
    yes, no = x.log().maximum(-100), (-x).log1p().maximum(-100)

    def back(g):
        return g * (x - target) / (x * (1 - x)).maximum(_TINY), g * (no - yes)

    return -(target * yes + (1 - target) * no), back


def binary_cross_entropy(x: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """-(target log x + (1 - target) log(1 - x)) of probabilities x; logarithms not below -100, as in PyTorch."""
    _alike("binary_cross_entropy", x, target)
    return _reduced(_binary_cross(x, target), reduction)


def binary_cross_entropy_with_logits(x: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """binary_cross_entropy of sigmoid(x), without overflow."""
    _alike("binary_cross_entropy_with_logits", x, target)
    return _reduced(_cross_of_logits(x, target), reduction)


def focal(x: Tensor, target: Tensor, gamma: float = 2.0, reduction: Reduction = "mean") -> Tensor:
    """binary_cross_entropy_with_logits times (1 - p)^gamma, p what is given to the right answer (Lin et al. 2017)."""
    _alike("focal", x, target)
    wrong = x.sigmoid() * (1 - target) + (-x).sigmoid() * target
    return _reduced(_cross_of_logits(x, target) * wrong**gamma, reduction)


def kl_div(log_probabilities: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """target * (log target - log_probabilities) of probabilities `target`; 0 where they are 0."""
    _alike("kl_div", log_probabilities, target)
    seen = target > 0
    apart = seen.where(target, 1).log() - seen.where(log_probabilities, 0)
    return _reduced(seen.where(target * apart, 0.0), reduction)


def poisson_nll(x: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """exp(x) - target * x of logarithms x of rates."""
    _alike("poisson_nll", x, target)
    return _reduced(x.exp() - target * x, reduction)


def gaussian_nll(
    x: Tensor, target: Tensor, variance: Tensor, eps: float = 1e-6, reduction: Reduction = "mean"
) -> Tensor:
    """(log v + (x - target)^2 / v) / 2 with v the variance, not below eps."""
    _alike("gaussian_nll", x, target, variance)
    v = variance.maximum(eps)
    return _reduced((v.log() + (x - target).square() / v) * 0.5, reduction)


def hinge(x: Tensor, target: Tensor, margin: float = 1.0, reduction: Reduction = "mean") -> Tensor:
    """max(0, margin - target * x) of targets -1 and 1."""
    _alike("hinge", x, target)
    return _reduced((margin - target * x).relu(), reduction)


def squared_hinge(x: Tensor, target: Tensor, margin: float = 1.0, reduction: Reduction = "mean") -> Tensor:
    """The square of hinge's elements."""
    _alike("squared_hinge", x, target)
    return _reduced((margin - target * x).relu().square(), reduction)


def soft_margin(x: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """log(1 + exp(-target * x)) of targets -1 and 1."""
    _alike("soft_margin", x, target)
    return _reduced(_softplus(-(target * x)), reduction)


def margin_ranking(a: Tensor, b: Tensor, target: Tensor, margin: float = 0.0, reduction: Reduction = "mean") -> Tensor:
    """max(0, margin - target * (a - b)): target 1 wants a above b, -1 below."""
    _alike("margin_ranking", a, b, target)
    return _reduced((margin - target * (a - b)).relu(), reduction)


def cosine_similarity(a: Tensor, b: Tensor, axis: int = -1, eps: float = 1e-8) -> Tensor:
    """a . b / (|a| |b|) along an axis; norms are not taken below eps."""
    _alike("cosine_similarity", a, b)
    norms = _strata._root_of(a.square().sum(axis), 2).maximum(eps) * _strata._root_of(b.square().sum(axis), 2).maximum(
        eps
    )
    return (a * b).sum(axis) / norms


def cosine_embedding(
    a: Tensor, b: Tensor, target: Tensor, margin: float = 0.0, reduction: Reduction = "mean"
) -> Tensor:
    """1 - cosine of rows of (n, width) where the target is 1, max(0, cosine - margin) where it is -1."""
    cosine = cosine_similarity(a, b)
    _alike("cosine_embedding", cosine, target)
    return _reduced((target > 0).where(1 - cosine, (cosine - margin).relu()), reduction)


def triplet_margin(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, reduction: Reduction = "mean"
) -> Tensor:
    """max(0, |anchor - positive| - |anchor - negative| + margin) of rows."""
    _alike("triplet_margin", anchor, positive, negative)

    def distance(a, b):
        return ((a - b).square().sum(-1) + _TINY).sqrt()

    return _reduced((distance(anchor, positive) - distance(anchor, negative) + margin).relu(), reduction)


def ctc(
    log_probabilities: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int] | Tensor,
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: Reduction = "mean",
) -> Tensor:
    """Connectionist temporal classification (Graves et al. 2006): -log of the sum over all alignments.

    log_probabilities (steps, n, classes); targets (n, most labels) of integers; lengths are lists of n ints. mean
    divides each by its number of labels first. Targets that no alignment fits have the loss infinity, and no gradient.
    """
    if log_probabilities.ndim != 3 or targets.ndim != 2:
        raise ShapeError(
            f"[ctc] shapes {log_probabilities.shape} and {targets.shape}: it takes (steps, n, classes) and (n, "
            f"most labels)"
        )
    steps, n, _ = log_probabilities.shape
    labels = targets.shape[1]
    size = 2 * labels + 1  # blank, label, blank, ...
    if len(input_lengths) != n or len(target_lengths) != n or targets.shape[0] != n:
        raise ShapeError(
            f"[ctc] {n} rows, targets of shape {targets.shape}, {len(input_lengths)} and {len(target_lengths)} lengths"
        )
    place = Tensor.arange(size)
    is_label = (place % 2 == 1).reshape(1, size)
    label = targets.cast("int64").take((place // 2).clamp(0, labels - 1), 1)
    extended = is_label.where(label, blank)
    before = extended.pad([(0, 0), (2, 0)], value=-1).shrink([(0, n), (0, size)])
    may_skip = is_label & (extended != before) & (place.reshape(1, size) >= 2)
    never = -math.inf
    emitted = log_probabilities.gather(2, extended.unsqueeze(0).expand(steps, n, size))
    alpha = (place.reshape(1, size) < 2).where(emitted[0], never)
    lengths = Tensor(list(input_lengths), device=log_probabilities.device).unsqueeze(1)

    def later(a, by):
        return a.pad([(0, 0), (by, 0)], value=never).shrink([(0, n), (0, size)])

    for t in range(1, steps):
        ways = _logsumexp3(alpha, later(alpha, 1), may_skip.where(later(alpha, 2), never))
        alpha = (lengths > t).where(ways + emitted[t], alpha)
    ends = Tensor(list(target_lengths), device=log_probabilities.device).unsqueeze(1) * 2
    done = (place.reshape(1, size) == ends) | (place.reshape(1, size) == ends - 1)
    loss = -_log_of_sum(done.where(alpha, never), 1)
    if reduction == "mean":
        loss = loss / Tensor([float(max(length, 1)) for length in target_lengths], device=loss.device)
    return _reduced(loss, reduction)


def _logsumexp3(a, b, c):
    top = _finite(a.maximum(b).maximum(c))
    return _log_of((a - top).exp() + (b - top).exp() + (c - top).exp(), top)


def _log_of_sum(x, axis):
    top = _finite(x.max(axis, keepdims=True))
    return _log_of((x - top).exp().sum(axis), top.squeeze(axis))


def _finite(top):
    return top.isfinite().where(top, 0).detach()


def _log_of(total, top):
    """log(total) + top; a sum of nothing, to which no alignment leads, is -infinity and has no slope."""
    none = total == 0
    return none.where(-math.inf, none.where(1, total).log() + top)


for _name, _function in [*globals().items()]:
    if not _name.startswith("_") and getattr(_function, "__module__", None) == __name__:
        globals()[_name] = _rounded_once(_function)


check_all(globals(), __name__, is_total=True)
