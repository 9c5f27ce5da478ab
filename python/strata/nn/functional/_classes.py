"""Losses over classes by torch's names: classes are axis 1 of (n, classes, ...), or axis 0 of (classes,)."""

from __future__ import annotations

import math

from ..._checks import real
from ..._strata import DTypeError, ShapeError, Tensor, UsageError
from ...functional import cross_entropy as _picked, linear
from .. import losses as _own
from ._activations import logsigmoid
from ._shared import from_start, reduced, rounded_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = [
    "cross_entropy",
    "ctc_loss",
    "linear_cross_entropy",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
]


def _reduction(reduction, size_average, reduce):
    """The word that the older arguments stand for."""
    if size_average is None and reduce is None:
        return reduction
    return "none" if reduce is False else "sum" if size_average is False else "mean"


def _class_axis(x):
    if x.ndim == 0:
        raise ShapeError("[loss] a tensor without axes has no classes: (classes,) or (n, classes, ...)")
    return min(x.ndim - 1, 1)


def _checked_weight(name, weight, classes):
    if weight is not None and weight.shape != (classes,):
        raise ShapeError(f"[{name}] weight of shape {weight.shape} for {classes} classes")


def _counted(target, ignored):
    """(Targets that count, the target with 0 for the others.)"""
    counted = target != ignored
    return counted, from_start(counted.where(target, 0))


def _mean_of(losses, counted, weights, reduction):
    """Losses of targets that count, 0 elsewhere; their mean is by weight."""
    losses = counted.where(losses, 0)
    if reduction != "mean":
        return reduced(losses, reduction)
    return losses.sum() / counted.where(1.0 if weights is None else weights, 0).cast(losses.dtype).sum()


@rounded_once
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log_softmax(input) at the target: input (n, classes, ...) or (classes,), target integers (n, ...) or (), or
    probabilities of input's shape.

    weight (classes,): of each class; the mean of integer targets is by weight. ignore_index: a target that counts for
    nothing. label_smoothing: so much of a target is spread evenly over all classes.
    """
    axis, reduction = _class_axis(input), _reduction(reduction, size_average, reduce)
    classes = input.shape[axis]
    _checked_weight("cross_entropy", weight, classes)
    if not 0 <= label_smoothing <= 1:
        raise UsageError(f"[cross_entropy] label_smoothing {label_smoothing} is not between 0 and 1")
    along = None if weight is None else weight.reshape(-1, *[1] * (input.ndim - 1 - axis))
    if target.dtype.is_float:
        return _of_probabilities(input, target, axis, along, reduction, label_smoothing)
    counted, target = _counted(target, ignore_index)
    weights = None if weight is None else weight.take(target)
    hard = _picked(input, target, "none")
    losses = hard if weights is None else hard * weights
    if not label_smoothing:
        return _mean_of(losses, counted, weights, reduction)
    spread = -input.log_softmax(axis)
    spread = (spread if along is None else spread * along).sum(axis) / classes
    return _mean_of(losses * (1 - label_smoothing) + spread * label_smoothing, counted, weights, reduction)


def _of_probabilities(x, target, axis, along, reduction, label_smoothing):
    if target.shape != x.shape:
        raise ShapeError(f"[cross_entropy] probabilities of shape {target.shape} for input of shape {x.shape}")
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / x.shape[axis]
    losses = -(x.log_softmax(axis) * target * (1 if along is None else along)).sum(axis)
    return reduced(losses, reduction)


@rounded_once
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    bias: Tensor | None = None,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    softcap: float = 0.0,
    options: None = None,
) -> Tensor:
    """cross_entropy(cap(linear(input, linear_weight, linear_bias)), target): input (n, in) or (in,), weight (classes,
    in).

    bias is another name of linear_bias. softcap c: cap(x) = c tanh(x / c), 0 for none. Computed in float32 and rounded
    once. options: None.
    """
    if options is not None:
        raise UsageError("[linear_cross_entropy] options: the schedule decides here; leave it out")
    if bias is not None and linear_bias is not None:
        raise UsageError("[linear_cross_entropy] bias and linear_bias are one argument: give one")
    real("linear_cross_entropy", "softcap", softcap, 0)
    ignored = -100 if ignore_index is None else ignore_index
    logits = linear(input, linear_weight, linear_bias if bias is None else bias)
    return cross_entropy(
        (logits * (1 / softcap)).tanh() * softcap if softcap else logits,
        target,
        weight,
        ignore_index=ignored,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


@rounded_once
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-input at the target, times the weight of its class: input (n, classes, ...) or (classes,), target integers (n,
    ...) or (). The mean is by weight.
    """
    axis, reduction = _class_axis(input), _reduction(reduction, size_average, reduce)
    classes = input.shape[axis]
    _checked_weight("nll_loss", weight, classes)
    if target.dtype.is_float or target.shape != (*input.shape[:axis], *input.shape[axis + 1 :]):
        kind = DTypeError if target.dtype.is_float else ShapeError
        raise kind(
            f"[nll_loss] input {input.shape} and target {target.shape} of {target.dtype.name}: integers (n, "
            f"...) for (n, classes, ...)"
        )
    counted, target = _counted(target, ignore_index)
    weights = None if weight is None else weight.take(target)
    losses = -input.gather(axis, target.unsqueeze(axis)).squeeze(axis)
    return _mean_of(losses if weights is None else losses * weights, counted, weights, reduction)


