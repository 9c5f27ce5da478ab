"""Resizing by torch's arguments. Along each axis an element of the result is a weighted sum of few elements; the host
works out which.
"""

from __future__ import annotations

import functools
import math

from ..._checks import shown
from ..._strata import DTypeError, ShapeError, Tensor, UsageError
from ._pools import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from ._shared import MOST_LISTED, rounded_once, taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._types import Sizes


__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

_CUBIC, _CUBIC_SMOOTH = -0.75, -0.5  # the slope of Keys' kernel: as it is, and where it is widened against aliasing


def _cubic(x, a):
    """Keys' convolution kernel (1981)."""
    x = abs(x)
    return ((a + 2) * x - (a + 3)) * x * x + 1 if x < 1 else (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0.0


def _nearest(i, n, scale):
    return [(min(int(i * scale), n - 1), 1.0)]


def _nearest_exact(i, n, scale):
    return [(min(int((i + 0.5) * scale), n - 1), 1.0)]


def _linear(place, n):
    place = max(place, 0.0)
    low = min(int(place), n - 1)
    return [(low, 1 - (place - low)), (min(low + 1, n - 1), place - low)]


def _four(place, n):
    low = math.floor(place)
    return [(min(max(low + j, 0), n - 1), _cubic(place - low - j, _CUBIC)) for j in range(-1, 3)]


def _smooth(i, n, scale, reach, kernel):
    """Elements under a kernel that is as wide as `scale` elements where it is above 1."""
    wide = max(scale, 1.0)
    center, support = scale * (i + 0.5), reach * wide
    first, end = max(int(center - support + 0.5), 0), min(int(center + support + 0.5), n)
    weights = [kernel((j - center + 0.5) / wide) for j in range(first, end)]
    return [(j, w / sum(weights)) for j, w in zip(range(first, end), weights)]


def _rows(mode, n, to, scale, align_corners, antialias):
    """For each element of the result (place, weight) of those it is made of."""
    if mode in ("nearest", "nearest-exact"):
        return [(_nearest if mode == "nearest" else _nearest_exact)(i, n, scale) for i in range(to)]
    if align_corners:
        scale = (n - 1) / (to - 1) if to > 1 else 0.0
    cubic = mode == "bicubic"
    if antialias:
        kernel = (lambda x: _cubic(x, _CUBIC_SMOOTH)) if cubic else lambda x: max(1 - abs(x), 0.0)
        return [_smooth(i, n, scale, 2 if cubic else 1, kernel) for i in range(to)]
    places = [i * scale if align_corners else (i + 0.5) * scale - 0.5 for i in range(to)]
    return [(_four if cubic else _linear)(place, n) for place in places]


def _summed(x, axis, rows):
    """Along an axis the weighted sums that rows say."""
    if all(len(row) == 1 for row in rows):
        return x.take(Tensor([row[0][0] for row in rows], "int64", x.device), axis)
    most = max(map(len, rows))
    if most == 2 == min(map(len, rows)):  # both in one kernel, for all axes
        parts = [
            (
                x.take(Tensor([row[i][0] for row in rows], "int64", x.device), axis),
                Tensor([row[i][1] for row in rows], x.dtype, x.device),
            )
            for i in range(2)
        ]
        return functools.reduce(
            Tensor.add, (part * weight.reshape(-1, *[1] * (x.ndim - 1 - axis)) for part, weight in parts)
        )
    weights = Tensor([[*(w for _, w in row), *[0.0] * (most - len(row))] for row in rows], x.dtype, x.device)
    return (
        taken(x, axis, [[place for place, _ in row] for row in rows])
        * weights.reshape(len(rows), *[1] * (x.ndim - 1 - axis), most)
    ).sum(-1)


@rounded_once
def _resized(x, sizes, scales, mode, align_corners, antialias):
    for axis, (to, scale) in enumerate(zip(sizes, scales), 2):
        x = _summed(x, axis, _rows(mode, x.shape[axis], to, scale, align_corners, antialias))
    return x


_AXES = {
    "linear": (1,),
    "bilinear": (2,),
    "bicubic": (2,),
    "trilinear": (3,),
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "area": (1, 2, 3),
}


def _sizes(x, size, scale_factor, recompute):
    """(sizes of the result, how far its elements are apart)."""
    axes = x.ndim - 2
    if (size is None) == (scale_factor is None):
        raise UsageError("[interpolate] give either size or scale_factor")
    if recompute and size is not None:
        raise UsageError("[interpolate] recompute_scale_factor goes with scale_factor, not with size")
    given = size if size is not None else scale_factor
    numbers = (given,) * axes if isinstance(given, (int, float)) else tuple(given)
    if len(numbers) != axes or any(not n > 0 for n in numbers):
        raise UsageError(f"[interpolate] {given} for {axes} sizes: one number above 0, or one for each")
    sizes = [int(n) for n in numbers] if size is not None else [math.floor(n * f) for n, f in zip(x.shape[2:], numbers)]
    if max(sizes, default=0) > MOST_LISTED:
        raise UsageError(f"[interpolate] to sizes {shown(sizes)}: {MOST_LISTED} at most")
    if min(*sizes, *x.shape[2:]) < 1:
        raise ShapeError(f"[interpolate] from sizes {x.shape[2:]} to {tuple(sizes)}: at least 1")
    exact = size is not None or recompute
    return sizes, [n / to if exact else 1 / f for n, to, f in zip(x.shape[2:], sizes, numbers)]


def interpolate(
    input: Tensor,
    size: Sizes | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """(n, channels, sizes) resized, to size or by scale_factor: one number or one a size.

    mode: nearest, nearest-exact and area for one to three sizes, linear for one, bilinear and bicubic for two,
    trilinear for three. align_corners: the first and last elements stay where they are, in linear and cubic modes.
    antialias: for bilinear and bicubic. recompute_scale_factor: scales follow from the sizes, not from scale_factor.
    """
    if mode not in _AXES:
        raise UsageError(f"[interpolate] mode '{mode}': use {', '.join(_AXES)}")
    if input.ndim - 2 not in _AXES[mode]:
        raise ShapeError(
            f"[interpolate] mode '{mode}' of shape {input.shape}: it takes (n, channels, "
            f"sizes) of {' to '.join(map(str, {*_AXES[mode][:1], *_AXES[mode][-1:]}))} sizes"
        )
    if align_corners is not None and not mode.endswith(("linear", "cubic")):
        raise UsageError(
            f"[interpolate] align_corners goes with linear, bilinear, bicubic and trilinear, not with '{mode}'"
        )
    if antialias and mode not in ("bilinear", "bicubic"):
        raise UsageError(f"[interpolate] antialias goes with bilinear and bicubic, not with '{mode}'")
    sizes, scales = _sizes(input, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[len(sizes) - 1](input, sizes)
    if not mode.startswith("nearest") and not input.dtype.is_float:
        raise DTypeError(f"[interpolate] between elements of {input.dtype.name}; cast first")
    return _resized(input, sizes, scales, mode, bool(align_corners), antialias)


def upsample(
    input: Tensor,
    size: Sizes | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """interpolate."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """interpolate by the nearest element."""
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(
    input: Tensor, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """interpolate by mode bilinear, with align_corners."""
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)
