"""Normalisation: to mean 0 and variance 1 over some axes, then * weight + bias where there are such."""

from __future__ import annotations

import math

from .._checks import check_all, integer, real
from .._narrow import rounded_once
from .._strata import ShapeError, Tensor, UsageError, realize
from ..functional import layernorm, rmsnorm
from .layers import parameter
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import DTypeLike, Sizes


class LayerNorm(Module):
    """Over the last axes, whose sizes are `normalized_shape` (an int for one)."""

    def __init__(
        self,
        normalized_shape: Sizes,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: DTypeLike = "float32",
    ) -> None:
        sizes = normalized_shape if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
        self.normalized_shape, self.eps = (
            tuple(integer("LayerNorm", "a size of normalized_shape", n) for n in sizes),
            real("LayerNorm", "eps", eps, 0),
        )
        if not self.normalized_shape:
            raise UsageError(
                "[LayerNorm] of no axes: normalized_shape is the size of the last axis, or those of the last ones"
            )
        self.weight = parameter(Tensor.ones(self.normalized_shape, dtype=dtype)) if elementwise_affine else None
        self.bias = parameter(Tensor.zeros(self.normalized_shape, dtype=dtype)) if elementwise_affine and bias else None

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-len(self.normalized_shape) :] != self.normalized_shape:
            raise ShapeError(f"[LayerNorm] of {self.normalized_shape} for a tensor of shape {x.shape}")
        return layernorm(x, len(self.normalized_shape), self.weight, self.bias, self.eps)

    def _describes(self):
        return ", ".join(map(str, self.normalized_shape))


class RMSNorm(Module):
    """x / sqrt(mean(x^2) + eps) over the last axis, of `normalized_shape` (an int) elements (Zhang and Sennrich
    2019).
    """

    def __init__(
        self, normalized_shape: Sizes, eps: float = 1e-6, elementwise_affine: bool = True, dtype: DTypeLike = "float32"
    ) -> None:
        self.normalized_shape, self.eps = (
            integer("RMSNorm", "normalized_shape", normalized_shape),
            real("RMSNorm", "eps", eps, 0),
        )
        self.weight = parameter(Tensor.ones(normalized_shape, dtype=dtype)) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-1:] != (self.normalized_shape,):
            raise ShapeError(f"[RMSNorm] of {self.normalized_shape} for a tensor of shape {x.shape}")
        return rmsnorm(x, self.weight, self.eps)

    def _describes(self):
        return f"{self.normalized_shape}"


def _normalised(x, axes, eps):
    centred = x - x.mean(axes, keepdims=True)
    return centred * (centred.square().mean(axes, keepdims=True) + eps).rsqrt()


class _OfChannels(Module):
    """The base of layers with a weight and a bias for each channel, the second axis."""

    def __init__(self, channels, eps, affine, dtype):
        self.channels, self.eps = (
            integer(type(self).__name__, "channels", channels),
            real(type(self).__name__, "eps", eps, 0),
        )
        self.weight = parameter(Tensor.ones(channels, dtype=dtype)) if affine else None
        self.bias = parameter(Tensor.zeros(channels, dtype=dtype)) if affine else None

    def _along(self, x, t):
        return t.reshape(1, self.channels, *[1] * (x.ndim - 2))

    def _check(self, x):
        if x.ndim < 2 or x.shape[1] != self.channels:
            raise ShapeError(
                f"[{type(self).__name__}] of {self.channels} channels for a tensor of shape {x.shape}: it is (n, "
                f"channels, ...)"
            )

    def _scaled(self, x):
        return x if self.weight is None else x * self._along(x, self.weight) + self._along(x, self.bias)

    def _describes(self):
        return f"{self.channels}"


class GroupNorm(_OfChannels):
    """Over groups of neighbouring channels of each sample of (n, num_channels, ...) (Wu and He 2018)."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: DTypeLike = "float32"
    ) -> None:
        num_groups, num_channels = (
            integer("GroupNorm", "num_groups", num_groups, 1),
            integer("GroupNorm", "num_channels", num_channels),
        )
        if num_channels % num_groups:
            raise UsageError(f"[GroupNorm] {num_channels} channels do not make {num_groups} groups of equal size")
        super().__init__(num_channels, eps, affine, dtype)
        self.num_groups = num_groups

    @rounded_once
    def forward(self, x: Tensor) -> Tensor:
        self._check(x)
        of_groups = x.reshape(x.shape[0], self.num_groups, math.prod(x.shape[1:]) // self.num_groups)
        return self._scaled(_normalised(of_groups, -1, self.eps).reshape(x.shape))

    def _describes(self):
        return f"{self.num_groups}, {self.channels}"


class InstanceNorm(_OfChannels):
    """Over each channel of each sample of (n, num_features, ...)."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, affine: bool = False, dtype: DTypeLike = "float32"
    ) -> None:
        super().__init__(num_features, eps, affine, dtype)

    @rounded_once
    def forward(self, x: Tensor) -> Tensor:
        self._check(x)
        return self._scaled(_normalised(x, tuple(range(2, x.ndim)), self.eps))


class BatchNorm(_OfChannels):
    """Over all axes but the channels of (n, num_features, ...) (Ioffe and Szegedy 2015).

    In training by the batch's mean and variance, otherwise by the running ones. The running ones move towards the
    batch's with weight `momentum` (the variance as that of a sample, divided by n - 1).
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        dtype: DTypeLike = "float32",
    ) -> None:
        super().__init__(num_features, eps, affine, dtype)
        self.momentum = real("BatchNorm", "momentum", momentum, 0, 1)
        self.running_mean = Tensor.zeros(num_features, dtype=dtype).contiguous().realize()
        self.running_var = Tensor.ones(num_features, dtype=dtype).contiguous().realize()

    @rounded_once
    def forward(self, x: Tensor) -> Tensor:
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
