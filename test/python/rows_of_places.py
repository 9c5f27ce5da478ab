"""Rows of test_properties.py: functions that move elements, pick them by indices, or make tensors of numbers."""

import numpy as np
import strata
from drawn import ALL, REAL, TYPES, Refused, both, wide
from hypothesis import strategies as st
from strata import Tensor


def movement(name, strata_call, numpy_call, arguments=lambda d, x: (), **limits):
    """calls: of the tensor or array, and what was drawn for it."""

    def row(d):
        x, t = d.array(ALL, **limits)
        given = arguments(d, x)
        return both(lambda: strata_call(t, *given), lambda: numpy_call(x, *given))

    return row


def order_of(d, x):
    d.asked.add("axis")
    return (tuple(d(st.permutations(range(x.ndim)))),)


def new_axis(d, x):
    d.asked.add("axis")
    return (d(st.integers(-x.ndim - 1, x.ndim)),)


def two_axes(d, x):
    return d.axis(x, none=False), d.axis(x, none=False)


def widths(d, x):
    return ([(d.among(0, 1, 2), d.among(0, 1, 2)) for _ in x.shape],)


def pieces(d, x):
    return d(st.integers(1, 4)), d.axis(x, none=False)


def of_size(x, n, axis):
    return np.split(x, range(n, x.shape[axis], n), axis)


