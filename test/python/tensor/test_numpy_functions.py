"""NumPy's functions on tensors, and tensors in notebooks: Strata's own where it has them, NumPy's of the values
elsewhere.
"""

import numpy as np
import pytest
import strata
from strata import Tensor, _numpy

X = np.random.default_rng(5).normal(size=(3, 4)).astype(np.float32)
Y = np.random.default_rng(6).uniform(0.5, 1.5, (3, 4)).astype(np.float32)
P = (X[:, :3] @ X[:, :3].T + 3 * np.eye(3, dtype=np.float32)).astype(np.float32)
N = np.where(X > 0.5, np.nan, X)
I = np.array([0, 2, 2, 1])
B = X > 0

# name -> calls that strata answers, as functions of an array of the kind that the table gives.
CALLS = {
    "abs": lambda x: np.abs(x), "all": lambda x: np.all(x > 0, axis=0),
    "any": lambda x: np.any(x > 0, axis=1, keepdims=True), "argmax": lambda x: np.argmax(x, 1),
    "argmin": lambda x: np.argmin(x),
    "argsort": lambda x: np.argsort(x, axis=None), "astype": lambda x: np.astype(x, np.float64),
    "bincount": lambda i: np.bincount(i, minlength=6), "broadcast_to": lambda x: np.broadcast_to(x, (2, 3, 4)),
    "clip": lambda x: np.clip(x, -0.5, 0.5), "concatenate": lambda x: np.concatenate([x, X], axis=1),
    "copy": lambda x: np.copy(x), "count_nonzero": lambda x: np.count_nonzero(x > 0, axis=0),
    "cumprod": lambda x: np.cumprod(x, axis=1), "cumsum": lambda x: np.cumsum(x), "diff": lambda x: np.diff(x, axis=0),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, X), "expand_dims": lambda x: np.expand_dims(x, 1),
    "flip": lambda x: np.flip(x, 0), "imag": lambda x: np.imag(x), "kron": lambda x: np.kron(X, x),
    "linalg.cholesky": lambda p: np.linalg.cholesky(p), "linalg.det": lambda p: np.linalg.det(p),
    "linalg.inv": lambda p: np.linalg.inv(p), "linalg.norm": lambda x: np.linalg.norm(x, axis=1),
    "max": lambda x: np.max(x, axis=0), "mean": lambda x: np.mean(x, axis=(0, 1), keepdims=True),
    "median": lambda x: np.median(x, axis=1), "min": lambda x: np.amin(x), "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "nanmax": lambda n: np.nanmax(n, axis=0), "nanmean": lambda n: np.nanmean(n),
    "nanmin": lambda n: np.nanmin(n), "nansum": lambda n: np.nansum(n, axis=1), "ones_like": lambda x: np.ones_like(x),
    "outer": lambda x: np.outer(x, X), "permute_dims": lambda x: np.permute_dims(x, (1, 0)),
    "prod": lambda x: np.prod(x, axis=0), "quantile": lambda x: np.quantile(x, 0.3, axis=1),
    "ravel": lambda x: np.ravel(x), "real": lambda x: np.real(x), "repeat": lambda x: np.repeat(x, 2, axis=1),
    "reshape": lambda x: np.reshape(x, (4, 3)), "roll": lambda x: np.roll(x, 2), "round": lambda x: np.round(x),
    "searchsorted": lambda i: np.searchsorted(np.arange(3), i, side="right"),
    "sort": lambda x: np.sort(x, axis=None), "squeeze": lambda x: np.squeeze(x[:1]),
    "stack": lambda x: np.stack([x, X], axis=1), "std": lambda x: np.std(x, axis=0, ddof=1),
    "sum": lambda x: np.sum(x, axis=1),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1), "take": lambda x: np.take(x, I, axis=1),
    "take_along_axis": lambda x: np.take_along_axis(x, np.argsort(X, 1), 1),
    "tensordot": lambda x: np.tensordot(x, X.T, axes=1),
    "tile": lambda x: np.tile(x, 2), "transpose": lambda x: np.transpose(x), "tril": lambda x: np.tril(x),
    "triu": lambda x: np.triu(x, 1), "var": lambda x: np.var(x), "where": lambda x: np.where(x > 0, x, 0),
    "zeros_like": lambda x: np.zeros_like(x),
}  # fmt: skip
GIVEN = {"x": X, "p": P, "n": N, "i": I}


def same(got, want, rtol=1e-5):
    assert isinstance(got, Tensor) and got.shape == np.shape(want)
    np.testing.assert_allclose(got.numpy(), want, rtol=rtol, atol=1e-6)


def test_every_row_has_a_call():
    assert CALLS.keys() == _numpy.FUNCTIONS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_functions_of_numpy_give_tensors_of_numpys_values(name):
    f = CALLS[name]
    array = GIVEN[f.__code__.co_varnames[0]]
    same(f(Tensor(array)), f(array))


