"""Convolutions and pooling as layers: (n, channels, sizes) of one to three axes."""

import math

from .._checks import check_all, integer
from .._strata import ShapeError, UsageError
from ..functional import avg_pool, conv, conv_transpose, max_pool
from . import init
from .layers import parameter
from .module import Module


def _each(value, axes):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes


class _Convolution(Module):
    """Weights and bias start uniform within 1 / sqrt(fan_in), as PyTorch's."""

    axes, transposed = 2, False

    def __init__(self, channels_in, channels_out, window, stride=1, padding=0, dilation=1, groups=1, bias=True, dtype="float32"):
        name, window = type(self).__name__, _each(window, self.axes)
        if len(window) != self.axes:
            raise UsageError(f"[{name}] a window of {len(window)} axes: one number, or {self.axes}")
        window = tuple(integer(name, "window", n, 1) for n in window)
        channels_in, channels_out, groups = (integer(name, what, n, least) for what, n, least in (("channels_in", channels_in, 0), ("channels_out", channels_out, 0), ("groups", groups, 1)))
        if channels_in % groups or channels_out % groups:
            raise UsageError(f"[{type(self).__name__}] {channels_in} and {channels_out} channels in {groups} groups")
        first, second = (channels_in, channels_out // groups) if self.transposed else (channels_out, channels_in // groups)
        bound = 1 / math.sqrt(second * math.prod(window)) if second else 0.0
        self.weight = parameter(init.uniform((first, second, *window), -bound, bound, dtype))
        self.bias = parameter(init.uniform((channels_out,), -bound, bound, dtype)) if bias else None
        self.channels_in, self.channels_out, self.window = channels_in, channels_out, window
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def _check(self, x):
        if x.ndim != self.axes + 2:
            raise ShapeError(f"[{type(self).__name__}] shape {x.shape}: it takes (n, {self.channels_in}, {self.axes} sizes)")

    def forward(self, x):
        self._check(x)
        return conv(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def _describes(self):
        more = "".join(f", {name}={value}" for name, value, usual in (("stride", self.stride, 1), ("padding", self.padding, 0), ("dilation", self.dilation, 1), ("groups", self.groups, 1)) if value != usual)
        return f"{self.channels_in}, {self.channels_out}, {self.window}{more}"


class _ConvolutionTransposed(_Convolution):
    transposed = True

    def __init__(self, *args, output_padding=0, **named):
        super().__init__(*args, **named)
        self.output_padding = output_padding

    def forward(self, x):
        self._check(x)
        return conv_transpose(x, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.dilation, self.groups)


class Conv1d(_Convolution):
    """functional.conv of (n, channels, size)."""

    axes = 1


class Conv2d(_Convolution):
    """functional.conv of (n, channels, height, width)."""


class Conv3d(_Convolution):
    """functional.conv of (n, channels, depth, height, width)."""

    axes = 3


class ConvTranspose1d(_ConvolutionTransposed):
    """functional.conv_transpose of (n, channels, size)."""

    axes = 1


class ConvTranspose2d(_ConvolutionTransposed):
    """functional.conv_transpose of (n, channels, height, width)."""


class ConvTranspose3d(_ConvolutionTransposed):
    """functional.conv_transpose of (n, channels, depth, height, width)."""

    axes = 3


class MaxPool(Module):
    """functional.max_pool: `window` has a number for each of the last axes, (2, 2) for images."""

    def __init__(self, window, stride=None, padding=0, dilation=1):
        self.window, self.stride, self.padding, self.dilation = window, stride, padding, dilation

    def forward(self, x):
        return max_pool(x, self.window, self.stride, self.padding, self.dilation)

    def _describes(self):
        return f"{self.window}"


class AvgPool(Module):
    """functional.avg_pool: `window` has a number for each of the last axes."""

    def __init__(self, window, stride=None, padding=0, count_padding=True):
        self.window, self.stride, self.padding, self.count_padding = window, stride, padding, count_padding

    def forward(self, x):
        return avg_pool(x, self.window, self.stride, self.padding, self.count_padding)

    def _describes(self):
        return f"{self.window}"


check_all(globals(), __name__)