def chunks(x, n, axis):
    return of_size(x, -(-x.shape[axis] // n), axis) if x.shape[axis] else [x] * n


def joined(d, call, numpy_call, anew):
    d.asked.add("axis")
    x, t = d.array(ALL, least=0 if anew else 1)
    axis = d(st.integers(-x.ndim - 1, x.ndim)) if anew else d.axis(x, none=False)
    shape = list(x.shape)
    if not anew:
        shape[axis] = d(st.integers(0, 3))
    y, u = d.array(shape=shape, dtype=x.dtype.name)
    return both(lambda: call([t, u, t], axis=axis), lambda: numpy_call([x, y, x], axis=axis))


def expanded(d, x):
    return ((*d.shape(0, 1), *(d.among(n, 3) if n == 1 else n for n in x.shape)),)


def triangle(name):
    def row(d):
        n, k, m = d.size(), d(st.integers(-2, 4)), d.among(None, d.size())
        return both(lambda: getattr(strata, name)(n, k, m), lambda: getattr(np, name)(n, k, m))

    return row


def resized(d):
    """Resizes the last axis; the two before it are images and channels."""
    how = d.among("nearest", "linear")
    x, t = d.array(ALL if how == "nearest" else "fc", shape=(d.size(), d.size(), d(st.integers(1, 4))))
    n = d(st.integers(1, 6))
    places = np.clip((np.arange(n) + 0.5) * x.shape[-1] / n - 0.5, 0, x.shape[-1] - 1)

    def want():
        if how == "nearest":
            return x[..., np.arange(n) * x.shape[-1] // n]
        below = np.floor(places).astype(int)
        above = np.minimum(below + 1, x.shape[-1] - 1)
        return wide(x[..., below]) * (1 - (places - below)) + wide(x[..., above]) * (places - below)

    return both(lambda: strata.interpolate(t, (n,), mode=how), want)


MOVEMENT = {
    "reshape": movement("reshape", lambda t, s: strata.reshape(t, s), lambda x, s: x.reshape(s), lambda d,
        x: (d.among((-1,), (x.size,), x.shape[::-1], (1, *x.shape, 1)),)),
    "permute_dims": movement("permute_dims", strata.permute_dims, np.transpose, order_of),
    "transpose": movement("transpose", strata.transpose, np.swapaxes, two_axes, least=1),
    "matrix_transpose": movement("matrix_transpose", strata.matrix_transpose, np.matrix_transpose, least=2),
    "moveaxis": movement("moveaxis", strata.moveaxis, np.moveaxis, two_axes, least=1),
    "movedim": movement("movedim", strata.movedim, np.moveaxis, two_axes, least=1),
    "broadcast_to": movement("broadcast_to", strata.broadcast_to, np.broadcast_to, expanded),
    "pad": movement("pad", strata.pad, lambda x, w: np.pad(x, w) if x.ndim else x, widths),
    "shrink": movement("shrink", lambda t: strata.shrink(t, [(n // 3, n - n // 4) for n in t.shape]),
        lambda x: x[tuple(slice(n // 3, n - n // 4) for n in x.shape)]),
    "flip": movement("flip", lambda t, a: strata.flip(t, axis=a), lambda x, a: np.flip(x, a), lambda d,
        x: (d.axes(x),)), "roll": movement("roll", lambda t, s, a: strata.roll(t, s, axis=a), np.roll, lambda d,
        x: (d(st.integers(-5, 5)), d.axis(x))),
    "squeeze": movement("squeeze", lambda t, a: strata.squeeze(t, axis=a), np.squeeze, lambda d,
        x: (d.axis(x, none=False),), least=1),
    "unsqueeze": movement("unsqueeze", strata.unsqueeze, np.expand_dims, new_axis),
    "expand_dims": movement("expand_dims", lambda t, a: strata.expand_dims(t, axis=a), np.expand_dims, new_axis),
    "flatten": movement("flatten", strata.flatten, np.ravel),
    "unflatten": movement("unflatten", lambda t, a: strata.unflatten(t, a, [1, -1]), lambda x,
        a: np.expand_dims(x, a % x.ndim), lambda d, x: (d.axis(x, none=False),), least=1),
    "chunk": movement("chunk", strata.chunk, chunks, pieces, least=1),
    "tile": movement("tile", lambda t, c: strata.tile(t, c), np.tile, lambda d,
        x: ([d.among(0, 1, 2) for _ in range(d(st.integers(0, 3)))],)),
    "repeat": movement("repeat", lambda t, n, a: strata.repeat(t, n, axis=a), np.repeat, lambda d,
        x: (d.among(0, 1, 3), d.axis(x))),
    "unstack": movement("unstack", lambda t, a: strata.unstack(t, axis=a), lambda x, a: np.unstack(x, axis=a),
        lambda d, x: (d.axis(x, none=False),), least=1),
    "concat": lambda d: joined(d, strata.concat, np.concat, False),
    "cat": lambda d: joined(d, strata.cat, np.concatenate, False),
    "stack": lambda d: joined(d, strata.stack, np.stack, True),
    "tril": movement("tril", lambda t, k: strata.tril(t, k=k), np.tril, lambda d, x: (d(st.integers(-3, 3)),), least=2),
    "triu": movement("triu", lambda t, k: strata.triu(t, k=k), np.triu, lambda d, x: (d(st.integers(-3, 3)),), least=2),
    "contiguous": movement("contiguous", strata.contiguous, np.copy),
    "diagonal": movement("diagonal", lambda t, k: strata.diagonal(t, offset=k), lambda x, k: np.diagonal(x, k, -2, -1),
        lambda d, x: (d(st.integers(-2, 2)),), least=2),
    "unfold": movement("unfold", lambda t, a, n, s: strata.unfold(t, a, n, s), lambda x, a, n,
        s: np.lib.stride_tricks.sliding_window_view(x, n,
            a)[tuple(slice(None, None, s if i == a % x.ndim else 1) for i in range(x.ndim))], lambda d,
        x: (d.axis(x, none=False), d.among(1, 2, 3), d.among(1, 2)), least=1),
    "broadcast_arrays": lambda d: (lambda x,
        t: both(lambda: strata.broadcast_arrays(t, t[..., :1]),
            lambda: np.broadcast_arrays(x, x[..., :1])))(*d.array(ALL, least=1)),
    "meshgrid": lambda d: (lambda x, t, how: both(lambda: strata.meshgrid(t, t, indexing=how),
            lambda: np.meshgrid(x, x, indexing=how)))(*d.array(ALL, least=1, most=1), d.among("xy", "ij")),
    "tril_indices": triangle("tril_indices"), "triu_indices": triangle("triu_indices"), "interpolate": resized,
}  # fmt: skip


def indices_along(d, x, axis, shape):
    """Negative ones too; of an axis without elements there are none that are right, and 0 is refused."""
    n = x.shape[axis] if axis is not None else x.size
    return d.rng.integers(-n, n, shape) if n else np.zeros(shape, int)


def taken(d):
    x, t = d.array(ALL, least=1)
    axis = d.axis(x)
    at = indices_along(d, x, axis, d.shape(0, 2))
    return both(lambda: strata.take(t, Tensor(at), axis=axis), lambda: np.take(x, at, axis))


def beside(d, x, axis):
    """A shape of indices along an axis of x: one that has no elements has none."""
    return [(d(st.integers(0, 4)) if n else 0) if i == axis % x.ndim else n for i, n in enumerate(x.shape)]


def gathered(name):
    def row(d):
        x, t = d.array(ALL, least=1)
        axis = d.axis(x, none=False)
        at = indices_along(d, x, axis, beside(d, x, axis))
        got = (
            (lambda: strata.gather(t, axis, Tensor(at)))
            if name == "gather"
            else (lambda: strata.take_along_axis(t, Tensor(at), axis=axis))
        )
        return both(got, lambda: np.take_along_axis(x, at, axis))

    return row


def scattered(add):
    def row(d):
        x, t = d.array("iufc" if add else ALL, least=1)
        axis = d.axis(x, none=False)
        shape = beside(d, x, axis)
        at, values = indices_along(d, x, axis, shape), d.values(x.dtype.name, shape, -4, 4)
        want = x.copy()
        for place in np.ndindex(*shape):
            to = list(place)
            to[axis] = at[place]
            want[tuple(to)] = want[tuple(to)] + values[place] if add else values[place]
        return both(
            lambda: getattr(strata, "scatter_add" if add else "scatter")(t, axis, Tensor(at), Tensor(values)),
            lambda: want,
        )

    return row


def added_at(d):
    x, t = d.array("iufc", least=1)
    axis = d.axis(x, none=False)
    shape = beside(d, x, axis)
    at = indices_along(d, x, axis, shape[axis])
    values, want = d.values(x.dtype.name, shape, -4, 4), x.copy()
    np.add.at(np.moveaxis(want, axis, 0), at, np.moveaxis(values, axis, 0))
    return both(lambda: strata.index_add(t, axis, Tensor(at), Tensor(values)), lambda: want)


def masked(d):
    x, t = d.array(ALL)
    mask = d.rng.random(x.shape) < 0.5
    return (strata.masked_fill(t, Tensor(mask), 1), t[Tensor(mask)]), (np.where(mask, np.ones((), x.dtype), x), x[mask])


def key(d, x):
    """(what indexes an array, what indexes a tensor): numbers, slices, new axes, and at most one of arrays or masks."""
    parts, array = [], False
    for n in x.shape[: d(st.integers(0, x.ndim))]:
        kinds = ["slice", "all", "new", *(["number"] if n else []), *([] if array else ["indices", "mask"])]
        how = d.among(*kinds)
        step, ends = d.among(None, 1, 2, -1, -2), st.integers(-5, 5) | st.none()
        part = {"slice": lambda: slice(d(ends), d(ends), step), "all": lambda: slice(None), "new": lambda: None,
            "number": lambda: d(st.integers(-n, n - 1)),
            "indices": lambda: d.rng.integers(-n, n, d.shape(1, 2)) if n else np.zeros(0, int),
            "mask": lambda: d.rng.random(n) < 0.5}[how]()  # fmt: skip
        array = array or how in ("indices", "mask", "number")
        parts += [part] if how != "new" else [None, slice(None)]
    d.asked.add("axis")
    return tuple(parts), tuple(Tensor(p) if isinstance(p, np.ndarray) else p for p in parts)


def indexed(d):
    x, t = d.array(ALL)
    of_array, of_tensor = key(d, x)
    return both(lambda: t[of_tensor], lambda: x[of_array])


def assigned(d):
    x, t = d.array(ALL)
    of_array, of_tensor = key(d, x)
    want, u = np.array(x), t.clone()
    value = d.values(x.dtype.name, x[of_array].shape, 0, 4)
    once = [p for p in of_array if isinstance(p, np.ndarray) and p.dtype.kind == "i"]
    if any(len({*(p % n).flat}) < p.size for p in once for n in x.shape):
        value = d.values(x.dtype.name, (), 0, 4)  # which of several values stays is not said
    want[of_array], u[of_tensor] = value, Tensor(value)
    return (u, t), (want, x)


def where(d):
    x, t = d.array(ALL)
    y, u = d.array(shape=x.shape, dtype=x.dtype.name)
    c, m = d.array("b", shape=x.shape)
    return both(lambda: strata.where(m, t, u), lambda: np.where(c, x, y))


def clipped(d):
    low, high = d.among(None, 1), d.among(None, 3)
    x, t = d.array(REAL if low or high else ALL)
    return both(lambda: strata.clip(t, low, high), lambda: np.clip(x, low, high) if low or high else x)


def cast(name):
    def row(d):
        x, t = d.array(ALL, low=0)
        to = d.among(*[n for kind in ("bc" if x.dtype.kind == "c" else ALL) for n in TYPES[kind]])
        return both(lambda: getattr(strata, name)(t, to), lambda: x.astype(to))

    return row


def counted(d):
    x, t = d.array("iu", shape=d.shape(1, 1), low=0, high=6)
    weights, least = d.among(None, d.values("float64", x.shape, -4, 4)), d.among(0, 9)
    return both(
        lambda: strata.bincount(t, None if weights is None else Tensor(weights), least),
        lambda: np.bincount(x.astype(int), weights, least).astype(int if weights is None else float),
    )


def bins(d):
    x, t = d.array(REAL)
    n = d(st.integers(1, 6))
    return both(
        lambda: strata.histogram(t, n, (-4.0, 4.0)),
        lambda: tuple(np.asarray(v) for v in np.histogram(x.astype(float), n, (-4.0, 4.0))),
    )


def one_hot(d):
    x, t = d.array("iu", low=0, high=4)
    return both(lambda: strata.one_hot(t, 5), lambda: np.eye(5, dtype=np.int64)[x])


INDEXING = {
    "take": taken, "gather": gathered("gather"), "take_along_axis": gathered("take_along_axis"),
    "scatter": scattered(False), "scatter_add": scattered(True), "index_add": added_at, "masked_fill": masked,
    "__getitem__": indexed, "__setitem__": assigned, "where": where, "clip": clipped,
    "astype": cast("astype"), "cast": cast("cast"), "bincount": counted, "histogram": bins, "one_hot": one_hot,
}  # fmt: skip


def filled(name, *value):
    """By a shape and a type."""

    def row(d):
        shape, dtype = d.shape(), d.type(ALL)
        return both(
            lambda: getattr(strata, name)(shape, *value, dtype=dtype),
            lambda: getattr(np, name)(shape, *value, dtype=dtype),
        )

    return row


def like(name, *value):
    def row(d):
        x, t = d.array(ALL)
        dtype = d.among(None, d.type(ALL))
        return both(
            lambda: getattr(strata, name)(t, *value, dtype=dtype), lambda: getattr(np, name)(x, *value, dtype=dtype)
        )

    return row


def anything(made):
    """Shape and type alone, of a tensor of undefined values."""

    def row(d):
        x, t = d.array(ALL)
        return both(lambda: strata.zeros_like(made(x, t)), lambda: np.zeros_like(x))

    return row


def steps(d):
    dtype = d.type(ALL)
    low = 0 if dtype[0] in "ub" else -6
    start, stop, step = d(st.integers(low, 6)), d(st.integers(low, 6)), d.among(1, 2, 3, -1, -2)
    by = 4 if dtype[0] in "fc" else 1
    d.asked.add("empty")
    return both(
        lambda: strata.arange(start / by if by > 1 else start, stop, step / by if by > 1 else step, dtype=dtype),
        lambda: np.arange(start / by, stop, step / by).astype(dtype),
    )


def spaced(d):
    dtype, n, end = d.type("fc"), d.size(6), d.among(True, False)
    start, stop = (d(st.integers(-4, 4)) + (1j * d(st.integers(-4, 4)) if dtype.startswith("c") else 0) for _ in "ab")
    return both(
        lambda: strata.linspace(start, stop, n, dtype=dtype, endpoint=end),
        lambda: np.linspace(start, stop, n, end, dtype=dtype),
    )


def bits(d):
    pairs = [
        ("int8", "uint8"),
        ("int16", "float16"),
        ("uint16", "int16"),
        ("float32", "int32"),
        ("uint32", "float32"),
        ("int64", "float64"),
        ("float64", "uint64"),
    ]
    x, t = d.array("iuf")
    others = [b if a == x.dtype.name else a for a, b in pairs if x.dtype.name in (a, b)]
    if not others:
        raise Refused("no type of that width")
    to = d.among(*others)
    return both(lambda: strata.bitcast(t, to), lambda: x.view(to))


def eyes(d):
    n, m, k, dtype = d.size(), d.among(None, d.size()), d(st.integers(-2, 3)), d.type(ALL)
    return both(lambda: strata.eye(n, m, k=k, dtype=dtype), lambda: np.eye(n, m, k, dtype))


def arrays(name):
    def row(d):
        x, t = d.array(ALL)
        x = np.asarray(d.among(x, x.copy()))
        return both(lambda: getattr(strata, name)(d.among(x, t)), lambda: x)

    return row


CREATION = {
    "arange": steps, "linspace": spaced, "eye": eyes, "zeros": filled("zeros"), "ones": filled("ones"),
    "full": filled("full", 1), "zeros_like": like("zeros_like"), "ones_like": like("ones_like"),
    "full_like": like("full_like", 1), "bitcast": bits,
    "empty": anything(lambda x, t: strata.empty(x.shape, dtype=x.dtype.name)),
    "empty_like": anything(lambda x, t: strata.empty_like(t)), "asarray": arrays("asarray"),
    "from_dlpack": arrays("from_dlpack"),
}  # fmt: skip
