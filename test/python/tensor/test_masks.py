"""Shapes that depend on values: x[mask], nonzero, repeat by counts and the sets, against NumPy."""

import numpy as np
import pytest
import strata
from hypothesis import given, strategies as st
from strata import Tensor

rng = np.random.default_rng(2)
X = rng.integers(-3, 4, (4, 5, 6)).astype(np.int32)


def same(tensor, array):
    got = tensor.numpy()
    assert got.shape == array.shape and got.dtype == array.dtype
    np.testing.assert_array_equal(got, array)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_a_mask_keeps_what_is_true(axes):
    mask = rng.random(X.shape[:axes]) < 0.4
    same(Tensor(X)[Tensor(mask)], X[mask])
    same(Tensor(X)[mask], X[mask])
    same(Tensor(X)[Tensor(np.zeros_like(mask))], X[np.zeros_like(mask)])


def test_masks_stand_beside_other_indices():
    rows, columns = np.array([True, False, True, True]), np.array([True, False, True, False, True])
    same(Tensor(X)[Tensor(rows), 1], X[rows, 1])
    same(Tensor(X)[:, Tensor(columns)], X[:, columns])
    same(Tensor(X)[Tensor(rows), Tensor(np.array([0, 1, 2]))], X[rows, [0, 1, 2]])
    same(Tensor(X)[..., Tensor(X[0, 0] > 0)], X[..., X[0, 0] > 0])
    same(Tensor(X)[Tensor(np.array(True))], X[np.array(True)])
    with pytest.raises(strata.ShapeError, match="mask"):
        Tensor(X)[Tensor(columns)]


@pytest.mark.parametrize(
    "shape, key, kind",
    [
        ((), [True], strata.UsageError),
        ((2,), [True, False, True], strata.ShapeError),
        ((2,), [[True, False], [True, True]], strata.UsageError),
        ((2, 3), [True, False, True], strata.ShapeError),
        ((2, 3), (0, [True, False]), strata.ShapeError),
        ((2,), 2, strata.UsageError),
        ((2,), (0, 0), strata.UsageError),
    ],
)
def test_what_has_no_place_is_an_index_error_as_in_numpy(shape, key, kind):
    x = np.ones(shape, np.float32)
    of = lambda array: tuple(
        array(k) if isinstance(k, list) else k for k in (key if isinstance(key, tuple) else (key,))
    )
    with pytest.raises(IndexError):
        x[of(np.array)]
    t = Tensor(x)
    with pytest.raises(kind) as e:
        t[of(Tensor)]
    assert isinstance(e.value, IndexError)
    with pytest.raises(IndexError) as e:
        t[of(Tensor)] = 5
    assert isinstance(e.value, strata.Error)
    np.testing.assert_array_equal(t.numpy(), x)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (0,), (3, 0), (1, 1)])
def test_nonzero_says_where(shape):
    x = rng.integers(-1, 2, shape).astype(np.float32)
    found = strata.nonzero(Tensor(x))
    assert isinstance(found, tuple) and len(found) == len(shape)
    for got, want in zip(found, np.nonzero(x)):
        same(got, want)
    same(Tensor(x).count_nonzero(), np.array(np.count_nonzero(x)))
    same(Tensor(x).count_nonzero(0), np.count_nonzero(x, 0) if len(shape) > 1 else np.array(np.count_nonzero(x)))


def test_repeat_takes_a_count_an_element():
    counts = np.array([2, 0, 3, 1])
    same(Tensor(X).repeat(Tensor(counts), 0), np.repeat(X, counts, 0))
    same(strata.repeat(Tensor([5, 6, 7, 8]), Tensor(counts)), np.repeat([5, 6, 7, 8], counts))
    same(Tensor(X).repeat(Tensor([2]), 1), np.repeat(X, 2, 1))
    for wrong, error in (
        (Tensor([1, 2]), strata.ShapeError),
        (Tensor([1, -1, 1, 1]), strata.UsageError),
        (Tensor([1.0]), strata.DTypeError),
    ):
        with pytest.raises(error, match="repeat"):
            Tensor(X).repeat(wrong, 0)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "float64"])
@pytest.mark.parametrize("shape", [(0,), (1,), (30,), (4, 9), ()])
def test_sets_are_numpys(dtype, shape):
    x = rng.integers(0, 5, shape).astype(dtype)
    got, want = strata.unique_all(Tensor(x)), np.unique_all(x)
    for name in ("values", "indices", "inverse_indices", "counts"):
        same(getattr(got, name), np.asarray(getattr(want, name)))
    same(strata.unique_values(Tensor(x)), np.unique_values(x) if shape == (0,) else np.sort(np.unique_values(x)))
    same(strata.unique_counts(Tensor(x)).counts, want.counts)
    same(strata.unique_inverse(Tensor(x)).inverse_indices, want.inverse_indices)


def test_sets_of_complex_numbers_are_ordered_by_their_real_parts():
    x = rng.integers(0, 3, 20) + 1j * rng.integers(0, 3, 20)
    got, want = strata.unique_all(Tensor(x.astype(np.complex64))), np.unique_all(x.astype(np.complex64))
    for name in ("values", "indices", "inverse_indices", "counts"):
        same(getattr(got, name), getattr(want, name))


def test_each_nan_is_one_of_its_own():
    found = strata.unique_all(Tensor([np.nan, 1.0, np.nan, 1.0, -0.0, 0.0]))
    assert found.counts.tolist() == [2, 2, 1, 1] and found.values.tolist()[:2] == [0.0, 1.0]


@given(st.lists(st.booleans(), max_size=70))
def test_any_mask(mask):
    mask = np.array(mask, bool)
    x = np.arange(mask.size)
    same(Tensor(x)[Tensor(mask)], x[mask])
