"""Pools by torch's arguments: (n, channels, sizes) of one to three sizes, or one of them without n."""

from __future__ import annotations

import math

from ... import functional as _own
from ..._checks import shown
from ..._strata import Tensor, UsageError, _root_of
from ._convolutions import batched
from ._shared import MOST_LISTED, each, listed, rounded_once, taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._types import (
        AdaptiveAvgPool,
        AdaptiveMaxPool,
        AdaptiveMaxPoolWithIndices,
        AvgPool,
        FractionalMaxPool,
        FractionalMaxPoolWithIndices,
        LpPool,
        MaxPool,
        MaxPoolWithIndices,
        MaxUnpool,
    )

_SIZES = (1, 2, 3)
__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]


def _named(name, function, meaning):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    return function


class _Windows:
    """The places of a pool's windows: numbers an axis, and how many places there are."""

    def __init__(self, name, sizes, window, stride, padding=0, dilation=1, ceil_mode=False):
        axes = len(sizes)
        self.sizes, self.window = sizes, each(name, "kernel_size", window, axes)
        self.stride = self.window if stride is None or stride == () else each(name, "stride", stride, axes)
        self.padding, self.dilation = each(name, "padding", padding, axes), each(name, "dilation", dilation, axes)
        if any(2 * p > k or p < 0 for p, k in zip(self.padding, self.window)):
            raise UsageError(f"[{name}] padding {padding} is not between 0 and half of kernel_size {window}")
        if min(*self.stride, *self.window, *self.dilation) < 1:
            raise UsageError(f"[{name}] kernel_size {window}, stride {stride}, dilation {dilation}: at least 1")
        self.places, self.trailing = [], []  # after: elements that are read beyond the axis
        for n, k, s, p, d in zip(sizes, self.window, self.stride, self.padding, self.dilation):
            left = n + 2 * p - d * (k - 1) - 1
            places = (-(-left // s) if ceil_mode else left // s) + 1
            places -= ceil_mode and (places - 1) * s >= n + p  # a window begins in the tensor, or in what is before it
            if places < 1:
                raise UsageError(
                    f"[{name}] kernel_size {window}, {dilation} apart, does not fit sizes {tuple(sizes)} with padding "
                    f"{padding}"
                )
            self.places.append(places)
            self.trailing.append(max((places - 1) * s + d * (k - 1) + 1 - n - p, p))

    @property
    def even(self):
        """Whether as much is read after each axis as before it."""
        return self.trailing == [*self.padding]

    def of(self, x, fill):
        """(..., places, window), with `fill` around x."""
        pairs = [(0, 0)] * (x.ndim - len(self.sizes)) + [*zip(self.padding, self.trailing)]
        return _own.windows(x.pad(pairs, fill) if any(map(any, pairs)) else x, self.window, self.stride, self.dilation)


def _lowest(x):
    if x.dtype.is_float:
        return -math.inf
    return 0 if x.dtype.is_unsigned or x.dtype.is_bool else -(1 << (8 * x.dtype.itemsize - 1))


def _with_places(under, places):
    """(the largest of each row of the last axis, the place of the first of them); places: of elements in the tensor,
    beyond it -1.
    """
    best = under.max(-1, keepdims=True)
    is_best = (under == best) | under.isnan() if under.dtype.is_float else under == best
    found = ((places >= 0) & is_best).where(places, 1 << 62).min(-1)
    return best.squeeze(-1), found


def _flat(x, axes):
    """The last axes as one."""
    return x.reshape(*x.shape[: x.ndim - axes], math.prod(x.shape[x.ndim - axes :]))


def _picked(x, places, axes):
    """x at places of its last axes as one, so that the gradient goes to the one element."""
    return _flat(x, axes).gather(-1, _flat(places, axes)).reshape(places.shape)


def _max_pool(axes: int) -> tuple[MaxPool, MaxPoolWithIndices]:
    def with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        def of(x):
            at = _Windows(f"max_pool{axes}d", x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode)
            places = Tensor.arange(math.prod(at.sizes)).to(x.device).reshape(at.sizes)
            found = _with_places(_flat(at.of(x.detach(), _lowest(x)), axes), _flat(at.of(places, -1), axes))[
                1
            ].contiguous()
            return _picked(x, found, axes), found

        return batched(f"max_pool{axes}d", axes, of, input)

    def max_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        if return_indices:
            return with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)

        def of(x):
            at = _Windows(f"max_pool{axes}d", x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode)
            if at.even:
                return _own.max_pool(x, at.window, at.stride, at.padding, at.dilation)
            return at.of(x, _lowest(x)).max(tuple(range(-axes, 0)))

        return batched(f"max_pool{axes}d", axes, of, input)

    meaning = f"""The largest under each place of a window over the last axes of (n, channels, {axes} sizes). stride:
    kernel_size by default.

    ceil_mode: windows that reach beyond the end count too. With indices: also the int64 place of each in the last axes
    as one."""
    return _named(f"max_pool{axes}d", max_pool, meaning), _named(f"max_pool{axes}d_with_indices", with_indices, meaning)


def _counts(at, count_include_pad, device):
    """How many elements each window has, a tensor that broadcasts to the places."""
    out = None
    for axis, (n, k, s, p, places) in enumerate(zip(at.sizes, at.window, at.stride, at.padding, at.places)):
        ends = [(i * s - p, min(i * s - p + k, n + p)) for i in listed("avg_pool", places)]
        numbers = [float(end - start if count_include_pad else min(end, n) - max(start, 0)) for start, end in ends]
        along = Tensor(numbers, device=device).reshape(places, *[1] * (len(at.sizes) - 1 - axis))
        out = along if out is None else out * along
    return out


@rounded_once
def _averaged(x, at, count_include_pad, divisor):
    if divisor is None and at.even:
        return _own.avg_pool(x, at.window, at.stride, at.padding, count_include_pad)
    return at.of(x, 0).sum(tuple(range(-len(at.sizes), 0))) / (
        _counts(at, count_include_pad, x.device) if divisor is None else divisor
    )


def _avg_pool(axes: int) -> AvgPool:
    def of(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        if divisor_override == 0:
            raise UsageError(f"[avg_pool{axes}d] divisor_override is 0")

        def placed(x):
            return _Windows(f"avg_pool{axes}d", x.shape[2:], kernel_size, stride, padding, 1, ceil_mode)

        return batched(
            f"avg_pool{axes}d", axes, lambda x: _averaged(x, placed(x), count_include_pad, divisor_override), input
        )

    if axes == 1:

        def avg_pool(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
            return of(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)

    else:

        def avg_pool(  # type: ignore[misc]  # torch's form for one axis has no divisor_override
            input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
        ):
            return of(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    meaning = f"""The mean under each place of a window over the last axes of (n, channels, {axes} sizes). stride:
    kernel_size by default.

    ceil_mode: windows that reach beyond the end count too. Padding counts as zeros, or not at all without
    count_include_pad."""
    return _named(f"avg_pool{axes}d", avg_pool, meaning)


@rounded_once
def _of_powers(x, at, p):
    sums = _averaged(x.square() if p == 2 else x.pow(p), at, True, None) * math.prod(at.window)
    return _root_of(sums.relu() if p == 2 else sums.sign() * sums.abs(), p)


def _lp_pool(axes: int) -> LpPool:
    def lp_pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        name, order = f"lp_pool{axes}d", float(norm_type)
        return batched(
            name,
            axes,
            lambda x: _of_powers(x, _Windows(name, x.shape[2:], kernel_size, stride, 0, 1, ceil_mode), order),
            input,
        )

    return _named(
        f"lp_pool{axes}d",
        lp_pool,
        f"sum(x^norm_type)^(1 / norm_type) under each place of a window over the last axes of (n, channels, "
        f"{axes} sizes).",
    )


def _wanted(name, sizes, output_size):
    wanted = (output_size,) * len(sizes) if output_size is None or isinstance(output_size, int) else tuple(output_size)
    wanted = wanted * len(sizes) if len(wanted) == 1 else wanted
    if len(wanted) != len(sizes) or any(n is not None and n < 0 for n in wanted):
        raise UsageError(f"[{name}] output_size {output_size}: one number, or {len(sizes)}")
    if any(to is not None and to > MOST_LISTED for to in wanted):
        raise UsageError(f"[{name}] output_size {shown(output_size)}: {MOST_LISTED} windows of an axis at most")
    return [n if to is None else to for n, to in zip(sizes, wanted)]


def _shares(n, to):
    """The places among n of each of `to` windows of nearly equal size, which overlap where n is no multiple."""
    return [[*range(i * n // to, -(-(i + 1) * n // to))] for i in range(to)]


@rounded_once
def _evenly_averaged(x, name, output_size):
    for axis, (n, to) in enumerate(zip(x.shape[2:], _wanted(name, x.shape[2:], output_size)), 2):
        if to and n % to == 0:
            x = x.unflatten(axis, (to, n // to)).mean(axis + 1)
        else:
            rows = _shares(n, to)
            x = taken(x, axis, rows).sum(-1) / Tensor([float(len(row)) for row in rows], device=x.device).reshape(
                to, *[1] * (x.ndim - 1 - axis)
            )
    return x


def _adaptive_avg_pool(axes: int) -> AdaptiveAvgPool:
    name = f"adaptive_avg_pool{axes}d"

    def pool(input, output_size):
        return batched(name, axes, lambda x: _evenly_averaged(x, name, output_size), input)

    return _named(
        name,
        pool,
        f"Means of output_size windows of nearly equal size: (n, channels, {axes} sizes), "
        f"one number or one an axis, None to leave an axis.",
    )


def _adaptive_max_pool(axes: int) -> tuple[AdaptiveMaxPool, AdaptiveMaxPoolWithIndices]:
    name = f"adaptive_max_pool{axes}d"

    def with_indices(input, output_size, return_indices=False):
        def of(x):
            under, places = x.detach(), Tensor.arange(math.prod(x.shape[2:])).to(x.device).reshape(x.shape[2:])
            for axis, (n, to) in enumerate(zip(x.shape[2:], _wanted(name, x.shape[2:], output_size))):
                rows = _shares(n, to)
                under, places = taken(under, axis + 2, rows, _lowest(x)), taken(places, axis, rows, -1)
            found = _with_places(_flat(under, axes), _flat(places, axes))[1].contiguous()
            return _picked(x, found, axes), found

        return batched(name, axes, of, input)

    def pool(input, output_size, return_indices=False):
        found = with_indices(input, output_size)
        return found if return_indices else found[0]

    meaning = f"""The largest of output_size windows of nearly equal size: (n, channels,
    {axes} sizes), one number or one an axis, None to leave an axis.

    With indices: also the int64 place of each in the last axes as one."""
    return _named(name, pool, meaning), _named(f"{name}_with_indices", with_indices, meaning)


def _max_unpool(axes: int) -> MaxUnpool:
    name = f"max_unpool{axes}d"

    def unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        window = each(name, "kernel_size", kernel_size, axes)
        steps = window if stride is None else each(name, "stride", stride, axes)
        usual = [
            (n - 1) * s + k - 2 * p
            for n, s, k, p in zip(input.shape[-axes:], steps, window, each(name, "padding", padding, axes))
        ]
        sizes = usual if output_size is None else [*output_size][-axes:]
        if len(sizes) != axes or any(abs(n - most) >= s for n, most, s in zip(sizes, usual, steps)):
            raise UsageError(f"[{name}] output_size {output_size}: within the stride {steps} of {tuple(usual)}")
        if indices.shape != input.shape:
            raise UsageError(f"[{name}] indices of shape {indices.shape} for shape {input.shape}")
        none = Tensor.zeros(*input.shape[:-axes], math.prod(sizes), dtype=input.dtype, device=input.device)
        return none.scatter(-1, _flat(indices, axes), _flat(input, axes)).reshape(*input.shape[:-axes], *sizes)

    return _named(
        name,
        unpool,
        f"The elements that max_pool{axes}d chose, at the places that it gave, and 0 elsewhere. output_size: "
        f"where several sizes give this one.",
    )


def _starts(n, k, to, u):
    """The starts of windows, (n, channels, to): nearly evenly, moved by u from [0, 1)."""
    if to == 1:
        return (u * 0 + (n - k)).cast("int64")
    apart = (n - k) / (to - 1)
    first = ((Tensor.arange(to, dtype="float32") + u) * apart).cast("int64") - (u * apart).cast("int64")
    return (Tensor.arange(to) == to - 1).where(n - k, first)


def _fractional_max_pool(axes: int) -> tuple[FractionalMaxPool, FractionalMaxPoolWithIndices]:
    name = f"fractional_max_pool{axes}d"

    def of(x, kernel_size, output_size, output_ratio, samples):
        window, sizes = each(name, "kernel_size", kernel_size, axes), x.shape[2:]
        ratio = (
            None
            if output_ratio is None
            else (output_ratio,) * axes
            if isinstance(output_ratio, float)
            else tuple(output_ratio)
        )
        wanted = [int(n * r) for n, r in zip(sizes, ratio)] if ratio else each(name, "output_size", output_size, axes)
        if any(to < 1 or to + k - 1 > n for to, k, n in zip(wanted, window, sizes)):
            raise UsageError(f"[{name}] {wanted} windows of {window} do not fit sizes {sizes}")
        samples = Tensor.rand(*x.shape[:2], axes, device=x.device) if samples is None else samples
        under, places = x.detach(), None
        for axis, (n, k, to) in enumerate(zip(sizes, window, wanted)):
            u = samples[..., axis if axes == 3 else 1 - axis].unsqueeze(-1)
            at = (_starts(n, k, to, u).unsqueeze(-1) + Tensor.arange(k)).reshape(
                *x.shape[:2], *[1] * axis, to * k, *[1] * (axes - 1 - axis)
            )
            under, places = under.gather(axis + 2, at), at if places is None else places * n + at
        order = [0, 1, *(2 + 2 * i for i in range(axes)), *(3 + 2 * i for i in range(axes))]
        split = [n for pair in zip(wanted, window) for n in pair]
        under, places = (_flat(t.reshape(*x.shape[:2], *split).permute(order), axes) for t in (under, places))
        found = _with_places(under, places)[1].contiguous()
        return _picked(x, found, axes), found

    def with_indices(
        input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
    ):
        if (output_size is None) == (output_ratio is None):
            raise UsageError(f"[{name}] give either output_size or output_ratio")
        return batched(name, axes, lambda x: of(x, kernel_size, output_size, output_ratio, _random_samples), input)

    def pool(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        found = with_indices(input, kernel_size, output_size, output_ratio, False, _random_samples)
        return found if return_indices else found[0]

    meaning = f"""The largest of windows at random places, output_size of them or output_ratio
    of the sizes: (n, channels, {axes} sizes).

    _random_samples (n, channels, {axes}) in [0, 1): where they stand (Graham 2014). With indices: also the int64
    place of each in the last axes as one."""
    return _named(name, pool, meaning), _named(f"{name}_with_indices", with_indices, meaning)


max_pool1d, max_pool1d_with_indices = _max_pool(1)
max_pool2d, max_pool2d_with_indices = _max_pool(2)
max_pool3d, max_pool3d_with_indices = _max_pool(3)
adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pool(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pool(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pool(3)
fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional_max_pool(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional_max_pool(3)
avg_pool1d, avg_pool2d, avg_pool3d = map(_avg_pool, _SIZES)
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(_adaptive_avg_pool, _SIZES)
lp_pool1d, lp_pool2d, lp_pool3d = map(_lp_pool, _SIZES)
max_unpool1d, max_unpool2d, max_unpool3d = map(_max_unpool, _SIZES)
