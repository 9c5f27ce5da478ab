"""torch.nn.functional's functions over (n, channels, sizes) by their definitions, in NumPy: each place by itself, over
float64.
"""

import itertools
import math

import numpy as np


def pairs(value, axes):
    return (value,) * axes if isinstance(value, (int, float)) or value is None else tuple(value)


# Pools: a window at each place, as the elements that lie in the tensor.


def windows(sizes, kernel, stride, padding, dilation, ceil_mode):
    """A list of places along each axis, each a list of positions, also of those in the padding, and which windows reach
    how far.
    """
    out = []
    for n, k, s, p, d in zip(
        sizes, *(pairs(v, len(sizes)) for v in (kernel, kernel if stride is None else stride, padding, dilation))
    ):
        starts = [*range(-p, n + 2 * p, s)]
        fits = [
            a for a in starts if a + d * (k - 1) < n + p or (ceil_mode and a < n and a + d * (k - 1) < n + p + s - 1)
        ]
        out.append([[a + d * j for j in range(k)] for a in fits])
    return out


def pooled(x, axes, found, reduce):
    """reduce(x, positions of the window along each axis) for each place; x has its last axes alone."""
    lead = x.shape[: x.ndim - axes]
    rows = x.reshape(-1, *x.shape[x.ndim - axes :])
    out = np.array([[reduce(row, at) for at in itertools.product(*found)] for row in rows])
    return out.reshape(*lead, *map(len, found), *out.shape[2:])


def inside(x, at):
    at = [[i for i in along if 0 <= i < n] for along, n in zip(at, x.shape)]
    return x[np.ix_(*at)], at


def largest(x, at):
    part, at = inside(x, at)
    place = np.unravel_index(part.argmax(), part.shape)
    return part[place], np.ravel_multi_index([along[i] for along, i in zip(at, place)], x.shape)


def with_places(found, return_indices):
    values, places = found[..., 0], found[..., 1].astype(np.int64)
    return (values, places) if return_indices else values


def shares(sizes, output_size):
    """The elements under each of output_size equal windows along each axis."""
    wanted = [n if to is None else to for n, to in zip(sizes, pairs(output_size, len(sizes)))]
    return [
        [[j for j in range(n) if math.floor(i * n / to) <= j < math.ceil((i + 1) * n / to)] for i in range(to)]
        for n, to in zip(sizes, wanted)
    ]


