"""Convolutions by torch's arguments: (n, channels, sizes) of one to three sizes, or one of them without n."""

from __future__ import annotations

from ... import functional as _own
from ..._strata import ShapeError, UsageError
from ._shared import each, rounded_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ..._strata import Tensor
    from ..._types import Conv, ConvTranspose

    _T = TypeVar("_T", Tensor, tuple[Tensor, Tensor])


__all__ = ["conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]


def batched(name: str, axes: int, function: Callable[[Tensor], _T], x: Tensor) -> _T:
    """function(x) of x with n, which is taken away again where x has none."""
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(f"[{name}] shape {x.shape}: it takes (n, channels, {axes} sizes), or one of them without n")
    if x.ndim == axes + 2:
        return function(x)
    out = function(x.unsqueeze(0))
    return (out[0].squeeze(0), out[1].squeeze(0)) if isinstance(out, tuple) else out.squeeze(0)


def _same(name, x, weight, stride, dilation):
    """(x, padding) that keep the sizes of x: of an odd number of zeros the last one is at the end."""
    axes = x.ndim - 2
    if set(each(name, "stride", stride, axes)) != {1}:
        raise UsageError(
            f"[{name}] padding='same' with stride {stride}: places are as many as elements for stride 1 alone"
        )
    totals = [d * (k - 1) for d, k in zip(each(name, "dilation", dilation, axes), weight.shape[2:])]
    if any(total % 2 for total in totals):
        x = x.pad([(0, 0), (0, 0), *[(0, total % 2) for total in totals]])
    return x, tuple(total // 2 for total in totals)


def _conv(axes: int) -> Conv:
    name = f"conv{axes}d"

    def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        def of(x):
            if padding not in ("same", "valid") and isinstance(padding, str):
                raise UsageError(f"[{name}] padding '{padding}': use numbers, same or valid")
            around = 0 if padding == "valid" else padding
            x, around = _same(name, x, weight, stride, dilation) if padding == "same" else (x, around)
            return _own.conv(x, weight, bias, stride, around, dilation, groups)

        return batched(name, axes, of, input)

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = f"""Cross-correlation of (n, in, {axes} sizes), or of one without n, with weight (out, in / groups,
    window), plus bias (out,).

    padding: zeros on both sides; 'same' for as many places as there are elements, 'valid' for none."""
    return conv


def _transposed(name, x, weight, bias, stride, padding, output_padding, groups, dilation):
    axes = x.ndim - 2
    steps, around, beyond, apart = (
        each(name, *pair, axes)
        for pair in (
            ("stride", stride),
            ("padding", padding),
            ("output_padding", output_padding),
            ("dilation", dilation),
        )
    )
    if any(more >= max(s, d) for more, s, d in zip(beyond, steps, apart)):
        raise UsageError(
            f"[{name}] output_padding {output_padding}: below the stride {stride} or the dilation {dilation}"
        )
    reach = [d * (k - 1) for d, k in zip(apart, weight.shape[2:])]
    if all(p <= r for p, r in zip(around, reach)) and all(more < s for more, s in zip(beyond, steps)):
        return _own.conv_transpose(x, weight, bias, stride, padding, output_padding, dilation, groups)
    whole = _own.conv_transpose(x, weight, None, stride, 0, 0, dilation, groups).pad(
        [(0, 0), (0, 0), *[(0, more) for more in beyond]]
    )
    if any(n <= 2 * p for n, p in zip(whole.shape[2:], around)):
        raise ShapeError(f"[{name}] padding {padding} leaves nothing of {whole.shape[2:]}")
    y = whole.shrink([(0, n) for n in whole.shape[:2]] + [(p, n - p) for n, p in zip(whole.shape[2:], around)])
    return y if bias is None else y + bias.reshape(1, -1, *[1] * axes)


def _conv_transpose(axes: int) -> ConvTranspose:
    name = f"conv_transpose{axes}d"

    def conv_transpose(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return batched(
            name,
            axes,
            lambda x: _transposed(name, x, weight, bias, stride, padding, output_padding, groups, dilation),
            input,
        )

    conv_transpose.__name__ = conv_transpose.__qualname__ = name
    conv_transpose.__doc__ = f"""The gradient of conv{axes}d by its input: (n, in, {axes} sizes), or one without n,
    weight (in, out / groups, window) -> (n, out, (sizes - 1) * stride + dilation * (window - 1) + 1 - 2 * padding +
    output_padding)."""
    return conv_transpose


conv1d, conv2d, conv3d = map(_conv, (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_conv_transpose, (1, 2, 3))


@rounded_once
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """conv1d of input (steps, n, in) with weight (window, in, out) and bias (out,)."""
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)
