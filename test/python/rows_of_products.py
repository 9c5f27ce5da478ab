"""Rows of test_properties.py: products, strata.linalg and strata.fft."""

import math

import numpy as np
import strata
from drawn import ALL, REAL, both, floats, wide
from hypothesis import strategies as st
from rows_of_places import movement
from strata import Tensor


def product(name, want, first, second, kinds=ALL, to=wide):
    """Products of matrices of sizes that are drawn by letter."""

    def row(d):
        sizes = {letter: d.size() for letter in "ijkb"} | {"3": 3}
        dtype = d.type(kinds)
        x, t = d.array(shape=[sizes[c] for c in first], dtype=dtype)
        y, u = d.array(shape=[sizes[c] for c in second], dtype=dtype)
        call = name if callable(name) else getattr(strata, name)
        return both(lambda: call(t, u), lambda: want(to(x), to(y)))

    return row


def across(d):
    """The axis of size 3 is anywhere."""
    shape = d.shape(0, 2)
    at = d(st.integers(0, len(shape)))
    shape, axis = (*shape[:at], 3, *shape[at:]), d.among(at, at - len(shape) - 1)
    d.asked.add("axis")
    dtype = d.type("iufc")
    x, t = d.array(shape=shape, dtype=dtype)
    y, u = d.array(shape=shape, dtype=dtype)
    return both(lambda: strata.cross(t, u, axis=axis), lambda: np.linalg.cross(wide(x), wide(y), axis=axis))


def contracted(d):
    """Over as many axes as are said, or over those that are named."""
    i, j, k, dtype, axes = d.size(), d.size(), d.size(), d.type(ALL), d.among(0, 1, 2, ((0,), (1,)), ((-1, 0), (0, 1)))
    d.asked.add("axis")
    shape = {0: (k, i), 1: (j, k), 2: (i, j), ((0,), (1,)): (k, i)}.get(axes, (j, i))
    x, t = d.array(shape=(i, j), dtype=dtype)
    y, u = d.array(shape=shape, dtype=dtype)
    return both(lambda: strata.tensordot(t, u, axes=axes), lambda: np.tensordot(wide(x), wide(y), axes))


def dots(d):
    shape, dtype = d.shape(1), d.type(ALL)
    x, t = d.array(shape=shape, dtype=dtype)
    y, u = d.array(shape=shape, dtype=dtype)
    axis = d.axis(x, none=False) % x.ndim - x.ndim
    return both(lambda: strata.vecdot(t, u, axis=axis), lambda: np.vecdot(wide(x), wide(y), axis=axis))


def apart(x, y):
    return np.sqrt((np.abs(x[:, None] - y[None]) ** 2).sum(-1))


def norms(name):
    def row(d):
        x, t = d.array("fc", least=1)
        order, axis, keep = (
            d.among(0, 1, 2, 3, math.inf, -math.inf),
            d.axis(x, none=name == "vector_norm"),
            d.among(True, False),
        )
        return both(
            lambda: getattr(strata.linalg, name)(t, axis=axis, ord=order, keepdims=keep),
            lambda: np.linalg.vector_norm(
                x.astype(complex if x.dtype.kind == "c" else float), axis=axis, ord=order, keepdims=keep
            ),
        )

    return row


def matrix_norms(d):
    x, t = d.array("fc", least=2)
    of_values = ("nuc", 2, -2) if x.dtype != np.float16 and x.size else ()  # the host has no singular values of halves
    order, keep = d.among("fro", 1, -1, math.inf, -math.inf, *of_values), d.among(True, False)
    return both(
        lambda: strata.linalg.matrix_norm(t, ord=order, keepdims=keep),
        lambda: np.linalg.matrix_norm(x.astype(complex if x.dtype.kind == "c" else float), ord=order, keepdims=keep),
    )


PRODUCTS = {
    "matmul": product("matmul", np.matmul, "bij", "bjk"), "tensordot": contracted, "vecdot": dots,
    "kron": product("kron", np.kron, "ij", "jk"),
    "einsum": product(lambda a, b: strata.einsum("bij,bjk->kb", a, b), lambda a, b: np.einsum("bij,bjk->kb", a, b),
        "bij", "bjk"), "outer": product("outer", np.linalg.outer, "i", "j"), "cross": across,
    "cdist": product("cdist", apart, "ij", "kj", "iufc", floats),
    "trace": movement("trace", lambda t, k: strata.trace(t, offset=k), lambda x, k: np.linalg.trace(wide(x), offset=k),
        lambda d, x: (d(st.integers(-2, 2)),), least=2), "norm": norms("norm"),
}  # fmt: skip


