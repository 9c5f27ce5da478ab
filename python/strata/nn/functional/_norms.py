"""Normalisation by torch's arguments. Narrow floats are computed as float32; the result has input's type."""

from __future__ import annotations

import math

from ... import functional as _own
from ..._strata import ShapeError, UsageError
from ._pools import avg_pool1d
from ._shared import rounded, widened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._strata import Tensor
    from ..._types import Sizes


__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm"]


def _channels(name, x, given):
    """Those tensors along axis 1 of x."""
    if x.ndim < 2:
        raise ShapeError(f"[{name}] shape {x.shape}: it takes (n, channels, ...)")
    for t in given:
        if t is not None and t.shape != (x.shape[1],):
            raise ShapeError(f"[{name}] a tensor of shape {t.shape} for {x.shape[1]} channels")
    return [None if t is None else widened(t).reshape(1, -1, *[1] * (x.ndim - 2)) for t in given]


def _scaled(x, weight, bias):
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _mixed(running, batch, momentum):
    if running is not None:
        running.assign((running * (1 - momentum) + batch.detach() * momentum).cast(running.dtype))


def _statistics(wide, axes):
    mean = wide.mean(axes, keepdims=True)
    return mean, (wide - mean).square().mean(axes, keepdims=True)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Over all axes but the channels of (n, channels, ...), then * weight + bias (channels,).

    training: by the batch's mean and variance, which are mixed into the running ones with weight momentum; else by the
    running ones.
    """
    _channels("batch_norm", input, ())
    axes, wide = (0, *range(2, input.ndim)), widened(input)
    count = math.prod(input.shape[i] for i in axes)
    if not training and (running_mean is None or running_var is None):
        raise UsageError("[batch_norm] running_mean and running_var are needed where training is False")
    weight, bias, mean, var = _channels("batch_norm", input, (weight, bias, running_mean, running_var))
    if training:
        if count < 2:
            raise UsageError(f"[batch_norm] shape {input.shape} in training: a channel needs two values or more")
        mean, var = _statistics(wide, axes)
        _mixed(running_mean, mean.reshape(-1), momentum)
        _mixed(running_var, var.reshape(-1) * (count / (count - 1)), momentum)
    return rounded(_scaled((wide - mean) * (var + eps).rsqrt(), weight, bias), input.dtype)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Over each channel of each sample of (n, channels, sizes), then * weight + bias (channels,).

    use_input_stats: by the sample's mean and variance, whose means over n are mixed into the running ones; else by the
    running ones.
    """
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if input.ndim < 3:
        raise ShapeError(f"[instance_norm] shape {input.shape}: it takes (n, channels, sizes)")
    axes, wide = tuple(range(2, input.ndim)), widened(input)
    count = math.prod(input.shape[2:])
    if count < 2:
        raise UsageError(f"[instance_norm] shape {input.shape}: a channel needs two values or more")
    weight, bias, *_ = _channels("instance_norm", input, (weight, bias, running_mean, running_var))
    mean, var = _statistics(wide, axes)
    _mixed(running_mean, mean.flatten(1).mean(0), momentum)
    _mixed(running_var, var.flatten(1).mean(0) * (count / (count - 1)), momentum)
    return rounded(_scaled((wide - mean) * (var + eps).rsqrt(), weight, bias), input.dtype)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Over groups of neighbouring channels of each sample of (n, channels, ...), then * weight + bias (channels,)."""
    weight, bias = _channels("group_norm", input, (weight, bias))
    if num_groups < 1 or input.shape[1] % num_groups:
        raise UsageError(f"[group_norm] {input.shape[1]} channels do not make {num_groups} groups of equal size")
    wide = widened(input).reshape(input.shape[0], num_groups, math.prod(input.shape[1:]) // num_groups)
    mean, var = _statistics(wide, -1)
    return rounded(_scaled(((wide - mean) * (var + eps).rsqrt()).reshape(input.shape), weight, bias), input.dtype)


def _last_axes(name, x, normalized_shape, *given):
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or x.shape[-len(shape) :] != shape:
        raise ShapeError(f"[{name}] of {shape} for a tensor of shape {x.shape}")
    for t in given:
        if t is not None and t.shape != shape:
            raise ShapeError(f"[{name}] a tensor of shape {t.shape} for normalized_shape {shape}")
    return len(shape)


def layer_norm(
    input: Tensor, normalized_shape: Sizes, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Over the last axes, whose sizes are normalized_shape, then * weight + bias of that shape."""
    return _own.layernorm(input, _last_axes("layer_norm", input, normalized_shape, weight, bias), weight, bias, eps)


def rms_norm(input: Tensor, normalized_shape: Sizes, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """x / sqrt(mean(x^2) + eps) over the last axes, whose sizes are normalized_shape, then * weight. eps: that of
    input's type by default.
    """
    axes = _last_axes("rms_norm", input, normalized_shape, weight)
    wide = widened(input)
    if eps is None:
        eps = 2.0**-52 if wide.dtype.itemsize == 8 else 2.0**-23
    y = wide * (wide.square().mean(tuple(range(-axes, 0)), keepdims=True) + eps).rsqrt()
    return rounded(y if weight is None else y * widened(weight), input.dtype)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha * mean(x^2 of `size` neighbouring channels))^beta of (n, channels, sizes), zeros beside the
    channels.
    """
    if input.ndim < 3:
        raise ShapeError(f"[local_response_norm] shape {input.shape}: it takes (n, channels, sizes)")
    wide = widened(input)
    squares = wide.square().movedim(1, -1).pad([*[(0, 0)] * (input.ndim - 1), (size // 2, (size - 1) // 2)])
    flat = squares.reshape(-1, 1, squares.shape[-1])
    means = avg_pool1d(flat, size, 1).reshape(*squares.shape[:-1], input.shape[1]).movedim(-1, 1)
    return rounded(wide / (means * alpha + k).pow(beta), input.dtype)
