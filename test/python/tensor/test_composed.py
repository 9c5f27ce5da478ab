"""Functions that NumPy and PyTorch have beside the array API: einsum, quantiles, bins, windows and the like, against
NumPy."""

import math

import numpy as np
import pytest
import strata
from strata import Tensor

rng = np.random.default_rng(4)
A = rng.integers(-5, 6, (3, 4, 5)).astype(np.float32)
B = rng.integers(-5, 6, (3, 5, 6)).astype(np.float32)
HOLES = np.where(rng.random((3, 4, 5)) < 0.3, np.nan, A).astype(np.float32)


def same(tensor, array, rtol=1e-5):
    array = np.asarray(array)
    assert isinstance(tensor, Tensor) and tensor.shape == array.shape
    np.testing.assert_allclose(tensor.numpy(), array, rtol=rtol, atol=1e-6)


@pytest.mark.parametrize(
    "subscripts, operands",
    [
        ("bij,bjk->bik", (A, B)),
        ("bij,bjk", (A, B)),
        ("bij,bjk->", (A, B)),
        ("bij->jb", (A,)),
        ("bij->i", (A,)),
        ("bij,bij->b", (A, A)),
        ("i,j->ij", (A[0, 0], B[0, 0])),
        ("ii->i", (A[0, :, :4],)),
        ("ii", (A[0, :, :4],)),
        ("iji->j", (A[:, :, :3],)),
        ("...ij,...jk->...ik", (A, B)),
        ("...j,jk", (A, B[0])),
        ("...->...", (A,)),
        ("ij,jk,kl->il", (A[0], B[0], B[1].T)),
        ("ij,kj,ij->ki", (A[0], A[1], A[2])),
        ("b...,b->...b", (A, A[:, 0, 0])),
        (",ij->ij", (np.float32(3), A[0])),
        ("ba,ca->bc", (A[0, :, :1], A[1])),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_einsum_is_numpys(subscripts, operands):
    same(strata.einsum(subscripts, *map(Tensor, operands)), np.einsum(subscripts, *operands))


def test_einsum_says_what_is_wrong():
    t = Tensor(A)
    for wrong, error in (
        (lambda: strata.einsum("ij", t), strata.ShapeError),
        (lambda: strata.einsum("ijk,i", t), strata.UsageError),
        (lambda: strata.einsum("ijk->l", t), strata.UsageError),
        (lambda: strata.einsum("ijk,ijk->i", t, Tensor(B)), strata.ShapeError),
    ):
        with pytest.raises(error, match="einsum"):
            wrong()


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
def test_quantiles_are_numpys(axis):
    for q in (0, 0.25, 0.5, 0.9, 1, [0.1, 0.75]):
        same(strata.quantile(Tensor(A), q, axis), np.quantile(A, q, axis))
    same(strata.median(Tensor(A), axis, keepdims=True), np.median(A, axis, keepdims=True))
    same(strata.nanmedian(Tensor(HOLES), axis), np.nanmedian(HOLES, axis))
    same(strata.median(Tensor(HOLES), axis), np.median(HOLES, axis))


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin"])
@pytest.mark.parametrize("axis", [None, 1, (0, -1)])
def test_what_is_not_a_number_does_not_count(name, axis):
    for keepdims in (False, True):
        same(
            getattr(strata, name)(Tensor(HOLES), axis, keepdims=keepdims),
            getattr(np, name)(HOLES, axis, keepdims=keepdims),
        )
    if name in ("nanvar", "nanstd"):
        same(getattr(strata, name)(Tensor(HOLES), 0, 1), getattr(np, name)(HOLES, 0, ddof=1))


def test_of_nothing_but_nan_the_extremes_are_nan():
    nothing = Tensor([[np.nan, np.nan], [1.0, np.nan]])
    same(strata.nanmax(nothing, 1), [np.nan, 1])
    same(strata.nanmedian(nothing, 1), [np.nan, 1])


def test_bins_are_numpys():
    x, w = rng.integers(0, 9, 50), rng.random(50).astype(np.float32)
    same(strata.bincount(Tensor(x)), np.bincount(x))
    same(strata.bincount(Tensor(x), Tensor(w), 12), np.bincount(x, w, 12))
    same(strata.bincount(Tensor(x[:0])), np.bincount(x[:0]))
    with pytest.raises(strata.UsageError, match="bincount"):
        strata.bincount(Tensor([1, -1]))
    y = rng.standard_normal((5, 20)).astype(np.float32)
    for named in ({}, {"bins": 4, "range": (-1.0, 1.0)}, {"bins": 3, "density": True}):
        for got, want in zip(strata.histogram(Tensor(y), **named), np.histogram(y, **named)):
            same(got, want)
    edges = np.array([-2.0, -0.5, 0.0, 0.25, 2.0], np.float32)
    for got, want in zip(
        strata.histogram(Tensor(y), Tensor(edges), weights=Tensor(np.abs(y))), np.histogram(y, edges, weights=np.abs(y))
    ):
        same(got, want)


def test_kthvalue_and_unique():
    value, at = strata.kthvalue(Tensor(A), 2, 1)
    same(value, np.sort(A, 1)[:, 1])
    same(Tensor(A).gather(1, at.unsqueeze(1)).squeeze(1), value.numpy())
    assert strata.kthvalue(Tensor(A), 1, keepdims=True)[0].shape == (3, 4, 1)
    with pytest.raises(strata.UsageError, match="kthvalue"):
        strata.kthvalue(Tensor(A), 0)
    x = rng.integers(0, 4, 20)
    for got, want in zip(strata.unique(Tensor(x), True, True, True), np.unique(x, True, True, True)):
        same(got, want)
    same(strata.unique(Tensor(x)), np.unique(x))


def test_logcumsumexp_does_not_overflow():
    x = np.array([[-1000.0, 0.0, 1000.0, 999.0], [1.0, 2.0, 3.0, -np.inf]])
    same(strata.logcumsumexp(Tensor(x), 1), np.logaddexp.accumulate(x, 1), 1e-12)
    same(strata.logcumsumexp(Tensor(x), 0), np.logaddexp.accumulate(x, 0), 1e-12)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 64, 65, 600])