def matrix(name, want=None, symmetric=False, second=None, got=None):
    """A row of matrices that are well conditioned."""

    def row(d):
        dtype, n = d.type("fc", ("float16",)), d.size()
        x, t = d.array(shape=(*d.shape(0, 1), n, n), dtype=dtype, low=-1, high=1)
        more = (8 * np.eye(n)).astype(dtype)
        x, t = x + more, t + Tensor(more)
        x, t = (x + x.swapaxes(-1, -2).conj(), t + t.mT.conj()) if symmetric else (x, t)
        y, u = d.array(shape=(n, 2), dtype=dtype) if second else (None, None)
        operands, arrays = ((t, u), (x, y)) if second else ((t,), (x,))
        return both(
            lambda: (got or getattr(strata.linalg, name))(*operands),
            lambda: (want or getattr(np.linalg, name))(*arrays),
        )

    return row


def rebuilt(factors, of_length_1, symmetric=False):
    """Factors that are not unique: their product is the matrix, and that of the factors by themselves 1."""

    def want(x):
        return x, *[np.broadcast_to(np.eye(x.shape[-1]).astype(x.dtype), x.shape)] * of_length_1

    return matrix(None, want, symmetric, got=factors)


def eigh(t):
    values, vectors = strata.linalg.eigh(t)
    return vectors * values.unsqueeze(-2) @ vectors.mT.conj(), vectors.mT.conj() @ vectors


def qr(t):
    q, r = strata.linalg.qr(t)
    return q @ r.triu(), q.mT.conj() @ q


def svd(t):
    u, s, vh = strata.linalg.svd(t)
    return u * s.unsqueeze(-2) @ vh, u.mT.conj() @ u, vh @ vh.mT.conj()


def powers(d):
    n, dtype, times = d.size(), d.type(ALL), d.among(0, 1, 2, 3)
    x, t = d.array(shape=(*d.shape(0, 1), n, n), dtype=dtype, low=0, high=2)
    return both(lambda: strata.linalg.matrix_power(t, times), lambda: np.linalg.matrix_power(x, times))


LINALG = {
    **{name: matrix(name) for name in ("det", "inv", "slogdet", "svdvals", "matrix_rank", "pinv")},
    **{name: matrix(name, symmetric=True) for name in ("cholesky", "eigvalsh")}, "solve": matrix("solve", second=True),
    "eigh": rebuilt(eigh, 1, True), "qr": rebuilt(qr, 1), "svd": rebuilt(svd, 2), "matrix_norm": matrix_norms,
    "matrix_power": powers, "vector_norm": norms("vector_norm"),
}  # fmt: skip


REAL_INPUT = ("rfft", "ihfft", "rfftn")


def transform(name):
    def row(d):
        x, t = d.array(REAL if name in REAL_INPUT else ALL, least=1)
        named = {"norm": d.among("backward", "ortho", "forward")}
        if name.endswith("n"):
            axes = d.among(
                None, *[(i,) for i in range(-x.ndim, x.ndim)], tuple(range(x.ndim)), tuple(reversed(range(x.ndim)))
            )
            d.asked.add("axis")
            named |= {"axes": axes} | (
                {"s": tuple(d.among(1, 3, 6) for _ in axes)} if axes and d.among(True, False) else {}
            )
        else:
            named |= {"axis": d.axis(x, none=False), "n": d.among(None, 1, 3, 6)}
        return both(
            lambda: getattr(strata.fft, name)(t, **named),
            lambda: getattr(np.fft, name)(floats(x).astype(complex if x.dtype.kind == "c" else float), **named),
        )

    return row


def shifted(name):
    def row(d):
        x, t = d.array(ALL, least=1)
        axes = d.axes(x)
        return both(lambda: getattr(strata.fft, name)(t, axes=axes), lambda: getattr(np.fft, name)(x, axes))

    return row


def frequencies(name):
    def row(d):
        n, dtype = d.size(9), d.type("f")
        return both(
            lambda: getattr(strata.fft, name)(n, d=0.5, dtype=dtype),
            lambda: getattr(np.fft, name)(n, 0.5).astype(dtype),
        )

    return row


FFT = {
    **{name: transform(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn",
            "irfftn")}, **{name: shifted(name) for name in ("fftshift", "ifftshift")},
    **{name: frequencies(name) for name in ("fftfreq", "rfftfreq")},
}  # fmt: skip
