"""x[...], take, gather, one_hot against NumPy."""

import itertools
import random
import re

import numpy as np
import pytest
import strata
from hypothesis import given, settings, strategies as st
from strata import Tensor


def same(t, expected):
    expected = np.asarray(expected)
    assert t.shape == expected.shape
    np.testing.assert_array_equal(t.numpy(), expected)


X = np.arange(2 * 5 * 7, dtype=np.int32).reshape(2, 5, 7)
KEYS = [
    0,
    -1,
    slice(None),
    slice(1, None),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(9, 1),
    slice(-1, None),
    None,
    ...,
    (0, 1),
    (0, 1, 2),
    (-1, -1, -1),
    (..., 0),
    (0, ...),
    (slice(None), 2),
    (slice(None), slice(1, 4), slice(None, None, 3)),
    (slice(None), slice(4, 0, -2), slice(-1, None, -3)),
    (None, 0, None, ..., None),
    (0, None, slice(1, 2)),
    (..., slice(0, 0)),
    (slice(-100, 100), slice(3, -1), -2),
    np.int64(1),
    (np.int32(-1), slice(None)),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_integers_slices_none_and_ellipsis(key):
    same(Tensor(X)[key], X[key])


def slices(size):
    bound = st.none() | st.integers(-size - 2, size + 2)
    return st.builds(slice, bound, bound, st.none() | st.integers(-3, 3).filter(bool))


@settings(max_examples=60)
@given(st.tuples(slices(2), slices(5), slices(7)))
def test_any_slices(key):
    same(Tensor(X)[key] + 1, X[key] + 1)


@settings(max_examples=30)
@given(st.tuples(slices(7), slices(5)), slices(7))
def test_slices_of_slices(first, second):
    x = X.transpose(2, 1, 0)
    same(Tensor(X).permute(2, 1, 0)[first][second], x[first][second])


INDICES = [[0, 1, 4, 4, 2], [-1, -5, 0], [], [[0, 1], [2, -1]]]


@pytest.mark.parametrize("indices", INDICES, ids=str)
def test_integer_tensors(indices):
    i = np.array(indices, np.int64)
    t, ti = Tensor(X), Tensor(i)
    same(t[:, ti], X[:, i])
    same(t[0, ti], X[0][i])
    same(t[..., ti], X[..., i])
    same(t[:, ti, 1:3], X[:, i, 1:3])
    same(t.take(ti, axis=1), np.take(X, i, axis=1))
    same(t.take(ti % 2, axis=0), np.take(X, i % 2, axis=0))
    same(t.take(ti), np.take(X, i))
    same(t[:, i.astype(np.int32)], X[:, i])


def test_numpys_place_of_axes_wherever_numbers_lists_masks_and_dots_stand():
    """Every order of up to four entries: the shape, and where an ellipsis of no axes stands between entries the
    values too.
    """
    parts, keys = {"i": 1, "l": [0, 1, 1], "s": slice(None, None, 3), "n": None, "d": ...}, []
    for length in (2, 3, 4, 5):
        for letters in itertools.product(parts, repeat=length):
            if (
                letters.count("d") <= 1
                and letters.count("l") >= 1
                and sum(letter in "ils" for letter in letters) <= 3
                and letters.count("n") <= 1
            ):
                keys.append(("".join(letters), tuple(parts[letter] for letter in letters)))
    t = Tensor(X)
    for letters, key in keys:
        assert t[key].shape == X[key].shape, letters
    between = [
        (letters, key)
        for letters, key in keys
        if re.search("[il].*d.*[il]", letters) and sum(letter in "ils" for letter in letters) == 3
    ]
    assert len(keys) > 300 and len(between) > 50
    for _, key in random.Random(2).sample(between, 12):
        same(t[key], X[key])
        same(Tensor(X + 1j)[key], X[key] + 1j)
        y, want = t.clone(), X.copy()
        y[key], want[key] = (value := np.arange(want[key].size).reshape(want[key].shape)), value
        same(y, want)


@pytest.mark.parametrize("name", ["int8", "uint8", "int32", "uint64"])
def test_types_of_indices(name):
    i = np.array([3, 0, 2], name)
    same(Tensor(X)[:, Tensor(i)], X[:, i])


def test_a_list_is_an_integer_tensor():
    same(Tensor(X)[[1, 0, 1]], X[[1, 0, 1]])


def test_gather_and_one_hot(rng):
    i = rng.integers(0, 5, (2, 3, 7))
    same(Tensor(X).gather(1, Tensor(i)), np.take_along_axis(X, i, 1))
    j = rng.integers(0, 7, (2, 5, 4))
    same(Tensor(X).gather(-1, Tensor(j)), np.take_along_axis(X, j, -1))
    k = np.array([[0, 3], [2, 1]])
    same(Tensor(k).one_hot(5), np.eye(5, dtype=np.int64)[k])
    assert Tensor(k).one_hot(5, dtype="float32").dtype.name == "float32"


def test_indexing_of_empty_and_large():
    same(Tensor(np.zeros((0, 3), np.float32))[1:], np.zeros((0, 3)))
    same(Tensor(np.zeros((3, 0), np.float32))[1], np.zeros(0))
    x = np.arange(100003, dtype=np.float32)
    same(Tensor(x)[::997], x[::997])
    same(Tensor(x)[-5:], x[-5:])


def test_rows_of_a_loop():
    x = X[0]
    rows = list(Tensor(x))
    assert len(rows) == len(Tensor(x)) == 5
    strata.realize(rows)
    for t, row in zip(rows, x):
        same(t, row)


@pytest.mark.parametrize(
    "key, kind",
    [
        ((2, 0, 0), None),
        ((0, 5), None),
        ((0, 0, 0, 0), None),
        ((..., ...), None),
        (1.5, None),
        ("a", None),
        (slice(None, None, 0), None),
        ([True, False, True], None),
    ],
)
def test_bad_keys(key, kind):
    with pytest.raises((strata.Error, IndexError)) as e:
        Tensor(X)[key]
    assert str(e.value)


@pytest.mark.parametrize("key", [slice(1.0, None), slice("a"), slice(None, 2.5)])
def test_slices_of_what_is_no_integer(key):
    with pytest.raises(TypeError):
        Tensor(X)[key]


def test_indices_outside_an_array_do_not_pass_unseen():
    for i in (5, -9, 10**6):
        with pytest.raises(strata.MemoryFault):
            Tensor([1.0, 2.0]).take(Tensor([i])).realize()
    assert Tensor([1.0, 2.0]).take(Tensor([-1])).tolist() == [2.0]


def test_an_index_out_of_range_names_axis_and_size():
    with pytest.raises((strata.Error, IndexError), match="5"):
        Tensor(X)[0, 5]
    with pytest.raises(strata.Error, match="float32"):
        Tensor(X)[Tensor([0.5])]


@pytest.mark.parametrize("n", [3, 40, 300, 5000])
def test_indices_that_come_of_reductions(n):
    x, table = np.arange(n) * 7 % n, np.arange(12, dtype=np.int32).reshape(6, 2)
    t = Tensor(x).realize()
    same(Tensor(table).take(t.sum() % 6, 0), table[x.sum() % 6])
    same(Tensor(table).take((t.argmax() + 1) % 6, 0), table[(x.argmax() + 1) % 6])
    same(t.take(t.argmax() - 1) + 1, x[x.argmax() - 1] + 1)


def test_a_bool_is_a_mask_of_a_new_axis():
    t = Tensor(X)
    for key in (True, False, np.True_, np.False_, (True,)):
        same(t[key], X[key])
        same(Tensor(5)[key], np.array(5)[key])
        got, want = Tensor(X.copy()), X.copy()
        got[key] = 7
        want[key] = 7
        same(got, want)
    assert strata.grad(lambda x: (x[True] * 3).sum())(Tensor([1.0, 2.0])).tolist() == [3.0, 3.0]
    with pytest.raises(strata.UsageError, match="stands alone"):
        t[True, 0]


def test_indices_of_gather_may_be_smaller():
    """PyTorch's rule: result[i, j] = x[i, index[i, j]] for the places that there are; of size 1 along another axis they
    are repeated, as NumPy does.
    """
    x = np.arange(60, dtype=np.float32).reshape(4, 5, 3)
    rng = np.random.default_rng(0)
    for axis in range(3):
        for shape in ((4, 5, 3), (2, 5, 3), (3, 4, 2), (2, 2, 2), (2, 7, 2) if axis == 1 else (3, 2, 3), (0, 5, 3)):
            index = rng.integers(-x.shape[axis], x.shape[axis], shape)
            part = x[tuple(slice(None) if i == axis else slice(n) for i, n in enumerate(shape))]
            want = np.take_along_axis(part, index, axis)
            same(Tensor(x).gather(axis, Tensor(index)), want)
            leaf = Tensor(x).requires_grad_()
            if want.size:
                (leaf.gather(axis, Tensor(index)) * Tensor(want + 1)).sum().backward()
                to = np.zeros_like(part)
                for at in np.ndindex(*shape):
                    to[(*at[:axis], index[at], *at[axis + 1 :])] += want[at] + 1
                np.testing.assert_allclose(
                    leaf.grad.numpy(), np.pad(to, [(0, n - m) for n, m in zip(x.shape, to.shape)])
                )
    same(
        Tensor(x).gather(1, Tensor(np.zeros((1, 2, 3), np.int64))),
        np.take_along_axis(x, np.zeros((1, 2, 3), np.int64), 1),
    )
