"""x[...] = value, scatter and its like, against NumPy. A tensor that was made of x before keeps its value."""

import numpy as np
import pytest
import strata
from hypothesis import given, strategies as st
from strata import Tensor

rng = np.random.default_rng(1)
X = rng.integers(-50, 50, (4, 5, 6)).astype(np.int32)


def check(x, key, value, tensor_key=None):
    array, t = x.copy(), Tensor(x.copy())
    before = t + 0
    array[key] = value
    t[key if tensor_key is None else tensor_key] = Tensor(value) if isinstance(value, np.ndarray) else value
    np.testing.assert_array_equal(t.numpy(), array)
    np.testing.assert_array_equal(before.numpy(), x)
    assert t.dtype == Tensor(x).dtype


BASIC = [
    0,
    -1,
    ...,
    (),
    slice(None),
    slice(1, 3),
    slice(None, None, -1),
    slice(3, None, -2),
    slice(0, 0),
    (0, 1, 2),
    (..., 2),
    (slice(None), slice(None, None, 2), slice(5, 0, -3)),
    (None, 1),
    (1, None, slice(0, 5, 3)),
    (slice(-3, 99, 2), -2),
]


@pytest.mark.parametrize("key", BASIC, ids=str)
def test_numbers_and_arrays_go_where_slices_say(key):
    check(X, key, 77)
    shape = X[key].shape
    check(X, key, rng.integers(-9, 9, shape).astype(np.int32) if shape else np.array(3, np.int32))
    if shape:
        check(X, key, rng.integers(-9, 9, shape[-1:]).astype(np.int32))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_masks_choose_what_is_written(axes):
    mask = rng.random(X.shape[:axes]) < 0.4
    check(X, mask, -1, Tensor(mask))
    value = rng.integers(-9, 9, X[mask].shape).astype(np.int32)
    check(X, mask, value, Tensor(mask))
    check(X, (mask, ...), 5, (Tensor(mask), ...))


def test_a_mask_of_a_comparison_is_the_usual_case():
    x = rng.standard_normal((7, 9)).astype(np.float32)
    t = Tensor(x)
    t[t < 0] = 0
    np.testing.assert_array_equal(t.numpy(), np.maximum(x, 0))


INDICES = [
    np.array([0, 2, 3]),
    np.array([[1, -1], [0, 2]]),
    (np.array([0, 1]), np.array([2, 3])),
    (slice(None), np.array([4, 0])),
    (np.array([1, 3]), slice(1, 4)),
    (np.array([[0], [2]]), np.array([1, 3]), 2),
    (0, slice(None), np.array([5, 1])),
    (np.zeros(0, np.int64),),
]


@pytest.mark.parametrize("key", INDICES, ids=str)
def test_integer_arrays_say_where(key):
    check(X, key, 9)
    check(X, key, rng.integers(-9, 9, X[key].shape).astype(np.int32))
    as_tensors = (
        tuple(Tensor(k) if isinstance(k, np.ndarray) else k for k in key) if isinstance(key, tuple) else Tensor(key)
    )
    check(X, key, 4, as_tensors)


def test_of_several_values_for_one_place_the_last_stays():
    check(np.zeros(5, np.float32), np.array([1, 3, 1, 1]), np.array([1, 2, 3, 4], np.float32))


def test_many_places_at_once():
    x, at, value = np.zeros(9000, np.float32), rng.integers(0, 9000, 5000), rng.standard_normal(5000).astype(np.float32)
    check(x, at, value)


def test_wrong_values_say_so():
    t = Tensor(X)
    with pytest.raises(strata.ShapeError, match=r"\(7,\), the place \(5, 6\)"):
        t[0] = Tensor(np.zeros(7, np.int32))
    with pytest.raises(strata.DTypeError, match="cast the value first"):
        t[0] = 0.5
    with pytest.raises(strata.DTypeError, match="does not fit"):
        t[0] = 2**40
    with pytest.raises(strata.UsageError, match="out of range"):
        t[9] = 1
    with pytest.raises(strata.ShapeError, match="mask"):
        t[Tensor(np.ones((3, 5), bool))] = 1
    np.testing.assert_array_equal(t.numpy(), X)


def test_a_gradient_reaches_the_value_and_what_was_not_written():
    def f(x, v):
        y = x * 1
        y[1:3] = v
        return (y * Tensor([1.0, 2.0, 3.0, 4.0])).sum()

    to_x, to_v = strata.grad(f, (0, 1))(Tensor([1.0, 1.0, 1.0, 1.0]), Tensor([5.0, 6.0]))
    assert to_x.tolist() == [1.0, 0.0, 0.0, 4.0] and to_v.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scatter_is_put_along_axis_and_scatter_add_adds(axis):
    x = rng.standard_normal((4, 5, 6)).astype(np.float32)
    shape = [*x.shape]
    shape[axis] = 3
    at = np.sort(np.argsort(rng.random(x.shape), axis).take([0, 1, 2], axis), axis)
    value = rng.standard_normal(shape).astype(np.float32)
    put, added = x.copy(), x.copy()
    np.put_along_axis(put, at, value, axis)
    np.testing.assert_array_equal(Tensor(x).scatter(axis, Tensor(at), Tensor(value)).numpy(), put)
    where = list(np.indices(at.shape))
    where[axis] = at % 2
    np.add.at(added, tuple(where), value)
    np.testing.assert_allclose(Tensor(x).scatter_add(axis, Tensor(at % 2), Tensor(value)).numpy(), added, rtol=1e-5)