def make_pools(axes):
    def max_pool(x, kernel, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return with_places(
            pooled(x, axes, windows(x.shape[-axes:], kernel, stride, padding, dilation, ceil_mode), largest),
            return_indices,
        )

    def avg_pool(x, kernel, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        around = pairs(padding, axes)

        def mean(x, at):
            counted = math.prod(sum(i < n + p for i in along) for along, n, p in zip(at, x.shape, around))
            part, _ = inside(x, at)
            return part.sum() / (divisor_override or (counted if count_include_pad else part.size))

        return pooled(x, axes, windows(x.shape[-axes:], kernel, stride, padding, 1, ceil_mode), mean)

    def lp_pool(x, norm_type, kernel, stride=None, ceil_mode=False):
        return (avg_pool(x**norm_type, kernel, stride, 0, ceil_mode) * math.prod(pairs(kernel, axes))) ** (
            1 / norm_type
        )

    def adaptive_max_pool(x, output_size, return_indices=False):
        return with_places(pooled(x, axes, shares(x.shape[-axes:], output_size), largest), return_indices)

    def adaptive_avg_pool(x, output_size):
        return pooled(x, axes, shares(x.shape[-axes:], output_size), lambda x, at: x[np.ix_(*at)].mean())

    def max_unpool(x, indices, kernel, stride=None, padding=0, output_size=None):
        sizes = [2 * n for n in x.shape[-axes:]] if output_size is None else output_size[-axes:]
        out = np.zeros((*x.shape[:-axes], math.prod(sizes)))
        np.put_along_axis(out, indices.reshape(*out.shape[:-1], -1), x.reshape(*out.shape[:-1], -1), -1)
        return out.reshape(*x.shape[:-axes], *sizes)

    def fractional_max_pool(x, kernel, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        sizes, ks = x.shape[2:], pairs(kernel, axes)
        to = pairs(output_size, axes) if output_ratio is None else [int(n * r) for n, r in zip(sizes, output_ratio)]
        out = np.zeros((*x.shape[:2], *to, 2))
        for i in np.ndindex(*x.shape[:2]):
            u = _random_samples[i] if axes == 3 else _random_samples[i][::-1]
            apart = [(n - k) / (m - 1) for n, k, m in zip(sizes, ks, to)]
            starts = [
                [n - k if j == m - 1 else int((j + v) * a) - int(v * a) for j in range(m)]
                for n, k, m, v, a in zip(sizes, ks, to, u, apart)
            ]
            out[i] = pooled(x[i], axes, [[[*range(s, s + k)] for s in along] for along, k in zip(starts, ks)], largest)
        return with_places(out, return_indices)

    return {
        f"{f.__name__}{axes}d": f
        for f in (fractional_max_pool, max_pool, avg_pool, lp_pool, adaptive_max_pool, adaptive_avg_pool, max_unpool)
    }


# Convolutions: each product by itself.


def each_product(x, shape, k, stride, padding, dilation):
    """(place of the smaller side, place in the window, place of the larger side) of all that meet."""
    axes = len(k)
    s, p, d = (pairs(v, axes) for v in (stride, padding, dilation))
    for at in itertools.product(*map(range, shape)):
        for j in itertools.product(*map(range, k)):
            to = tuple(a * s_ - p_ + d_ * b for a, b, s_, p_, d_ in zip(at, j, s, p, d))
            if all(0 <= i < n for i, n in zip(to, x)):
                yield at, j, to


def make_convolutions(axes):
    every = (slice(None),)

    def conv(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
        k, d = w.shape[2:], pairs(dilation, axes)
        if padding == "same":
            x = np.pad(x, [(0, 0)] * 2 + [(d_ * (n - 1) // 2, d_ * (n - 1) - d_ * (n - 1) // 2) for n, d_ in zip(k, d)])
        p = pairs(0 if isinstance(padding, str) else padding, axes)
        places = [
            (n + 2 * p_ - d_ * (k_ - 1) - 1) // s + 1
            for n, k_, p_, d_, s in zip(x.shape[2:], k, p, d, pairs(stride, axes))
        ]
        out = np.zeros((len(x), len(w), *places)) + (0 if bias is None else bias.reshape(-1, *[1] * axes))
        for at, j, to in each_product(x.shape[2:], places, k, stride, p, dilation):
            for g in range(groups):
                i, o = (slice(g * n // groups, (g + 1) * n // groups) for n in (x.shape[1], len(w)))
                out[(slice(None), o, *at)] += x[(slice(None), i, *to)] @ w[(o, slice(None), *j)].T
        return out

    def conv_transpose(x, w, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        sizes = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1 + more
            for n, k, s, p, d, more in zip(
                x.shape[2:], w.shape[2:], *(pairs(v, axes) for v in (stride, padding, dilation, output_padding))
            )
        ]
        many = w.shape[1] * groups
        out = np.zeros((len(x), many, *sizes)) + (0 if bias is None else bias.reshape(-1, *[1] * axes))
        for at, j, to in each_product(sizes, x.shape[2:], w.shape[2:], stride, padding, dilation):
            for g in range(groups):
                i, o = (slice(g * n // groups, (g + 1) * n // groups) for n in (x.shape[1], many))
                out[(slice(None), o, *to)] += x[(slice(None), i, *at)] @ w[(i, *every, *j)]
        return out

    return {f"{f.__name__}{axes}d": f for f in (conv, conv_transpose)}


for n in (1, 2, 3):
    globals().update(make_pools(n) | make_convolutions(n))


def conv_tbc(x, w, bias, pad=0):
    x = np.pad(x, [(pad, pad), (0, 0), (0, 0)])
    return sum(x[j : len(x) - len(w) + j + 1] @ w[j] for j in range(len(w))) + bias


# Resizing: the matrix of an axis.


def cubic(x, a):
    x = abs(x)
    return (a + 2) * x**3 - (a + 3) * x**2 + 1 if x < 1 else a * (x**3 - 5 * x**2 + 8 * x - 4) if x < 2 else 0


def matrix(n, to, scale, mode, align_corners, antialias):
    out = np.zeros((to, n))
    for i in range(to):
        if mode == "area":
            out[i, i * n // to : -(-(i + 1) * n // to)] = 1
        elif mode.startswith("nearest"):
            out[i, min(math.floor((i + (0.5 if mode == "nearest-exact" else 0)) * scale), n - 1)] = 1
        else:
            step = ((n - 1) / (to - 1) if to > 1 else 0) if align_corners else scale
            at = i * step if align_corners and not antialias else step * (i + 0.5) - 0.5
            wide = max(step, 1) if antialias else 1
            a = -0.5 if antialias else -0.75
            at = max(at, 0) if mode != "bicubic" and not antialias else at
            for j in range(math.floor(at - 2 * wide), math.ceil(at + 2 * wide) + 1):
                w = cubic((j - at) / wide, a) if mode == "bicubic" else max(0, 1 - abs(j - at) / wide)
                if not antialias or 0 <= j < n:
                    out[i, min(max(j, 0), n - 1)] += w
    return out / out.sum(1, keepdims=True)


def interpolate(
    x, size=None, scale_factor=None, mode="nearest", align_corners=False, recompute_scale_factor=False, antialias=False
):
    axes = x.ndim - 2
    for axis, given in enumerate(pairs(size if scale_factor is None else scale_factor, axes), 2):
        n = x.shape[axis]
        to = given if scale_factor is None else math.floor(n * given)
        m = matrix(
            n,
            to,
            n / to if scale_factor is None or recompute_scale_factor else 1 / given,
            mode,
            align_corners,
            antialias,
        )
        x = np.moveaxis(np.moveaxis(x, axis, -1) @ m.T, -1, axis)
    return x


def upsample(x, size=None, scale_factor=None, mode="nearest", align_corners=False):
    return interpolate(x, size, scale_factor, mode, align_corners)


def upsample_nearest(x, size=None, scale_factor=None):
    return interpolate(x, size, scale_factor)


def upsample_bilinear(x, size=None, scale_factor=None):
    return interpolate(x, size, scale_factor, "bilinear", True)


# Pixels.


def pad(x, pad, mode="constant", value=0):
    wide = [(0, 0)] * (x.ndim - len(pad) // 2) + [*zip(pad[::2], pad[1::2])][::-1]
    more = {"constant_values": value} if mode == "constant" else {}
    grown = np.pad(
        x,
        [tuple(max(n, 0) for n in pair) for pair in wide],
        {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode],
        **more,
    )
    return grown[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(grown.shape, wide))]


def pixel_shuffle(x, r):
    out = np.zeros((*x.shape[:-3], x.shape[-3] // r**2, x.shape[-2] * r, x.shape[-1] * r))
    for i, j in itertools.product(range(r), repeat=2):
        out[..., i::r, j::r] = x[..., i * r + j :: r * r, :, :]
    return out


def pixel_unshuffle(x, r):
    out = np.zeros((*x.shape[:-3], x.shape[-3] * r**2, x.shape[-2] // r, x.shape[-1] // r))
    for i, j in itertools.product(range(r), repeat=2):
        out[..., i * r + j :: r * r, :, :] = x[..., i::r, j::r]
    return out


def channel_shuffle(x, groups):
    return np.concatenate([x[:, i :: x.shape[1] // groups] for i in range(x.shape[1] // groups)], 1)


native_channel_shuffle = channel_shuffle


def unfold(x, kernel, dilation=1, padding=0, stride=1):
    if x.ndim == 3:
        return unfold(x[None], kernel, dilation, padding, stride)[0]
    p = pairs(padding, 2)
    x = np.pad(x, [(0, 0), (0, 0), (p[0], p[0]), (p[1], p[1])])
    rows, columns = windows(x.shape[2:], kernel, stride, 0, dilation, False)
    return np.stack([x[:, :, r][..., c].reshape(len(x), -1) for r in rows for c in columns], -1)


def fold(x, output_size, kernel, dilation=1, padding=0, stride=1):
    """Columns times the matrix that unfold is."""
    lead, channels = x.shape[:-2], x.shape[-2] // math.prod(pairs(kernel, 2))
    size = math.prod(output_size)
    unit = unfold(np.eye(size).reshape(size, 1, *output_size), kernel, dilation, padding, stride).reshape(size, -1)
    return (x.reshape(*lead, channels, -1) @ unit.T).reshape(*lead, channels, *output_size)


def affine_grid(theta, size, align_corners=False):
    out = np.zeros((size[0], *size[2:], len(size) - 2))
    for at in np.ndindex(*size[2:]):
        place = [
            (2 * i / (n - 1) - 1 if n > 1 else 0.0) if align_corners else (2 * i + 1) / n - 1
            for i, n in zip(at, size[2:])
        ]
        out[(slice(None), *at)] = theta @ np.array([*place[::-1], 1.0])
    return out


def settled(place, n, padding_mode, align_corners):
    if padding_mode == "border":
        return min(max(place, 0), n - 1)
    low, high = (0, n - 1) if align_corners else (-0.5, n - 0.5)
    while padding_mode == "reflection" and not low <= place <= high and high > low:
        place = 2 * low - place if place < low else 2 * high - place
    return min(max(place, 0), n - 1) if padding_mode == "reflection" else place


def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    out, sizes = np.zeros((*x.shape[:2], *grid.shape[1:-1])), x.shape[2:]
    for at in np.ndindex(*grid.shape[:-1]):
        place = [
            (g + 1) / 2 * (n - 1) if align_corners else ((g + 1) * n - 1) / 2 for g, n in zip(grid[at][::-1], sizes)
        ]
        if mode != "bicubic":
            place = [settled(p, n, padding_mode, align_corners) for p, n in zip(place, sizes)]
        kernel = {
            "bilinear": lambda d: max(0, 1 - abs(d)),
            "nearest": lambda d: 1.0,
            "bicubic": lambda d: cubic(d, -0.75),
        }[mode]
        near = [[round(p)] if mode == "nearest" else range(math.floor(p) - 1, math.floor(p) + 3) for p in place]
        for taps in itertools.product(*near):
            to = [
                int(settled(t, n, padding_mode, align_corners)) if mode == "bicubic" else t for t, n in zip(taps, sizes)
            ]
            if all(0 <= t < n for t, n in zip(to, sizes)):
                out[(at[0], slice(None), *at[1:])] += x[(at[0], slice(None), *to)] * math.prod(
                    kernel(p - t) for p, t in zip(place, taps)
                )
    return out


# Norms.


def scaled(x, weight, bias):
    along = [1 if w is None else w.reshape(-1, *[1] * (x.ndim - 2)) for w in (weight, bias)]
    return x * along[0] + (0 if bias is None else along[1])


def standard(x, axes, eps):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def batch_norm(x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if training:
        return scaled(standard(x, (0, *range(2, x.ndim)), eps), weight, bias)
    return scaled(scaled(x, 1 / np.sqrt(var + eps), -mean / np.sqrt(var + eps)), weight, bias)


def instance_norm(x, mean=None, var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    return (
        scaled(standard(x, tuple(range(2, x.ndim)), eps), weight, bias)
        if use_input_stats
        else batch_norm(x, mean, var, weight, bias, eps=eps)
    )


def group_norm(x, groups, weight=None, bias=None, eps=1e-5):
    return scaled(standard(x.reshape(len(x), groups, -1), -1, eps).reshape(x.shape), weight, bias)


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    return standard(x, tuple(range(-len(shape), 0)), eps) * (1 if weight is None else weight) + (
        0 if bias is None else bias
    )


def rms_norm(x, shape, weight=None, eps=2.0**-23):
    return (
        x / np.sqrt((x * x).mean(tuple(range(-len(shape), 0)), keepdims=True) + eps) * (1 if weight is None else weight)
    )


def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0):
    sums = sum(
        np.pad(x * x, [(0, 0), (size // 2, (size - 1) // 2)] + [(0, 0)] * (x.ndim - 2))[:, i : i + x.shape[1]]
        for i in range(size)
    )
    return x / (k + alpha * sums / size) ** beta
