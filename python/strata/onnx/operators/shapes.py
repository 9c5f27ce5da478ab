"""Operators that make, move, join and choose elements."""

import math

import numpy

from ... import _namespace as namespace, _strata
from ..._strata import Tensor, Unsupported
from ..host import LARGEST_ON_HOST
from ..values import to_tensor, type_name
from .common import axis_of, numbers, on_device, positions, within_host


def shape_of(x, *, start=0, end=None):
    return numpy.array(x.shape[start:end], numpy.int64)


def constant_of_shape(shape, *, value=None, device=""):
    """Small ones are arrays of the host, of which other shapes are made."""
    element = value.reshape(-1)[0] if value is not None else numpy.float32(0)
    sizes = numbers(shape)
    if min(sizes, default=0) < 0:
        raise ValueError(f"a shape of {sizes}")
    if math.prod(sizes) <= (LARGEST_ON_HOST if element.dtype.kind in "iub" else 64):
        return numpy.full(sizes, element)
    return to_tensor(element, device).expand(sizes)


def arange(start, limit, delta, *, device=""):
    first, last, step = (numpy.asarray(v).reshape(-1)[0].item() for v in (start, limit, delta))
    if step == 0:
        raise ValueError("a step of 0")
    if isinstance(first, float):
        count = max(math.ceil((last - first) / step), 0)
    else:
        count = max(-((first - last) // step), 0)
    kind = numpy.asarray(start).dtype
    if count <= LARGEST_ON_HOST:
        return (first + numpy.arange(count) * step).astype(kind)
    return Tensor.arange(first, last, step, dtype=kind.name, device=device)


def eye_like(x, *, k=0, dtype=None):
    rows, columns = x.shape
    return Tensor.eye(rows, columns, k, type_name(dtype) if dtype else x.dtype).to(x.device)


def reshape(x, shape, *, allowzero=0):
    sizes = numbers(shape)
    return x.reshape(sizes if allowzero else [x.shape[i] if n == 0 else n for i, n in enumerate(sizes)])


def expand(x, shape):
    return x.expand(_strata.broadcast_shapes(x.shape, tuple(numbers(shape))))


def unsqueeze(x, axes):
    return namespace.expand_dims(x, tuple(numbers(axes)))


def squeeze(x, axes=None):
    return x.squeeze(numbers(axes))


def flatten(x, *, axis=1):
    at = axis if axis == x.ndim else axis_of(axis, x.ndim)
    return x.reshape(math.prod(x.shape[:at]), math.prod(x.shape[at:]))


def transpose(x, *, perm=None):
    return x.permute(perm) if perm else x.T


def slices(x, starts, ends, axes=None, steps=None):
    starts, ends = numbers(starts), numbers(ends)
    key = [slice(None)] * x.ndim
    for i, axis in enumerate(numbers(axes) or range(len(starts))):
        step = 1 if steps is None else numbers(steps)[i]
        end = None if step < 0 and ends[i] < -x.shape[axis] else ends[i]
        key[axis] = slice(starts[i], end, step)
    return x[tuple(key)]


def split(x, split=None, *, axis=0, num_outputs=None, count=1):
    n, count = x.shape[axis], num_outputs or count
    most = -(-n // count)
    sizes = numbers(split) or [max(min(most, n - i * most), 0) for i in range(count)]
    return tuple(x.split(sizes, axis))


def concat(*x, axis=1):
    return _strata.cat(x, axis)


def pad(x, pads, constant_value=None, axes=None, *, mode="constant", value=0.0):
    given, chosen = numbers(pads), numbers(axes) or [*range(x.ndim)]
    around = [(0, 0)] * x.ndim
    for i, axis in enumerate(chosen):
        around[axis] = given[i], given[i + len(chosen)]
    if constant_value is not None and numpy.asarray(constant_value).size:
        value = numpy.asarray(constant_value).reshape(-1)[0].item()
    if any(b < 0 or a < 0 for b, a in around):
        x = x.shrink([(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(x.shape, around)])
        around = [(max(b, 0), max(a, 0)) for b, a in around]
    if mode != "constant":
        within_host(sum(x.shape) + sum(map(sum, around)), f"Pad with mode {mode}")
    return namespace.pad(x, around, {"wrap": "circular"}.get(mode, mode), value if x.dtype.is_float else int(value))


def trilu(x, k=None, *, upper=1):
    k = numbers(k)[0] if k is not None else 0
    return x.triu(k) if upper else x.tril(k)


def tile(x, repeats, axis=None):
    """Version 1 says how often one axis is repeated."""
    if axis is not None:
        counts = [1] * x.ndim
        counts[numbers(axis)[0]] = numbers(repeats)[0]
        return x.tile(counts)
    return x.tile(numbers(repeats))


def blocks_apart(x, *, blocksize, mode="DCR"):
    n, c, h, w = x.shape
    if mode == "DCR":
        x = x.reshape(n, blocksize, blocksize, -1, h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        x = x.reshape(n, -1, blocksize, blocksize, h, w).permute(0, 1, 4, 2, 5, 3)
    return x.reshape(n, -1, h * blocksize, w * blocksize)


def blocks_together(x, *, blocksize, mode="DCR"):
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // blocksize, blocksize, w // blocksize, blocksize)
    return x.permute(*((0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))).reshape(
        n, -1, h // blocksize, w // blocksize
    )


def center_crop_pad(x, shape, *, axes=None):
    for axis, to in zip(axes if axes is not None else range(x.ndim), numbers(shape)):
        axis, n = axis_of(axis, x.ndim), x.shape[axis]
        every = [(0, size) for size in x.shape]
        if to < n:
            every[axis] = ((n - to) // 2, (n - to) // 2 + to)
            x = x.shrink(every)
        elif to > n:
            x = x.pad([((to - n) // 2, to - n - (to - n) // 2) if i == axis else (0, 0) for i in range(x.ndim)])
    return x


def reverse_sequence(x, lengths, *, time_axis=0, batch_axis=1):
    """The first elements of each row of the batch turned around."""
    at = positions(x.shape[time_axis], x).reshape([-1 if i == time_axis else 1 for i in range(x.ndim)])
    lengths = lengths.cast("int64").reshape([-1 if i == batch_axis else 1 for i in range(x.ndim)])
    places = _strata.where(at < lengths, lengths - 1 - at, at)
    return x.gather(time_axis, places.expand(x.shape))


# Elements by their indices.


def gather(x, indices, *, axis=0):
    return x.take(indices, axis)


def gather_elements(x, indices, *, axis=0):
    axis = axis_of(axis, x.ndim)
    return x.shrink([(0, n if i == axis else m) for i, (n, m) in enumerate(zip(x.shape, indices.shape))]).gather(
        axis, indices
    )


def gather_nd(x, indices, *, batch_dims=0):
    ranges = [
        positions(n, x).reshape([-1 if i == axis else 1 for i in range(indices.ndim - 1)])
        for axis, n in enumerate(x.shape[:batch_dims])
    ]
    return x[(*ranges, *(indices[..., i] for i in range(indices.shape[-1])))]


def one_hot(indices, depth, values, *, axis=-1):
    n = numbers(depth)[0]
    at = indices.cast("int64").unsqueeze(axis)
    by = [n if i == axis % at.ndim else 1 for i in range(at.ndim)]
    at = _strata.where(at < 0, at + n, at)
    return _strata.where(at == positions(n, indices).reshape(by), values[1], values[0])


REDUCTIONS = {"add": Tensor.add, "mul": Tensor.mul, "max": Tensor.maximum, "min": Tensor.minimum}


def _scattered(x, axis, indices, values, how):
    """Along an axis, of whose elements indices and values have others than x in number alone."""
    if how == "none":
        return x.scatter(axis, indices, values)
    if how == "add":
        return x.scatter_add(axis, indices, values)
    if how not in REDUCTIONS:
        raise Unsupported(f"[onnx] scattering with reduction {how}: none, add, mul, max and min are there")
    # The values that go to each place, in one row: x (..., n, 1) and values (..., 1, m).
    last, at, given = x.movedim(axis, -1), indices.movedim(axis, -1), values.movedim(axis, -1)
    if last.size * max(at.shape[-1], 1) > LARGEST_ON_HOST * 64:
        raise Unsupported(
            f"[onnx] scattering {at.shape[-1]} values to {last.shape[-1]} places by {how}: fewer of them, "
            f"or reduction add"
        )
    hit = at.unsqueeze(-2) == positions(last.shape[-1], x).reshape(-1, 1)
    if how == "mul":
        found = last * _strata.where(hit, given.unsqueeze(-2), 1).prod(-1, dtype=x.dtype)
    else:
        mine = last.unsqueeze(-1)
        rows = _strata.cat([mine, _strata.where(hit, given.unsqueeze(-2), mine)], -1)
        found = (rows.max if how == "max" else rows.min)(-1)
    return found.cast(x.dtype).movedim(-1, axis)


def scatter_elements(x, indices, values, *, axis=0, reduction="none"):
    """Along the axis; elsewhere the indices may be fewer than the elements."""
    axis = axis_of(axis, x.ndim)
    sizes = [n if i == axis else m for i, (n, m) in enumerate(zip(x.shape, indices.shape))]
    part = x[tuple(slice(n) for n in sizes)]
    indices = indices.cast("int64")
    indices = _strata.where(indices < 0, indices + x.shape[axis], indices)
    part = _scattered(part, axis, indices, values, reduction)
    return part if part.shape == x.shape else placed(x, part)


def placed(whole, part):
    """The part in place of the first elements along all axes."""
    missing = [(0, n - m) for n, m in zip(whole.shape, part.shape)]
    there = Tensor.ones(*part.shape, dtype="boolean", device=whole.device).pad(missing)
    return _strata.where(there, part.pad(missing), whole)


def scatter_nd(x, indices, values, *, reduction="none"):
    depth = indices.shape[-1]
    outer, rest = x.shape[:depth], x.shape[depth:]
    rows = indices.reshape(-1, depth).cast("int64")
    at = Tensor.zeros(rows.shape[0], dtype="int64", device=x.device)
    for i, n in enumerate(outer):
        at = at * n + _strata.where(rows[:, i] < 0, rows[:, i] + n, rows[:, i])
    flat, inner = x.reshape(math.prod(outer), math.prod(rest)), math.prod(rest)
    at, values = at.reshape(-1, 1).expand(rows.shape[0], inner), values.reshape(rows.shape[0], inner)
    return _scattered(flat, 0, at, values, reduction).reshape(x.shape)


def tensor_scatter(past, update, write_indices=None, *, axis=-2, mode="linear"):
    """The update at consecutive places of an axis, from a place of each row of the batch on."""
    axis = axis_of(axis, past.ndim)
    n, count = past.shape[axis], update.shape[axis]
    at = positions(count, past).reshape(1, -1)
    at = at if write_indices is None else at + write_indices.cast("int64").reshape(-1, 1)
    at = at.remainder(n) if mode == "circular" else at
    by = [at.shape[0] if i == 0 else count if i == axis else 1 for i in range(past.ndim)]
    return past.scatter(axis, at.reshape(by).expand(update.shape), update)


# The sizes of what these give depend on values, which are computed for them.


def nonzero(x):
    if x.ndim == 0:
        return numpy.zeros((0, int(bool(x.item()))), numpy.int64)
    return _strata.stack(list(x.nonzero()), 0)


def compress(x, condition, *, axis=None):
    keep = numpy.flatnonzero(numpy.asarray(condition).reshape(-1))
    flat = x if axis is not None else x.reshape(-1)
    return flat.take(on_device(keep.astype(numpy.int64), x), axis or 0)


def unique(x, *, axis=None, sorted=1):
    array = x.numpy() if x.dtype != _strata.dtypes.bfloat16 else x.cast("float32").numpy()
    _, first, inverse, counts = numpy.unique(
        array, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    order = numpy.arange(len(first)) if sorted else numpy.argsort(first)
    rank = numpy.empty_like(order)
    rank[order] = numpy.arange(len(order))
    first, inverse, counts = first[order], rank[inverse.reshape(-1)], counts[order]
    flat = x.reshape(-1) if axis is None else x
    return (
        flat.take(on_device(first.astype(numpy.int64), x), axis or 0),
        first.astype(numpy.int64),
        inverse.astype(numpy.int64),
        counts.astype(numpy.int64),
    )


def topk(x, k, *, axis=-1, largest=1, sorted=1):
    return tuple(x.topk(numbers(k)[0], axis, bool(largest)))


ROWS = {
    "CenterCropPad": center_crop_pad, "Compress": compress, "Concat": concat, "ConstantOfShape": constant_of_shape,
    "DepthToSpace": blocks_apart, "Expand": expand, "EyeLike": eye_like, "Flatten": flatten, "Gather": gather,
    "GatherElements": gather_elements, "GatherND": gather_nd, "NonZero": nonzero, "OneHot": one_hot, "Pad": pad,
    "Range": arange, "Reshape": reshape, "ReverseSequence": reverse_sequence, "Scatter": scatter_elements,
    "ScatterElements": scatter_elements, "ScatterND": scatter_nd, "Shape": shape_of,
    "Size": lambda x: numpy.array(math.prod(x.shape), numpy.int64), "Slice": slices, "SpaceToDepth": blocks_together,
    "Split": split, "Squeeze": squeeze,
    "TensorScatter": tensor_scatter, "Tile": tile, "TopK": topk, "Transpose": transpose, "Trilu": trilu,
    "Unique": unique, "Unsqueeze": unsqueeze,
}  # fmt: skip