FURTHER = [
    lambda x: np.nanmean(np.astype(x * 9, np.uint8), axis=0), lambda x: np.nanmean(np.astype(x * 9, np.int32)),
    lambda x: np.repeat(x, np.array([2, 0, 1]), axis=0), lambda x: np.take_along_axis(x, I, None),
    lambda x: np.repeat(x, [1, 2, 0, 3], axis=1),
]  # fmt: skip


@pytest.mark.parametrize("f", FURTHER)
def test_further_calls_give_tensors_of_numpys_values(f):
    same(f(Tensor(abs(X))), f(abs(X)))


def test_triangles_of_vectors_are_computed_by_numpy():
    np.testing.assert_array_equal(np.tril(Tensor(I)), np.tril(I))
    np.testing.assert_array_equal(np.triu(Tensor(I), 1), np.triu(I, 1))


UFUNCS = [
    f
    for f in vars(np).values()
    if isinstance(f, np.ufunc) and f.nout == 1 and not f.signature and f.__name__ in {*dir(strata), *_numpy.UNIVERSAL}
]


@pytest.mark.parametrize("f", UFUNCS, ids=lambda f: f.__name__)
def test_universal_functions_give_tensors_of_numpys_values(f):
    name = f.__name__
    x, y = (
        (I, I[::-1].copy())
        if "bit" in name or "shift" in name or name == "invert"
        else (Y + 1, Y)
        if name == "arccosh"
        else (Y / 2, Y)
    )
    want = f(x, y) if f.nin == 2 else f(x)
    same(f(Tensor(x), Tensor(y)) if f.nin == 2 else f(Tensor(x)), want)
    if f.nin == 2:
        same(f(x, Tensor(y)), want)
        same(f(Tensor(x), y), want)


def test_products_of_arrays_and_tensors_are_tensors():
    same(np.matmul(X, Tensor(Y.T)), X @ Y.T)
    same(X @ Tensor(Y.T), X @ Y.T)
    same(X - Tensor(Y), X - Y)
    same(Tensor(X) - Y, X - Y)


def test_what_strata_has_not_is_numpys_of_the_values():
    t = Tensor(X)
    for f in (
        np.ptp,
        np.fft.fft2,
        lambda x: np.round(x, 1),
        lambda x: np.sum(x, where=B),
        lambda x: np.quantile(x, 0.5, method="lower"),
        np.add.reduce,
        lambda x: np.add(x, x, dtype=np.float64),
        lambda x: np.isclose(x, X),
        np.unique,
    ):
        got, want = f(t), f(X)
        assert not isinstance(got, Tensor)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    assert np.allclose(t, X) and np.array_equal(t, X) and np.shape(t) == (3, 4)
    out = X.copy()
    out += t
    assert type(out) is np.ndarray
    np.testing.assert_array_equal(out, X + X)


def test_gradients_go_through_numpys_functions():
    array = X.astype(np.float64)
    x = Tensor(array).requires_grad_()
    np.sum(np.sin(x) * np.exp(x)).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(array) * (np.sin(array) + np.cos(array)), rtol=1e-10)


def test_errors_of_strata_are_not_hidden():
    with pytest.raises(strata.ShapeError):
        np.concatenate([Tensor(X), Tensor(X[:, :2])])
    with pytest.raises(strata.ShapeError):
        np.add(Tensor(X), Tensor(X[:, :2]))


# Notebooks


def cells(text):
    rows = text.split("</table>")[0].split("<tr>")[1:]
    return [[cell.split(">", 1)[1].split("<")[0] for cell in row.split("<td")[1:]] for row in rows]


def test_a_notebook_shows_a_table():
    text = Tensor([[1, -2], [3, 4]])._repr_html_()
    assert cells(text) == [["1", "-2"], ["3", "4"]] and f"(2, 2) int64 on {strata.default_device()}" in text
    assert cells(Tensor([True, False])._repr_html_()) == [["True", "False"]]
    assert cells(Tensor([0.5, 1.5], dtype="bfloat16")._repr_html_()) == [["0.5", "1.5"]]


def test_a_long_table_shows_its_ends():
    x = np.arange(40 * 13).reshape(40, 13)
    got = cells(Tensor(x)._repr_html_())
    assert len(got) == 11 and all(len(row) == 11 for row in got)
    assert got[5] == ["&#8230;"] * 11 and [row[5] for row in got] == ["&#8230;"] * 11
    at = [0, 1, 2, 3, 4, -5, -4, -3, -2, -1]
    assert [[int(v) for v in row[:5] + row[6:]] for row in got[:5] + got[6:]] == x[np.ix_(at, at)].tolist()


def test_a_notebook_shows_other_shapes_as_text_and_computes_nothing_when_debugging():
    for t in (Tensor(3.5), Tensor.zeros(2, 2, 2), Tensor.zeros(0, 3)):
        assert t._repr_html_() == f"<pre>{repr(t).replace('<', '&lt;').replace('>', '&gt;')}</pre>"
    x = Tensor([1.0, 2.0]) * 3
    with strata.config(debug=1):
        assert (
            x._repr_html_() == f"<pre>&lt;Tensor (2,) float32 on {strata.default_device()}, lazy&gt;</pre>"
            and not x.is_realized
        )