def test_logcumsumexp_of_any_length_is_the_running_logaddexp(n):
    x = rng.normal(0, 30, (2, n))
    same(strata.logcumsumexp(Tensor(x), -1), np.logaddexp.accumulate(x, 1), 1e-12)
    same(strata.logcumsumexp(Tensor(x.T.copy()), 0), np.logaddexp.accumulate(x.T, 0), 1e-12)
    ends = np.array([-np.inf, -np.inf, 1.0, np.inf, 2.0, np.nan, 3.0])
    np.testing.assert_array_equal(strata.logcumsumexp(Tensor(ends), 0).numpy(), np.logaddexp.accumulate(ends))


def test_multinomial_follows_the_weights():
    Tensor.manual_seed(1)
    weights = Tensor([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])
    drawn = strata.multinomial(weights, 1000, replacement=True).numpy()
    assert (drawn[1] == 1).all() and 200 < (drawn[0] == 0).sum() < 300 and (drawn[0] != 1).all()
    once = strata.multinomial(Tensor([1.0, 1.0, 1.0, 1e-9]), 3).tolist()
    assert sorted(once) == [0, 1, 2]
    with pytest.raises(strata.UsageError, match="multinomial"):
        strata.multinomial(Tensor([1.0]), 2)


@pytest.mark.parametrize(
    "mode, theirs",
    [("reflect", "reflect"), ("replicate", "edge"), ("edge", "edge"), ("circular", "wrap"), ("wrap", "wrap")],
)
def test_pad_modes_are_numpys(mode, theirs):
    width = [(2, 1), (0, 3), (7, 6)]
    same(strata.pad(Tensor(A), width, mode), np.pad(A, width, theirs))
    same(strata.pad(Tensor(A), width, value=4), np.pad(A, width, constant_values=4))
    with pytest.raises(strata.UsageError, match="mode"):
        strata.pad(Tensor(A), width, "none")


