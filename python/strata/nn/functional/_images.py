"""Pixels moved by torch's names: channels into space and back, patches, sampling at places of a grid."""

from __future__ import annotations

import math

from ... import functional as _own
from ..._strata import ShapeError, Tensor, UsageError, stack
from ._convolutions import batched
from ._resize import _CUBIC
from ._shared import each, listed, rounded_once, taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import Sizes


__all__ = [
    "affine_grid",
    "channel_shuffle",
    "fold",
    "grid_sample",
    "native_channel_shuffle",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "unfold",
]


def pad(input: Tensor, pad: list[int] | tuple[int, ...], mode: str = "constant", value: float | None = None) -> Tensor:
    """By pairs (before, after) for the last axes, the last one first; numbers below 0 take away. mode: constant, filled
    with value (0), reflect, replicate or circular.
    """
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise UsageError(f"[pad] {len(pad)} numbers for {input.ndim} axes: a pair an axis, from the last one on")
    pairs = [(0, 0)] * (input.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -2, -2)]
    if mode != "constant" and value:
        raise UsageError(f"[pad] value {value} goes with mode constant, not with {mode}")
    if mode == "reflect" and any(max(pair) >= n for pair, n in zip(pairs, input.shape) if any(pair)):
        raise UsageError(f"[pad] {tuple(pad)} by reflection is not less than the sizes of shape {input.shape}")
    if mode == "circular" and any(max(pair) > n for pair, n in zip(pairs, input.shape)):
        raise UsageError(f"[pad] {tuple(pad)} goes more than once around the sizes of shape {input.shape}")
    from ... import _namespace

    widths: Any = [tuple(max(n, 0) for n in pair) for pair in pairs]
    kind: Any = mode
    grown = _namespace.pad(input, widths, kind, 0 if value is None else value)
    if all(n >= 0 for n in pad):
        return grown
    bounds = [(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(grown.shape, pairs)]
    if any(begin > end for begin, end in bounds):
        raise ShapeError(f"[pad] {tuple(pad)} takes more than there is of shape {input.shape}")
    return grown.shrink(bounds)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., channels * r^2, height, width) -> (..., channels, height * r, width * r)."""
    r, rest = upscale_factor, [*input.shape]
    if len(rest) < 3 or r < 1 or rest[-3] % (r * r):
        raise ShapeError(
            f"[pixel_shuffle] shape {input.shape} by {r}: the channels, axis -3, are no multiple of {r * r}"
        )
    *lead, channels, height, width = rest
    x = input.reshape(math.prod(lead), channels // (r * r), r, r, height, width)
    return x.permute(0, 1, 4, 2, 5, 3).reshape(*lead, channels // (r * r), height * r, width * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., channels, height * r, width * r) -> (..., channels * r^2, height, width)."""
    r, rest = downscale_factor, [*input.shape]
    if len(rest) < 3 or r < 1 or rest[-1] % r or rest[-2] % r:
        raise ShapeError(
            f"[pixel_unshuffle] shape {input.shape} by {r}: height and width, the last axes, are no multiples of it"
        )
    *lead, channels, height, width = rest
    x = input.reshape(math.prod(lead), channels, height // r, r, width // r, r)
    return x.permute(0, 1, 3, 5, 2, 4).reshape(*lead, channels * r * r, height // r, width // r)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """(n, channels, sizes): the first channels of all groups, then the second ones, ..."""
    if input.ndim < 3 or groups < 1 or input.shape[1] % groups:
        raise ShapeError(
            f"[channel_shuffle] shape {input.shape} in {groups} groups: (n, channels, sizes), "
            f"channels a multiple of them"
        )
    n, channels, *sizes = input.shape
    return input.reshape(n, groups, channels // groups, *sizes).transpose(1, 2).reshape(input.shape)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """channel_shuffle."""
    return channel_shuffle(input, groups)


def unfold(input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> Tensor:
    """Patches of (n, channels, height, width), or of one without n, as columns: (n, channels * window, places)."""
    window, apart, around, steps = (
        each("unfold", *pair, 2)  # type: ignore[call-arg]
        for pair in (("kernel_size", kernel_size), ("dilation", dilation), ("padding", padding), ("stride", stride))
    )

    def of(x):
        x = x.pad([(0, 0), (0, 0), *[(p, p) for p in around]])
        found = _own.windows(x, window, steps, apart)
        return found.permute(0, 1, 4, 5, 2, 3).reshape(
            x.shape[0], x.shape[1] * math.prod(window), math.prod(found.shape[2:4])
        )

    return batched("unfold", 2, of, input)


@rounded_once
def fold(
    input: Tensor, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Tensor:
    """Columns (n, channels * window, places), or those of one, added up where unfold takes them from: (n, channels,
    *output_size).
    """
    sizes, window, apart, around, steps = (
        each("fold", *pair, 2)  # type: ignore[call-arg]
        for pair in (
            ("output_size", output_size),
            ("kernel_size", kernel_size),
            ("dilation", dilation),
            ("padding", padding),
            ("stride", stride),
        )
    )
    x = input if input.ndim == 3 else input.unsqueeze(0)
    places = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(sizes, window, apart, around, steps)]
    if x.ndim != 3 or x.shape[1] % math.prod(window) or x.shape[2] != math.prod(places):
        raise ShapeError(
            f"[fold] shape {input.shape} for kernel_size {window} and output_size {sizes}: it takes (n, "
            f"channels * {math.prod(window)}, {math.prod(places)})"
        )
    x = x.reshape(x.shape[0], x.shape[1] // math.prod(window), *window, *places).movedim(
        4, 3
    )  # an axis of places after that of the window
    for n, k, d, p, s, m in zip(sizes, window, apart, around, steps, places):
        to = [
            [
                j * m + (y + p - j * d) // s
                for j in listed("fold", k)
                if (y + p - j * d) % s == 0 and 0 <= (y + p - j * d) // s < m
            ]
            for y in listed("fold", n)
        ]
        x = taken(x.flatten(2, 3), 2, to).sum(-1).movedim(2, -1)
    return x if input.ndim == 3 else x.squeeze(0)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Places for grid_sample that affine maps theta (n, 2, 3) or (n, 3, 4) give: size (n, channels, sizes) -> (n,
    sizes, 2 or 3).
    """
    axes = len(size) - 2
    if axes not in (2, 3) or theta.shape != (size[0], axes, axes + 1):
        raise ShapeError(
            f"[affine_grid] theta {theta.shape} for size {tuple(size)}: (n, 2, 3) for two sizes, (n, 3, 4) for three"
        )

    def line(n):
        all = listed("affine_grid", n)
        places = (
            [2 * i / (n - 1) - 1 if n > 1 else 0.0 for i in all]
            if align_corners
            else [(2 * i + 1) / n - 1 for i in all]
        )
        return Tensor(places, wide, theta.device)

    wide = theta.dtype if theta.dtype.itemsize >= 4 else "float32"
    sizes = [*size[2:]]
    base = [line(n).reshape(n, *[1] * (axes - 1 - i)).expand(sizes) for i, n in enumerate(sizes)][::-1]
    points = stack([*base, base[0].ones_like()], -1).reshape(1, math.prod(sizes), axes + 1)
    return (points @ theta.cast(wide).mT).reshape(size[0], *sizes, axes).cast(theta.dtype)


def _reflected(x, low, high):
    """Mirrored at low and high as often as it takes."""
    if low == high:
        return x * 0
    span = high - low
    x = (x - low).abs()
    turns = (x / span).floor()
    inside = x - turns * span
    return (turns % 2 == 0).where(inside + low, high - inside)


def _bounded(x, n, padding_mode, align_corners):
    if padding_mode == "border":
        return x.clamp(0, n - 1)
    if padding_mode == "reflection":
        return _reflected(x, *((0.0, n - 1.0) if align_corners else (-0.5, n - 0.5))).clamp(0, n - 1)
    return x


def _at(x, places):
    """x (n, channels, sizes) at whole places, one tensor (n, points) a size; 0 outside."""
    sizes, offset, inside = x.shape[2:], None, None
    for place, n in zip(places, sizes):
        here = (place >= 0) & (place <= n - 1)
        whole = here.where(place, 0).cast("int64")
        offset = whole if offset is None else offset * n + whole
        inside = here if inside is None else inside & here
    return inside.unsqueeze(1).where(x.flatten(2).gather(2, offset.unsqueeze(1)), 0)


def _bilinear(x, places):
    low = [p.floor().detach() for p in places]
    out = 0
    for corner in range(1 << len(places)):
        up = [corner >> i & 1 for i in range(len(places))]
        weight = math.prod((p - a) if u else (1 - (p - a)) for p, a, u in zip(places, low, up))
        out = out + _at(x, [a + u for a, u in zip(low, up)]) * weight.unsqueeze(1)
    return out


def _bicubic(x, places, bounded):
    low = [p.floor().detach() for p in places]
    weights = [[_weight(p - a - j) for j in range(-1, 3)] for p, a in zip(places, low)]
    out = 0
    for i, to_row in enumerate(weights[0]):
        for j, to_column in enumerate(weights[1]):
            at = [bounded(a + k - 1, axis) for axis, (a, k) in enumerate(zip(low, (i, j)))]
            out = out + _at(x, at) * (to_row * to_column).unsqueeze(1)
    return out


def _weight(x):
    """Keys' kernel of a tensor, within 2 of 0."""
    x = x.abs()
    near, far = ((_CUBIC + 2) * x - (_CUBIC + 3)) * x * x + 1, (((x - 5) * x + 8) * x - 4) * _CUBIC
    return (x < 1).where(near, far)


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """input (n, channels, sizes) at places of grid (n, places, 2 or 3), x first, from -1 to 1: (n, channels, places).

    mode: bilinear, nearest, or bicubic for two sizes. padding_mode: what stands outside: zeros, border, reflection.
    align_corners: -1 and 1 are the middles of the outer elements, else their outer edges.
    """
    axes = input.ndim - 2
    if axes not in (2, 3) or grid.ndim != axes + 2 or grid.shape[0] != input.shape[0] or grid.shape[-1] != axes:
        raise ShapeError(
            f"[grid_sample] shapes {input.shape} and {grid.shape}: (n, channels, height, width) and (n, ..., 2), "
            f"or three sizes and 3"
        )
    if mode not in ("bilinear", "nearest", "bicubic") or (mode == "bicubic" and axes == 3):
        raise UsageError(f"[grid_sample] mode '{mode}': use bilinear or nearest, for two sizes also bicubic")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise UsageError(f"[grid_sample] padding_mode '{padding_mode}': use zeros, border or reflection")
    return _sampled(input, grid, mode, padding_mode, align_corners)


@rounded_once
def _sampled(x, grid, mode, padding_mode, align_corners):
    axes, sizes = x.ndim - 2, x.shape[2:]
    points = grid.reshape(grid.shape[0], math.prod(grid.shape[1:-1]), axes)
    places = [points[..., axes - 1 - i] for i in range(axes)]
    places = [(p + 1) * ((n - 1) / 2) if align_corners else ((p + 1) * n - 1) / 2 for p, n in zip(places, sizes)]

    def bounded(place, axis):
        return _bounded(place, sizes[axis], padding_mode, align_corners)

    if mode == "bicubic":
        out = _bicubic(x, places, bounded)
    else:
        places = [bounded(place, axis) for axis, place in enumerate(places)]
        out = _at(x, [p.round() for p in places]) if mode == "nearest" else _bilinear(x, places)
    return out.reshape(*x.shape[:2], *grid.shape[1:-1])