def _lengths(given):
    return [int(n) for n in (given.reshape(-1).tolist() if isinstance(given, Tensor) else given)]


@rounded_once
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int] | Tensor,
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification: log_probs (steps, n, classes) or (steps, classes), targets (n, most
    labels) or all labels one after the other.

    Lengths are n integers. mean divides each loss by its number of labels first. An alignment that is impossible gives
    inf, or 0 and no gradient where zero_infinity.
    """
    single = log_probs.ndim == 2
    lengths = _lengths([target_lengths] if isinstance(target_lengths, int) else target_lengths)
    steps = _lengths([input_lengths] if isinstance(input_lengths, int) else input_lengths)
    rows = log_probs.unsqueeze(1) if single else log_probs
    if targets.ndim == 1:
        if sum(lengths) > targets.size:
            raise ShapeError(f"[ctc_loss] {targets.size} labels for target_lengths of {sum(lengths)} in all")
        starts = [sum(lengths[:i]) for i in range(len(lengths))]
        most = max([1, *lengths])
        padded = targets.pad([(0, most)])
        targets = padded.take(
            Tensor([[start + i for i in range(most)] for start in starts], "int64", targets.device).reshape(
                len(lengths), most
            )
        )
    losses = _own.ctc(rows, targets, steps, lengths, blank, "none")
    losses = (losses < 1e29).where(losses, 0 if zero_infinity else math.inf)
    if reduction == "mean":
        losses = losses / Tensor([float(max(n, 1)) for n in lengths], device=losses.device)
    return reduced(losses.squeeze(0) if single else losses, reduction)


@rounded_once
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over other classes of max(0, margin - x[target] + x)^p, times the weight of the target's class: input
    (n, classes) or (classes,).
    """
    if p not in (1, 2):
        raise UsageError(f"[multi_margin_loss] p {p}: use 1 or 2")
    axis = _class_axis(input)
    _checked_weight("multi_margin_loss", weight, input.shape[axis])
    place = from_start(target).unsqueeze(-1)
    apart = (margin - input.gather(axis, place) + input).relu()
    apart = apart if p == 1 else apart.square()
    apart = apart if weight is None else apart * weight.take(place)
    other = Tensor.arange(input.shape[axis]) != target.unsqueeze(-1)
    return reduced(other.where(apart, 0).sum(axis) / input.shape[axis], reduction, size_average, reduce)


@rounded_once
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """sum(max(0, 1 - (x[right] - x[other]))) / classes over all right and other classes; a row of target lists the
    right ones, up to a -1.
    """
    if target.shape != input.shape or input.ndim not in (1, 2):
        raise ShapeError(
            f"[multilabel_margin_loss] shapes {input.shape} and {target.shape}: (n, classes) or (classes,), both alike"
        )
    classes = input.shape[-1]
    listed = (target < 0).cast("int64").cumsum(-1) == 0
    place = listed.where(target, 0)
    right = (listed.unsqueeze(-1) & (place.unsqueeze(-1) == Tensor.arange(classes))).any(-2)
    pairs = (1 - input.gather(-1, place).unsqueeze(-1) + input.unsqueeze(-2)).relu()
    counted = listed.unsqueeze(-1) & right.logical_not().unsqueeze(-2)
    return reduced(counted.where(pairs, 0).sum((-2, -1)) / classes, reduction, size_average, reduce)


@rounded_once
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes, the last axis, of binary_cross_entropy_with_logits, times weight (classes,)."""
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    return reduced((loss if weight is None else loss * weight).mean(-1), reduction, size_average, reduce)