def test_windows_and_triangles():
    same(strata.unfold(Tensor(A), 1, 2, 2), np.lib.stride_tricks.sliding_window_view(A, 2, 1)[:, ::2])
    same(strata.unfold(Tensor(A), -1, 3), np.lib.stride_tricks.sliding_window_view(A, 3, -1))
    for got, want in zip(
        strata.tril_indices(4, -1, 5) + strata.triu_indices(3, 1), np.tril_indices(4, -1, 5) + np.triu_indices(3, 1)
    ):
        same(got, want)
    same(Tensor(A)[0][strata.tril_indices(4)], A[0][np.tril_indices(4)])


def test_interpolation_along_each_axis():
    x = A[None]
    same(strata.interpolate(Tensor(x), size=(8, 10)), x.repeat(2, -1).repeat(2, -2))
    want = np.apply_along_axis(lambda v: np.interp((np.arange(8) + 0.5) / 2 - 0.5, np.arange(4), v), 2, x)
    same(strata.interpolate(Tensor(x), size=(8, 5), mode="bilinear"), want)
    want = np.apply_along_axis(lambda v: np.interp(np.linspace(0, 4, 9), np.arange(5), v), 3, x)
    same(strata.interpolate(Tensor(x), size=(4, 9), mode="linear", align_corners=True), want)
    assert strata.interpolate(Tensor(x), scale_factor=(0.5, 2)).shape == (1, 3, 2, 10)
    with pytest.raises(strata.UsageError, match="interpolate"):
        strata.interpolate(Tensor(x))


def test_pairs_of_points_and_kron():
    a, b = A[0], A[1]
    apart = a[:, None] - b[None]
    for p in (0, 1, 2, 3, math.inf):
        same(strata.cdist(Tensor(a), Tensor(b), p), np.linalg.norm(apart, p, -1), 1e-4)
    same(strata.kron(Tensor(a), Tensor(b)), np.kron(a, b))
    same(strata.kron(Tensor(a[0]), Tensor(A)), np.kron(a[0], A))
    with pytest.raises(strata.ShapeError, match="cdist"):
        strata.cdist(Tensor(a), Tensor(B[0]))


def test_names_of_pytorch_mean_what_they_mean_there():
    t = Tensor(A)
    same(t.view(4, -1), A.reshape(4, -1))
    same(t.view_as(Tensor(A.reshape(12, 5))), A.reshape(12, 5))
    assert (
        t.dim() == 3
        and t.long().dtype == "int64"
        and t.half().dtype == "float16"
        and t.double().dtype == "float64"
        and t.type_as(Tensor([1])).dtype == "int64"
    )
    assert (
        t.to("float16").dtype == "float16" and t.to(strata.int8).dtype == "int8" and t.to(t.device).dtype == "float32"
    )
    same(t.repeat_interleave(2, 1), A.repeat(2, 1))
    same(t[0].expand_as(t), np.broadcast_to(A[0], A.shape))
    kept = t.clone()
    kept[0] = 0
    same(t, A)
    with pytest.raises(AttributeError, match=r"strata\.einsum\(x\)"):
        t.einsum  # noqa: B018


def test_gradients_go_through_what_is_ordered():
    x = Tensor([3.0, 1.0, 2.0, 5.0])
    assert strata.grad(strata.median)(x).tolist() == [0.5, 0.0, 0.5, 0.0]
    assert strata.grad(lambda t: t.topk(2)[0].sum())(x).tolist() == [1.0, 0.0, 0.0, 1.0]
    assert strata.grad(lambda t: strata.einsum("i,i->", t, t))(x).tolist() == [6.0, 2.0, 4.0, 10.0]
