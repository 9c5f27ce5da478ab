"""Stores at an index into large tensors change these places alone; integers are added up where they go."""

import numpy as np
import pytest
import strata
from strata import Tensor

ROWS, COLUMNS = 1031, 300  # above the size from which elements are stored where the tensor is


def cases(rng):
    """Keys of all kinds; of places that are named twice the last value counts."""
    few = rng.integers(-ROWS, ROWS, 6)
    many = rng.integers(0, ROWS, 90)
    return {
        "one row": few[:1],
        "rows": few,
        "rows again": np.array([5, 7, 5, -1, ROWS - 1]),
        "rows of rows": few.reshape(2, 3),
        "columns": (slice(None), np.array([3, 1, 3])),
        "a part of rows": (few, slice(10, 40, 3)),
        "pairs": (many, rng.integers(0, COLUMNS, 90)),
        "many pairs": (rng.integers(0, 9, 1500), rng.integers(0, 9, 1500)),
        "a number and an array": (3, np.array([1, 1, 2])),
        "a slice": slice(5, 9),
        "an element": (-1, 4),
        "backwards": (slice(90, 80, -2), slice(None, None, -1)),
    }


NAMES = tuple(cases(np.random.default_rng(0)))


def on_device(key):
    parts = key if isinstance(key, tuple) else (key,)
    return tuple(Tensor(p) if isinstance(p, np.ndarray) else p for p in parts)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
def test_a_store_is_numpys(name, arch, rng):
    key = cases(rng)[name]
    x = rng.random((ROWS, COLUMNS), np.float32)
    value = rng.random(x[key].shape, np.float32)
    with strata.config(device=f"emu:{arch}", target="asm", check="raise"):
        t = Tensor(x).realize()
        before = t + 0
        t[on_device(key)] = Tensor(value)
        after = x.copy()
        after[key] = value
        assert np.array_equal(t.numpy(), after)
        assert np.array_equal(before.numpy(), x)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "int64"])
def test_every_type_is_stored(dtype, rng):
    x = rng.integers(0, 2, (ROWS, 1024)).astype(dtype)
    value = rng.integers(0, 2, (3, 1024)).astype(dtype)
    for target in ("asm", "hip"):
        with strata.config(target=target):
            t = Tensor(x).realize()
            t[Tensor([4, 0, 4])] = Tensor(value)
            after = x.copy()
            after[[4, 0, 4]] = value
            assert np.array_equal(t.numpy(), after)


def test_scatter_into_a_large_tensor(rng):
    x = rng.random((ROWS, COLUMNS), np.float32)
    places, values = rng.integers(0, ROWS, (4, COLUMNS)), rng.random((4, COLUMNS), np.float32)
    after = x.copy()
    for row in range(4):
        after[places[row], np.arange(COLUMNS)] = values[row]
    got = Tensor(x).realize().scatter(0, Tensor(places), Tensor(values))
    assert np.array_equal(got.numpy(), after)


def test_gradients_go_to_the_values_that_stayed(rng):
    """And to the values stored, of which the last for a place counts; the gradients' own are those of a product."""
    x, w = rng.random((ROWS, COLUMNS), np.float32), rng.random((ROWS, COLUMNS), np.float32)
    value, rows = rng.random((3, COLUMNS), np.float32), np.array([7, 2, 7])

    def loss(y, v):
        y[Tensor(rows)] = v
        return (y.square() * Tensor(w)).sum()

    y, v = Tensor(x).realize(), Tensor(value).realize()
    of_y, of_v = 2 * x * w, 2 * value * w[rows]
    of_y[rows], of_v[0] = 0, 0
    for got, expected in zip(strata.grad(loss, (0, 1))(y, v), (of_y, of_v), strict=True):
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)
    assert np.array_equal(y.numpy(), x)
    twice = strata.grad(lambda y, v: strata.grad(loss, 1)(y, v).sum(), 1)(y, v).numpy()
    np.testing.assert_allclose(twice, np.where(np.array([[False], [True], [True]]), 2 * w[rows], 0), rtol=1e-6)


def test_a_cache_is_written_where_it_is():
    """Its time is that of the rows: all of the cache takes longer."""
    cache = Tensor.zeros(32768, 256, dtype="float16").contiguous().realize()
    rows = Tensor(np.ones((4, 256), np.float16)).realize()
    slots = Tensor(np.arange(3, 7, dtype=np.int32)).realize()
    strata.reset_stats()
    cache[slots] = rows
    cache.realize()
    stats = strata.stats()
    assert stats.kernels <= 4
    assert stats.time_ms < 0.02
    assert np.array_equal(cache.numpy()[:, 0], (np.arange(32768) >= 3) & (np.arange(32768) < 7))


@pytest.mark.parametrize("bins", [300, 70000])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64"])
def test_integers_are_added_up_in_any_number(bins, dtype, rng):
    """In local memory and in that of all blocks."""
    info = np.iinfo(dtype)
    places = rng.integers(0, bins, 60000)
    values = rng.integers(info.min, info.max, 60000, dtype, endpoint=True)
    start = rng.integers(info.min, info.max, bins, dtype, endpoint=True)
    expected = start.copy()
    np.add.at(expected, places, values)
    for target in ("asm", "hip") if dtype == "int32" else ("asm",):
        with strata.config(target=target, check="raise"):
            assert np.array_equal(Tensor(start).scatter_add(0, Tensor(places), Tensor(values)).numpy(), expected)
