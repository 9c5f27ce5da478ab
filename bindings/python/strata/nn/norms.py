"""Normalisation: to mean 0 and variance 1 over some axes, then * weight + bias where there are such."""

import math

from .._checks import check_all, integer, real
from .._narrow import rounded_once
from .._strata import ShapeError, Tensor, UsageError, realize
from ..functional import layernorm, rmsnorm
from .layers import parameter
from .module import Module


class LayerNorm(Module):
    """Over the last axes, whose sizes are `shape` (an int for one)."""

    def __init__(self, shape, eps=1e-5, affine=True, bias=True, dtype="float32"):
        sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
        self.shape, self.eps = tuple(integer("LayerNorm", "a size of shape", n) for n in sizes), real("LayerNorm", "eps", eps, 0)
        if not self.shape:
            raise UsageError("[LayerNorm] of no axes: shape is the size of the last axis, or those of the last ones")
        self.weight = parameter(Tensor.ones(self.shape, dtype=dtype)) if affine else None
        self.bias = parameter(Tensor.zeros(self.shape, dtype=dtype)) if affine and bias else None

    def forward(self, x):
        if x.shape[-len(self.shape) :] != self.shape:
            raise ShapeError(f"[LayerNorm] of {self.shape} for a tensor of shape {x.shape}")
        return layernorm(x, len(self.shape), self.weight, self.bias, self.eps)

    def _describes(self):
        return ", ".join(map(str, self.shape))


class RMSNorm(Module):
    """x / sqrt(mean(x^2) + eps) over the last axis, of `width` elements (Zhang and Sennrich 2019)."""

    def __init__(self, width, eps=1e-6, affine=True, dtype="float32"):
        self.width, self.eps = integer("RMSNorm", "width", width), real("RMSNorm", "eps", eps, 0)
        self.weight = parameter(Tensor.ones(width, dtype=dtype)) if affine else None

    def forward(self, x):
        if x.shape[-1:] != (self.width,):
            raise ShapeError(f"[RMSNorm] of {self.width} for a tensor of shape {x.shape}")
        return rmsnorm(x, self.weight, self.eps)

    def _describes(self):
        return f"{self.width}"


def _normalised(x, axes, eps):
    centred = x - x.mean(axes, keepdims=True)
    return centred * (centred.square().mean(axes, keepdims=True) + eps).rsqrt()


class _OfChannels(Module):
    """What has a weight and a bias for each channel, the axis behind the first."""

    def __init__(self, channels, eps, affine, dtype):
        self.channels, self.eps = integer(type(self).__name__, "channels", channels), real(type(self).__name__, "eps", eps, 0)
        self.weight = parameter(Tensor.ones(channels, dtype=dtype)) if affine else None
        self.bias = parameter(Tensor.zeros(channels, dtype=dtype)) if affine else None

    def _along(self, x, t):
        return t.reshape(1, self.channels, *[1] * (x.ndim - 2))

    def _check(self, x):
        if x.ndim < 2 or x.shape[1] != self.channels:
            raise ShapeError(f"[{type(self).__name__}] of {self.channels} channels for a tensor of shape {x.shape}: it is (n, channels, ...)")

    def _scaled(self, x):
        return x if self.weight is None else x * self._along(x, self.weight) + self._along(x, self.bias)

    def _describes(self):
        return f"{self.channels}"


class GroupNorm(_OfChannels):
    """Over groups of neighbouring channels of each sample of (n, channels, ...) (Wu and He 2018)."""

    def __init__(self, groups, channels, eps=1e-5, affine=True, dtype="float32"):
        groups, channels = integer("GroupNorm", "groups", groups, 1), integer("GroupNorm", "channels", channels)
        if channels % groups:
            raise UsageError(f"[GroupNorm] {channels} channels do not make {groups} groups of equal size")
        super().__init__(channels, eps, affine, dtype)
        self.groups = groups

    @rounded_once
    def forward(self, x):
        self._check(x)
        of_groups = x.reshape(x.shape[0], self.groups, math.prod(x.shape[1:]) // self.groups)
        return self._scaled(_normalised(of_groups, -1, self.eps).reshape(x.shape))

    def _describes(self):
        return f"{self.groups}, {self.channels}"


class InstanceNorm(_OfChannels):
    """Over each channel of each sample of (n, channels, ...)."""

    def __init__(self, channels, eps=1e-5, affine=False, dtype="float32"):
        super().__init__(channels, eps, affine, dtype)

    @rounded_once
    def forward(self, x):
        self._check(x)
        return self._scaled(_normalised(x, tuple(range(2, x.ndim)), self.eps))


class BatchNorm(_OfChannels):
    """Over all but the channels of (n, channels, ...) (Ioffe and Szegedy 2015).

    In training by the batch's mean and variance, which are mixed into the running ones with weight `momentum` (the variance
    as that of a sample, divided by n - 1); otherwise by the running ones.
    """

    def __init__(self, channels, eps=1e-5, momentum=0.1, affine=True, dtype="float32"):
        super().__init__(channels, eps, affine, dtype)
        self.momentum = real("BatchNorm", "momentum", momentum, 0, 1)
        self.running_mean = Tensor.zeros(channels, dtype=dtype).contiguous().realize()
        self.running_var = Tensor.ones(channels, dtype=dtype).contiguous().realize()

    @rounded_once
    def forward(self, x):
        self._check(x)
        if not self.training:
            scale = self._along(x, (self.running_var + self.eps).rsqrt())
            return self._scaled((x - self._along(x, self.running_mean)) * scale)
        axes = (0, *range(2, x.ndim))
        count = math.prod(x.shape[a] for a in axes)
        if count < 2:
            raise UsageError(f"[BatchNorm] of shape {x.shape} in training: a channel needs two values or more")
        mean = x.mean(axes, keepdims=True)
        var = (x - mean).square().mean(axes, keepdims=True)
        self._mix(self.running_mean, mean, 1)
        self._mix(self.running_var, var, count / (count - 1))
        realize([mean, var, self.running_mean, self.running_var])  # what comes finds them in memory
        return self._scaled((x - mean) * (var + self.eps).rsqrt())

    def _mix(self, running, batch, scale):
        batch = batch.detach().reshape(self.channels).cast(running.dtype)
        running.assign(running * (1 - self.momentum) + batch * (self.momentum * scale))


check_all(globals(), __name__)
