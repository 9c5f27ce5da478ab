"""Convolutions and pooling as layers: (n, channels, sizes) of one to three axes."""

from __future__ import annotations

import math

from .._checks import check_all, integer
from .._strata import ShapeError, UsageError
from ..functional import avg_pool, conv, conv_transpose, max_pool
from . import init
from .layers import parameter
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._strata import Tensor
    from .._types import Sizes


def _each(value, axes):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes


class _Convolution(Module):
    """Weights and bias start uniform within 1 / sqrt(fan_in), as PyTorch's."""

    axes, transposed = 2, False

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        dtype="float32",
    ):
        name, kernel_size = type(self).__name__, _each(kernel_size, self.axes)
        if len(kernel_size) != self.axes:
            raise UsageError(f"[{name}] a kernel_size of {len(kernel_size)} axes: one number, or {self.axes}")
        kernel_size = tuple(integer(name, "kernel_size", n, 1) for n in kernel_size)
        in_channels, out_channels, groups = (
            integer(name, what, n, least)
            for what, n, least in (
                ("in_channels", in_channels, 0),
                ("out_channels", out_channels, 0),
                ("groups", groups, 1),
            )
        )
        if in_channels % groups or out_channels % groups:
            raise UsageError(f"[{type(self).__name__}] {in_channels} and {out_channels} channels in {groups} groups")
        first, second = (
            (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        )
        bound = 1 / math.sqrt(second * math.prod(kernel_size)) if second else 0.0
        self.weight = parameter(init.uniform((first, second, *kernel_size), -bound, bound, dtype))
        self.bias = parameter(init.uniform((out_channels,), -bound, bound, dtype)) if bias else None
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel_size
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def _check(self, x):
        if x.ndim != self.axes + 2:
            raise ShapeError(
                f"[{type(self).__name__}] shape {x.shape}: it takes (n, {self.in_channels}, {self.axes} sizes)"
            )

    def forward(self, x):
        self._check(x)
        return conv(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def _describes(self):
        more = "".join(
            f", {name}={value}"
            for name, value, usual in (
                ("stride", self.stride, 1),
                ("padding", self.padding, 0),
                ("dilation", self.dilation, 1),
                ("groups", self.groups, 1),
            )
            if value != usual
        )
        return f"{self.in_channels}, {self.out_channels}, {self.kernel_size}{more}"


class _ConvolutionTransposed(_Convolution):
    transposed = True

    def __init__(self, *args, output_padding=0, **named):
        super().__init__(*args, **named)
        self.output_padding = output_padding

    def forward(self, x):
        self._check(x)
        return conv_transpose(
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.dilation, self.groups
        )


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


class _Pool(Module):
    axes: int | None = None  # those of kernel_size

    def _keep(self, kernel_size):
        if self.axes is not None:
            name, kernel_size = type(self).__name__, _each(kernel_size, self.axes)
            if len(kernel_size) != self.axes:
                raise UsageError(f"[{name}] a kernel_size of {len(kernel_size)} axes: one number, or {self.axes}")
        self.kernel_size = kernel_size

    def _describes(self):
        return f"{self.kernel_size}"


class MaxPool(_Pool):
    """functional.max_pool: `kernel_size` has a number for each of the last axes, (2, 2) for images."""

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1
    ) -> None:
        self._keep(kernel_size)
        self.stride, self.padding, self.dilation = stride, padding, dilation

    def forward(self, x: Tensor) -> Tensor:
        return max_pool(x, self.kernel_size, self.stride, self.padding, self.dilation)


class AvgPool(_Pool):
    """functional.avg_pool: `kernel_size` has a number for each of the last axes."""

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, count_include_pad: bool = True
    ) -> None:
        self._keep(kernel_size)
        self.stride, self.padding, self.count_include_pad = stride, padding, count_include_pad

    def forward(self, x: Tensor) -> Tensor:
        return avg_pool(x, self.kernel_size, self.stride, self.padding, self.count_include_pad)


class MaxPool1d(MaxPool):
    """MaxPool of (n, channels, size)."""

    axes = 1


class MaxPool2d(MaxPool):
    """MaxPool of (n, channels, height, width)."""

    axes = 2


class MaxPool3d(MaxPool):
    """MaxPool of (n, channels, depth, height, width)."""

    axes = 3


class AvgPool1d(AvgPool):
    """AvgPool of (n, channels, size)."""

    axes = 1


class AvgPool2d(AvgPool):
    """AvgPool of (n, channels, height, width)."""

    axes = 2


class AvgPool3d(AvgPool):
    """AvgPool of (n, channels, depth, height, width)."""

    axes = 3


check_all(globals(), __name__)
