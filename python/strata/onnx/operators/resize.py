"""Operators that read between elements: resizing, grids, regions of images."""

import math

import numpy

from ... import _strata
from ..._strata import Unsupported
from .common import axis_of, filled, on_device, product, wide, within_host

LONGEST_AXIS = 1 << 22  # that is resized: its places are made on the host
ROUNDED = {
    "round_prefer_floor": lambda p: numpy.ceil(p - 0.5),
    "round_prefer_ceil": lambda p: numpy.floor(p + 0.5),
    "floor": numpy.floor,
    "ceil": numpy.ceil,
}


def places(size, n, factor, how, region):
    """Where the elements of a resized axis lie in the one before; `factor * n` need not be whole."""
    i, to = numpy.arange(size, dtype=numpy.float64), factor * n
    if how == "half_pixel" or how == "pytorch_half_pixel":
        return (i + 0.5) / factor - 0.5 if how == "half_pixel" or to != 1 else i * 0 - 0.5
    if how == "half_pixel_symmetric":
        return n / 2 * (1 - size / to) + (i + 0.5) / factor - 0.5
    if how == "align_corners":
        return i * ((n - 1) / (to - 1) if to != 1 else 0)
    if how == "tf_half_pixel_for_nn":
        return (i + 0.5) / factor
    if how == "tf_crop_and_resize":
        first, last = region
        return (
            i * ((last - first) * (n - 1) / (to - 1)) + first * (n - 1)
            if to != 1
            else i * 0 + (first + last) * (n - 1) / 2
        )
    if how != "asymmetric":
        raise Unsupported(f"[onnx] Resize with coordinate_transformation_mode {how}")
    return i / factor


def _triangle(t, a):
    return numpy.clip(1 - abs(t), 0, 1)


def _cubic(t, a):
    """Keys's, by its coefficient a."""
    t = abs(t)
    near, far = ((a + 2) * t - (a + 3)) * t * t + 1, ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return numpy.where(t <= 1, near, numpy.where(t < 2, far, 0))


FILTERS = {"linear": (_triangle, 1), "cubic": (_cubic, 2)}


