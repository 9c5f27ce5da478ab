"""Norms over channels, groups and last axes, and losses."""

from ... import _strata, functional
from ..._strata import Unsupported
from .common import along, axis_of, in_float32, over_places, wide


def batch_norm(
    x, scale, bias, mean, var, *, epsilon=1e-5, momentum=0.9, training_mode=0, spatial=1, is_test=0, version=14, count=1
):
    """In training by the batch's mean and variance, with the running ones as further results."""
    kind, running = x.dtype, (mean.dtype, var.dtype)
    x, scale, bias, mean, var = map(wide, (x, scale, bias, mean, var))
    if version < 7 and not is_test:
        raise Unsupported(
            "[onnx] BatchNormalization of versions before 7 without is_test=1: "
            "what a model says of training is not done"
        )
    if not spatial:
        raise Unsupported("[onnx] BatchNormalization with spatial=0")
    more = ()
    if training_mode:
        axes = (0, *over_places(x))
        now = x.mean(axes), x.var(axes)
        more = tuple(
            (old * momentum + new * (1 - momentum)).cast(to) for old, new, to in zip((mean, var), now, running)
        )
        mean, var = now
    elif count > 1:
        raise Unsupported("[onnx] BatchNormalization with further results: with training_mode=1 they are there")
    by = scale / (var + epsilon).sqrt()
    y = (x * along(by, x) + along(bias - mean * by, x)).cast(kind)
    return (y, *more)[:count] if count > 1 else y


def layer_norm(x, scale, bias=None, *, axis=-1, epsilon=1e-5, stash_type=1, count=1):
    kind = x.dtype
    x, scale, bias = wide(x), wide(scale), wide(bias)
    axes = tuple(range(axis_of(axis, x.ndim), x.ndim))
    mean = x.mean(axes, True)
    apart = x - mean
    inverse = 1 / (apart.square().mean(axes, True) + epsilon).sqrt()
    y = apart * inverse * scale
    y = (y if bias is None else y + bias).cast(kind)
    return y if count == 1 else (y, mean, inverse)[:count]


@in_float32
def rms_norm(x, scale, *, axis=-1, epsilon=1e-5, stash_type=1):
    return x / (x.square().mean(tuple(range(axis_of(axis, x.ndim), x.ndim)), True) + epsilon).sqrt() * scale


def _normal(x, axes, epsilon):
    apart = x - x.mean(axes, True)
    return apart / (apart.square().mean(axes, True) + epsilon).sqrt()


@in_float32
def instance_norm(x, scale, bias, *, epsilon=1e-5):
    return _normal(x, over_places(x), epsilon) * along(scale, x) + along(bias, x)


@in_float32
def group_norm(x, scale, bias, *, num_groups, epsilon=1e-5, stash_type=1, version=21):
    out = _normal(x.reshape(x.shape[0], num_groups, -1), -1, epsilon).reshape(x.shape)
    if version < 21:  # of each group
        scale, bias = (v.reshape(-1, 1).expand(num_groups, x.shape[1] // num_groups).reshape(-1) for v in (scale, bias))
    return out * along(scale, x) + along(bias, x)


@in_float32
def mean_variance_norm(x, *, axes=(0, 2, 3)):
    return _normal(x, tuple(axes), 1e-9)


@in_float32
def local_response_norm(x, *, size, alpha=1e-4, beta=0.75, bias=1.0):
    before, after = (min(n, x.shape[1]) for n in ((size - 1) // 2, size - 1 - (size - 1) // 2))
    square = x.square().movedim(1, -1).pad([*[(0, 0)] * (x.ndim - 1), (before, after)])
    whole = functional.windows(square, [before + after + 1]).sum(-1).movedim(-1, 1)
    return x / (whole * (alpha / size) + bias).pow(beta)


def _loss(log_prob, target, weight, reduction, ignore_index):
    """-log_prob (n, classes, ...) at target (n, ...), each times the weight of its class."""
    target = target.cast("int64")
    kept = None if ignore_index is None else target != ignore_index
    at = target if kept is None else _strata.where(kept, target, 0)
    loss = -log_prob.gather(1, at.unsqueeze(1)).squeeze([1])
    by = None if weight is None else weight.take(at)
    if kept is not None:
        by = kept.cast(log_prob.dtype) if by is None else _strata.where(kept, by, 0)
        loss = _strata.where(kept, loss, 0)
    loss = loss if by is None else loss * by
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    return loss.mean() if by is None else loss.sum() / by.sum()


def nll_loss(x, target, weight=None, *, reduction="mean", ignore_index=None):
    return _loss(wide(x), target, wide(weight), reduction, ignore_index).cast(x.dtype)


def softmax_cross_entropy(x, target, weight=None, *, reduction="mean", ignore_index=None, count=1):
    log_prob = wide(x).log_softmax(1)
    loss = _loss(log_prob, target, wide(weight), reduction, ignore_index).cast(x.dtype)
    return (loss, log_prob.cast(x.dtype)) if count > 1 else loss


ROWS = {
    "BatchNormalization": batch_norm, "GroupNormalization": group_norm, "InstanceNormalization": instance_norm,
    "LRN": local_response_norm, "LayerNormalization": layer_norm, "MeanVarianceNormalization": mean_variance_norm,
    "NegativeLogLikelihoodLoss": nll_loss, "RMSNormalization": rms_norm,
    "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
}  # fmt: skip