def test_index_add_and_masked_fill():
    x, value = np.ones((3, 4), np.float32), np.arange(20, dtype=np.float32).reshape(5, 4)
    at, want = np.array([0, 2, 2, -1, 0]), np.ones((3, 4), np.float32)
    np.add.at(want, at, value)
    np.testing.assert_allclose(Tensor(x).index_add(0, Tensor(at), Tensor(value)).numpy(), want)
    assert Tensor([1, 2, 3]).masked_fill(Tensor([True, False, True]), 9).tolist() == [9, 2, 9]
    with pytest.raises(strata.ShapeError, match="masked_fill"):
        Tensor([1.0]).masked_fill(Tensor([True, False]), 0)


SLICES = st.builds(
    slice, *[st.one_of(st.none(), st.integers(-7, 7))] * 2, st.one_of(st.none(), st.sampled_from([-3, -2, -1, 1, 2, 3]))
)


@given(st.tuples(*[st.one_of(SLICES, st.integers(-4, 3))] * 3))
def test_any_slices_and_integers(key):
    check(X, key, 1)


def test_complex_tensors_are_written_part_by_part():
    x = (X + 1j * X[::-1]).astype(np.complex64)
    for key, value in ((0, 1 + 2j), ((slice(None), np.array([1, 3])), 5), (np.array([2, 0]), x[:2] * 1j)):
        check(x, key, value)
    t = Tensor(x)
    t[Tensor(X > 0)] = 1j
    np.testing.assert_array_equal(t.numpy(), np.where(X > 0, 1j, x))
    with pytest.raises(strata.DTypeError, match="cast the value"):
        Tensor(X)[0] = 1j
    with pytest.raises(strata.DTypeError, match="sort"):
        t.sort()


def test_scatter_of_many_values_is_numpys(rng):
    """More than 2^24 pairs of a place and a value: they are ordered first."""
    x, at = rng.standard_normal((2, 3000)).astype(np.float32), rng.integers(0, 2000, (2, 3500))
    values = rng.standard_normal((2, 3500)).astype(np.float32)
    put, added = x.copy(), x.astype(np.float64)
    for row in range(2):
        for place, value in zip(at[row], values[row]):
            put[row, place] = value
        np.add.at(added[row], at[row], values[row])
    got = [f(1, Tensor(at), Tensor(values)) for f in (Tensor(x).scatter, Tensor(x).scatter_add)]
    np.testing.assert_array_equal(got[0].numpy(), put)
    np.testing.assert_allclose(got[1].numpy(), added, rtol=1e-5, atol=1e-5)
    counted = rng.integers(0, 5000, 6000)
    np.testing.assert_array_equal(strata.bincount(Tensor(counted)).numpy(), np.bincount(counted))


def test_gradients_of_a_scatter_of_many_values(rng):
    """d(sum(w * scatter_add(x, at, v))) is w by x and w[at] by v."""
    at, w = rng.integers(0, 4000, 4500), rng.standard_normal(4000)
    x, v = (Tensor(rng.standard_normal(n)).requires_grad_() for n in (4000, 4500))
    (x.scatter_add(0, Tensor(at), v) * Tensor(w)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), w)
    np.testing.assert_allclose(v.grad.numpy(), w[at])


def test_indices_of_scatter_may_be_smaller_than_values_and_both_than_x():
    """PyTorch's rule: places without an index stay, values without one are left out."""
    x = rng.standard_normal((4, 5, 3)).astype(np.float32)
    for axis in range(3):
        for shape in ((4, 5, 3), (2, 5, 3), (3, 4, 2), (1, 2, 1), (0, 5, 3)):
            index, values = (
                rng.integers(0, x.shape[axis], shape),
                rng.standard_normal([n + 1 for n in shape]).astype(np.float32),
            )
            put, added = x.copy(), x.astype(np.float64)
            to_values = np.zeros_like(values)
            for at in np.ndindex(*shape):
                to = (*at[:axis], index[at], *at[axis + 1 :])
                put[to] = values[at]
                added[to] += values[at]
                to_values[at] = np.cos(np.ravel_multi_index(to, x.shape))
            np.testing.assert_array_equal(Tensor(x).scatter(axis, Tensor(index), Tensor(values)).numpy(), put)
            np.testing.assert_allclose(
                Tensor(x).scatter_add(axis, Tensor(index), Tensor(values)).numpy(), added, rtol=1e-5, atol=1e-6
            )
            if not index.size:
                continue
            leaf = Tensor(values).requires_grad_()
            weights = Tensor(np.cos(np.arange(x.size)).astype(np.float32).reshape(x.shape))
            (Tensor(x).scatter_add(axis, Tensor(index), leaf) * weights).sum().backward()
            np.testing.assert_allclose(leaf.grad.numpy(), to_values, rtol=1e-5, atol=1e-6)
    for index, values in (((5, 5, 3), (5, 5, 3)), ((2, 2, 2), (2, 1, 2)), ((2, 2), (2, 2))):
        with pytest.raises(strata.ShapeError, match=r"\[scatter\] indices .* larger along no axis than values"):
            Tensor(x).scatter(1, Tensor(np.zeros(index, int)), Tensor(np.zeros(values, np.float32)))
