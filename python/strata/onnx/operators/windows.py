"""Convolutions and pools: what slides over the axes after batch and channels."""

import itertools
import math

import numpy

from ... import _namespace as namespace, _strata, functional
from ..._strata import Tensor, Unsupported
from .common import filled, in_float32, is_narrow, numbers, on_device, over_places, positions, wide, within_host


def sides(x, window, strides, dilations, pads, auto_pad):
    """(before, after) of each axis of the window."""
    n = len(window)
    if auto_pad in ("NOTSET", "VALID"):
        pads = list(pads or [0] * (2 * n)) if auto_pad == "NOTSET" else [0] * (2 * n)
        return [(pads[i], pads[i + n]) for i in range(n)]
    if auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        raise Unsupported(f"[onnx] auto_pad {auto_pad}: NOTSET, VALID, SAME_UPPER and SAME_LOWER are there")
    found = []
    for size, k, stride, dilation in zip(x.shape[-n:], window, strides, dilations):
        whole = max((-(-size // stride) - 1) * stride + dilation * (k - 1) + 1 - size, 0)
        less, more = whole // 2, whole - whole // 2
        found.append((less, more) if auto_pad == "SAME_UPPER" else (more, less))
    return found


def padded(x, around, value=0):
    """With these many elements more, or fewer where numbers are negative, at both ends of the last axes."""
    around = [(0, 0)] * (x.ndim - len(around)) + list(around)
    if any(a < 0 or b < 0 for a, b in around):
        x = x.shrink([(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, around)])
    return x.pad([(max(a, 0), max(b, 0)) for a, b in around], value) if any(a > 0 or b > 0 for a, b in around) else x


def each(given, window, usual=1):
    return list(given or [usual] * len(window))


def conv(
    x, weight, bias=None, *, kernel_shape=None, strides=None, pads=None, dilations=None, group=1, auto_pad="NOTSET"
):
    """In float32 after the padding: matrix instructions take narrow elements that a padding gives."""
    window, kind = weight.shape[2:], x.dtype
    strides, dilations = each(strides, window), each(dilations, window)
    x = padded(x, sides(x, window, strides, dilations, pads, auto_pad))
    out = functional.conv(wide(x), wide(weight), None if bias is None else wide(bias), strides, 0, dilations, group)
    return out.cast(kind) if is_narrow(x) else out


@in_float32
def conv_transpose(
    x,
    weight,
    bias=None,
    *,
    kernel_shape=None,
    strides=None,
    pads=None,
    dilations=None,
    group=1,
    output_padding=None,
    output_shape=None,
    auto_pad="NOTSET",
):
    window = weight.shape[2:]
    n = len(window)
    strides, dilations, more = each(strides, window), each(dilations, window), each(output_padding, window, 0)
    pads = list(pads or [0] * (2 * n))
    whole = [
        (size - 1) * s + d * (k - 1) + 1 + o for size, s, d, k, o in zip(x.shape[2:], strides, dilations, window, more)
    ]
    if auto_pad.startswith("SAME") or output_shape:
        wanted = output_shape[-n:] if output_shape else [size * s for size, s in zip(x.shape[2:], strides)]
        lost = [a - b for a, b in zip(whole, wanted)]
        less = [i // 2 if auto_pad == "SAME_UPPER" else i - i // 2 for i in lost]
        pads = [*less, *(a - b for a, b in zip(lost, less))]
    if (
        pads[:n] == pads[n:]
        and min(pads, default=0) >= 0
        and all(o < max(s, d) for o, s, d in zip(more, strides, dilations))
    ):
        return functional.conv_transpose(x, weight, bias, strides, pads[:n], more, dilations, group)
    y = functional.conv_transpose(x, weight, None, strides, 0, 0, dilations, group)
    y = padded(y, [(-pads[i], more[i] - pads[i + n]) for i in range(n)])
    return y if bias is None else y + bias.reshape([-1, *[1] * n])


class Places:
    """Where a pool's windows lie: the padding on both sides, and how many elements each window has."""

    def __init__(self, x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode):
        self.window = list(kernel_shape)
        if len(self.window) != x.ndim - 2:
            raise ValueError(
                f"a window of {len(self.window)} axes over shape {x.shape}: batch, channels and one size an axis"
            )
        self.strides, self.dilations = each(strides, self.window), each(dilations, self.window)
        self.given = sides(x, self.window, self.strides, self.dilations, pads, auto_pad)
        self.sizes = x.shape[-len(self.window) :]
        self.around, self.counts = [], []
        for n, (before, after), k, stride, dilation in zip(
            self.sizes, self.given, self.window, self.strides, self.dilations
        ):
            reach = dilation * (k - 1) + 1
            over = n + before + after - reach
            count = (-(-over // stride) if ceil_mode else over // stride) + 1
            if ceil_mode and (count - 1) * stride >= n + before:
                count -= 1
            self.counts.append(count)
            self.around.append((before, (count - 1) * stride + reach - n - before))

    def windows(self, x, value):
        """x (..., places, window)."""
        return functional.windows(padded(x, self.around, value), self.window, self.strides, self.dilations)

    def elements(self, with_padding):
        """How many elements lie under each window, (places) or one number for all: those of x, and of the padding that
        was asked for.
        """
        if all(
            after <= given[1] and (with_padding or given == (0, 0))
            for (_, after), given in zip(self.around, self.given)
        ):
            return math.prod(self.window)
        rows = []
        within_host(
            sum(count * k for count, k in zip(self.counts, self.window)) + math.prod(self.counts), "a pool with padding"
        )
        for n, (before, after), k, stride, dilation, count in zip(
            self.sizes, self.given, self.window, self.strides, self.dilations, self.counts
        ):
            at = numpy.arange(count)[:, None] * stride + numpy.arange(k) * dilation - before
            low, high = (-before, n + after) if with_padding else (0, n)
            rows.append(((at >= low) & (at < high)).sum(1))
        return math.prod(numpy.ix_(*rows)) if len(rows) > 1 else rows[0]


def max_pool(
    x,
    *,
    kernel_shape,
    strides=None,
    pads=None,
    dilations=None,
    auto_pad="NOTSET",
    ceil_mode=0,
    storage_order=0,
    count=1,
):
    places = Places(x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    least = -math.inf if x.dtype.is_float else namespace.iinfo(x.dtype).min
    if count == 1:
        return functional.max_pool(padded(x, places.around, least), places.window, places.strides, 0, places.dilations)
    n = len(places.window)
    under = places.windows(x, least).flatten(-n)
    chosen = under.argmax(-1, True)
    sizes = places.sizes
    order = positions(math.prod(sizes), x)
    order = order.reshape(sizes[::-1]).T if storage_order else order.reshape(sizes)
    at = places.windows(order, 0).flatten(-n)
    at = at.expand(under.shape).gather(-1, chosen).squeeze([-1])
    first = positions(x.shape[0] * x.shape[1], x).reshape(*x.shape[:2], *[1] * n) * math.prod(sizes)
    return under.gather(-1, chosen).squeeze([-1]), at + first


def max_unpool(x, indices, output_shape=None, *, kernel_shape, strides=None, pads=None):
    strides, n = each(strides, kernel_shape), len(kernel_shape)
    pads = list(pads or [0] * (2 * n))
    sizes = [
        (size - 1) * s - pads[i] - pads[i + n] + k
        for i, (size, s, k) in enumerate(zip(x.shape[2:], strides, kernel_shape))
    ]
    flat = Tensor.zeros(math.prod(x.shape[:2]) * math.prod(sizes), dtype=x.dtype, device=x.device)
    y = flat.scatter(0, indices.reshape(-1), x.reshape(-1)).reshape(*x.shape[:2], *sizes)
    if output_shape is not None:
        y = y.pad([(0, to - size) for to, size in zip(numbers(output_shape), y.shape)])
    return y


@in_float32
def average_pool(
    x, *, kernel_shape, strides=None, pads=None, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0, dilations=None
):
    places = Places(x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    n = len(places.window)
    counts = places.elements(count_include_pad)
    whole = places.windows(x, 0).sum(tuple(range(-n, 0)))
    if isinstance(counts, int):
        return whole / counts
    return whole / on_device(counts.astype(numpy.float32), x).cast(x.dtype)


@in_float32
def lp_pool(x, *, kernel_shape, strides=None, pads=None, auto_pad="NOTSET", ceil_mode=0, dilations=None, p=2):
    places = Places(x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    n = len(places.window)
    under = places.windows(abs(x), 0)
    under = under.square() if p == 2 else under.pow(p)
    whole = under.sum(tuple(range(-n, 0)))
    return whole.sqrt() if p == 2 else whole.pow(1 / p)


def global_average(x):
    return x.mean(over_places(x), True)


def col2im(x, image_shape, block_shape, *, strides=None, pads=None, dilations=None):
    """Blocks (n, channels * elements, places) added up where they lie in the image."""
    image, block = numbers(image_shape), numbers(block_shape)
    n = len(block)
    strides, dilations, pads = each(strides, block), each(dilations, block), list(pads or [0] * (2 * n))
    whole = [size + pads[i] + pads[i + n] for i, size in enumerate(image)]
    counts = [(size - d * (k - 1) - 1) // s + 1 for size, d, k, s in zip(whole, dilations, block, strides)]
    channels = x.shape[1] // math.prod(block)
    within_host(math.prod(counts) * math.prod(block), "Col2Im")
    at = numpy.zeros((1, 1), numpy.int64)
    for size, d, k, s, count in zip(whole, dilations, block, strides, counts):
        axis = numpy.arange(k)[:, None] * d + numpy.arange(count) * s
        at = (at[:, None, :, None] * size + axis[None, :, None, :]).reshape(at.shape[0] * k, at.shape[1] * count)
    flat = Tensor.zeros(x.shape[0], channels, math.prod(whole), dtype=x.dtype, device=x.device)
    values = x.reshape(x.shape[0], channels, -1)
    y = flat.scatter_add(2, on_device(at.reshape(1, 1, -1), x).expand(values.shape), values)
    return padded(y.reshape(x.shape[0], channels, *whole), [(-pads[i], -pads[i + n]) for i in range(n)])


def deform_conv(
    x,
    weight,
    offset,
    bias=None,
    mask=None,
    *,
    dilations=None,
    group=1,
    kernel_shape=None,
    offset_group=1,
    pads=None,
    strides=None,
):
    """Deformable convolution over two axes: each element under the window is read, between elements, at its offset."""
    if x.ndim != 4:
        raise Unsupported(f"[onnx] DeformConv of {x.ndim} axes: of 4 it is there")
    window = weight.shape[2:]
    strides, dilations, pads = each(strides, window), each(dilations, window), list(pads or [0] * 4)
    n, channels, count = x.shape[0], x.shape[1], math.prod(window)
    rows, columns = offset.shape[2:]
    offset = offset.reshape(n, offset_group, count, 2, rows, columns)
    taps = list(itertools.product(range(window[0]), range(window[1])))
    y0 = (
        numpy.array([i * dilations[0] for i, _ in taps])[:, None, None]
        + (numpy.arange(rows) * strides[0] - pads[0])[None, :, None]
    )
    x0 = (
        numpy.array([j * dilations[1] for _, j in taps])[:, None, None]
        + (numpy.arange(columns) * strides[1] - pads[1])[None, None, :]
    )
    at = [on_device(v.astype(numpy.float32), x) + wide(offset[:, :, :, i]) for i, v in enumerate((y0, x0))]
    found = between(wide(x).reshape(n, offset_group, channels // offset_group, *x.shape[2:]), *at)
    found = found if mask is None else found * wide(mask).reshape(n, offset_group, 1, count, rows, columns)
    found = found.reshape(n, group, channels // group * count, rows * columns)
    y = (wide(weight).reshape(group, weight.shape[0] // group, -1) @ found).reshape(n, weight.shape[0], rows, columns)
    return (y if bias is None else y + wide(bias).reshape(-1, 1, 1)).cast(x.dtype)


def between(x, rows, columns):
    """x (n, g, c, h, w) at places (n, g, ...) between its elements: (n, g, c, ...), 0 beyond its ends."""
    n, g, c, h, w = x.shape
    flat = x.reshape(n, g, c, h * w)
    out = filled((), 0, x)
    low_row, low_column = rows.floor(), columns.floor()
    for i, j in itertools.product((0, 1), (0, 1)):
        row, column = low_row + i, low_column + j
        part = (1 - abs(rows - row)) * (1 - abs(columns - column))
        inside = (row >= 0) & (row <= h - 1) & (column >= 0) & (column <= w - 1)
        at = (
            (row.clip(0, h - 1) * w + column.clip(0, w - 1))
            .cast("int64")
            .reshape(n, g, 1, -1)
            .expand(n, g, c, math.prod(rows.shape[2:]))
        )
        values = flat.gather(3, at).reshape(n, g, c, *rows.shape[2:])
        out = out + _strata.where(inside, part, 0).unsqueeze(2) * values
    return out


ROWS = {
    "AveragePool": average_pool, "Col2Im": col2im, "Conv": conv, "ConvTranspose": conv_transpose,
    "DeformConv": deform_conv, "GlobalAveragePool": global_average,
    "GlobalMaxPool": lambda x: x.max(over_places(x), True), "LpPool": lp_pool, "MaxPool": max_pool,
    "MaxUnpool": max_unpool,
}  # fmt: skip