def taps(at, n, factor, mode, antialias, exclude_outside, a):
    """(indices, weights), each (places, elements that count)."""
    shape, reach = FILTERS[mode]
    narrow = min(factor, 1.0) if antialias else 1.0
    count = 2 * math.ceil(reach / narrow)
    within_host(len(at) * count, f"Resize of {n} elements to {len(at)}, of {count} each")
    index = numpy.floor(at).astype(numpy.int64)[:, None] + numpy.arange(1 - count // 2, count // 2 + 1)
    weights = shape((index - at[:, None]) * narrow, a)
    if exclude_outside:
        weights = numpy.where((index < 0) | (index >= n), 0, weights)
    if exclude_outside or antialias:
        weights = weights / weights.sum(1, keepdims=True)
    return index.clip(0, n - 1), weights


def _targets(x, scales, sizes, axes, policy):
    """(axis, factor, size) of each."""
    if not sizes:
        return [(axis, s, math.floor(x.shape[axis] * s)) for axis, s in zip(axes, scales)]
    factors = [to / x.shape[axis] for axis, to in zip(axes, sizes)]
    if policy == "stretch":
        return [*zip(axes, factors, map(int, sizes))]
    if policy not in ("not_larger", "not_smaller"):
        raise Unsupported(f"[onnx] Resize with keep_aspect_ratio_policy {policy}")
    factor = (min if policy == "not_larger" else max)(factors)
    return [(axis, factor, math.floor(factor * x.shape[axis] + 0.5)) for axis in axes]


def resize(x, roi=None, scales=None, sizes=None, *, mode="nearest", coordinate_transformation_mode="half_pixel",
           nearest_mode="round_prefer_floor", axes=None, antialias=0,
           keep_aspect_ratio_policy="stretch", exclude_outside=0, extrapolation_value=0.0, cubic_coeff_a=-0.75,
           version=11):  # fmt: skip
    if version < 11:  # (x, scales)
        scales, roi, coordinate_transformation_mode, nearest_mode = roi, None, "asymmetric", "floor"
    if mode not in ("nearest", *FILTERS):
        raise Unsupported(f"[onnx] Resize with mode {mode}: nearest, linear and cubic are there")
    roi, scales, sizes = (
        [float(n) for n in numpy.asarray(v).reshape(-1)] if v is not None else [] for v in (roi, scales, sizes)
    )
    axes = [axis_of(axis, x.ndim) for axis in axes] if axes else [*range(x.ndim)]
    kind, outside = x.dtype, None
    for i, (axis, factor, to) in enumerate(_targets(x, scales, sizes, axes, keep_aspect_ratio_policy)):
        n, how = x.shape[axis], coordinate_transformation_mode
        if not 0 <= to < LONGEST_AXIS or n == 0 and to:
            raise Unsupported(f"[onnx] Resize of axis {axis} from {n} to {to} elements")
        if to == 0:
            x = x.shrink([(0, 0 if k == axis else m) for k, m in enumerate(x.shape)])
            continue
        if to == n and factor == 1 and how != "tf_crop_and_resize":
            continue
        at = places(to, n, factor, how, (roi[i], roi[i + len(axes)]) if how == "tf_crop_and_resize" else None)
        if how == "tf_crop_and_resize":
            out = on_device((at < 0) | (at > n - 1), x).reshape([-1 if k == axis else 1 for k in range(x.ndim)])
            outside = out if outside is None else outside | out
        if mode == "nearest":
            x = x.take(on_device(ROUNDED[nearest_mode](at).clip(0, n - 1).astype(numpy.int64), x), axis)
            continue
        index, weights = taps(at, n, factor, mode, antialias, exclude_outside, cubic_coeff_a)
        x = _weighted(x if x.dtype == _strata.dtypes.float64 else x.cast("float32"), axis, index, weights)
    if outside is not None:
        x = _strata.where(outside, extrapolation_value, x)
    if kind.is_integer and x.dtype.is_float:
        x = x.round()
    return x.cast(kind)


def _weighted(x, axis, index, weights):
    by = [-1 if k == axis else 1 for k in range(x.ndim)]
    if index.shape[1] > 8:
        within_host(x.shape[axis] * len(index), f"Resize of {x.shape[axis]} elements to {len(index)} with antialias")
        matrix = numpy.zeros((x.shape[axis], len(index)), numpy.float64)
        numpy.add.at(matrix, (index, numpy.arange(len(index))[:, None]), weights)
        return (x.movedim(axis, -1) @ on_device(matrix.astype(numpy.float32), x).cast(x.dtype)).movedim(-1, axis)
    out = None
    for column in range(index.shape[1]):
        part = x.take(on_device(index[:, column], x), axis) * on_device(
            weights[:, column].astype(numpy.float32), x
        ).cast(x.dtype).reshape(by)
        out = part if out is None else out + part
    return out


def upsample(x, scales=None, *, mode="nearest"):
    return resize(x, None, scales, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor")


# Grids: places from -1 to 1.


def affine_grid(theta, size, *, align_corners=0):
    """(n, sizes, axes): the places of an image's elements, turned by theta (n, axes, axes + 1)."""
    sizes = [int(n) for n in numpy.asarray(size).reshape(-1)][2:]
    within_host(product(sizes) * (len(sizes) + 1), "AffineGrid")
    rows = []
    for n in sizes:
        i = numpy.arange(n, dtype=numpy.float64)
        rows.append(2 * i / max(n - 1, 1) - 1 if align_corners else (2 * i + 1) / n - 1)
    grid = numpy.stack([*numpy.meshgrid(*rows, indexing="ij")[::-1], numpy.ones(sizes)], -1).reshape(-1, len(sizes) + 1)
    kind = theta.dtype
    y = on_device(grid.astype(numpy.float32), theta).cast(wide(theta).dtype) @ wide(theta).transpose(-1, -2)
    return y.reshape(theta.shape[0], *sizes, len(sizes)).cast(kind)


def _reflected(at, low, high):
    """Mirrored at both ends until it lies between them."""
    span = high - low
    if span <= 0:
        return at * 0
    apart = abs(at - low)
    turns = (apart / span).floor()
    rest = apart - turns * span
    return _strata.where(turns.remainder(2) == 0, rest + low, high - rest)


def _inside(at, n, mode, align_corners):
    """(an index between 0 and n - 1, whether it counts) of whole numbers."""
    if mode == "reflection":
        at = _reflected(at, *((0, n - 1) if align_corners else (-0.5, n - 0.5)))
    return at.clip(0, n - 1), ((at >= 0) & (at <= n - 1)) if mode == "zeros" else None


def _cubic_of(t, a=-0.75):
    t = abs(t)
    near, far = ((a + 2) * t - (a + 3)) * t * t + 1, ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return _strata.where(t <= 1, near, _strata.where(t < 2, far, 0.0))


def grid_sample(x, grid, *, mode="linear", padding_mode="zeros", align_corners=0):
    """x (n, c, sizes) at the places of grid (n, places, axes), the last axis first."""
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    if mode not in ("nearest", "linear", "cubic") or padding_mode not in ("zeros", "border", "reflection"):
        raise Unsupported(f"[onnx] GridSample with mode {mode} and padding_mode {padding_mode}")
    kind, sizes, axes = x.dtype, x.shape[2:], x.ndim - 2
    values, at = wide(x).reshape(*x.shape[:2], -1), wide(grid)
    places_of = [at[..., axes - 1 - i] for i in range(axes)]
    places_of = [(p + 1) / 2 * (n - 1) if align_corners else ((p + 1) * n - 1) / 2 for p, n in zip(places_of, sizes)]
    if mode != "cubic" and padding_mode != "zeros":
        ends = [(0, n - 1) if align_corners else (-0.5, n - 0.5) for n in sizes]
        places_of = [
            (_reflected(p, *e) if padding_mode == "reflection" else p).clip(0, n - 1)
            for p, n, e in zip(places_of, sizes, ends)
        ]
    if mode == "nearest":
        choices = [[(p.round(), None)] for p in places_of]
    elif mode == "linear":
        choices = [[(p.floor() + i, 1 - abs(p - p.floor() - i)) for i in (0, 1)] for p in places_of]
    else:
        choices = [[(p.floor() + i, _cubic_of(p - p.floor() - i)) for i in (-1, 0, 1, 2)] for p in places_of]
    out = _sampled(values, choices, sizes, padding_mode, align_corners)
    return out.reshape(*x.shape[:2], *grid.shape[1:-1]).cast(kind)


def _sampled(values, choices, sizes, padding_mode, align_corners):
    """The sum over all combinations of one choice an axis, each (index, weight)."""
    n, c = values.shape[:2]
    out = filled((), 0, values)
    indices = [
        [(*_inside(at, size, padding_mode, align_corners), weight) for at, weight in row]
        for row, size in zip(choices, sizes)
    ]
    for number in range(product(len(row) for row in indices)):
        place, weight, counts = None, None, None
        for row, size in zip(indices, sizes):
            number, which = divmod(number, len(row))
            at, inside, part = row[which]
            place = at if place is None else place * size + at
            weight = part if weight is None else weight * part if part is not None else weight
            counts = inside if counts is None else counts & inside if inside is not None else counts
        found = values.gather(2, place.cast("int64").reshape(n, 1, -1).expand(n, c, product(place.shape[1:])))
        weight = weight if counts is None else _strata.where(counts, 1.0 if weight is None else weight, 0.0)
        out = out + (found if weight is None else found * weight.reshape(n, 1, -1))
    return out


ROWS = {"AffineGrid": affine_grid, "GridSample": grid_sample, "Resize": resize, "Upsample": upsample}
