"""Order: sort, argsort, topk and searchsorted against NumPy; equal elements stay as they were, NaN comes last."""

import numpy as np
import pytest
import strata
from hypothesis import given, strategies as st
from strata import Tensor

TYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]
rng = np.random.default_rng(0)


def values(dtype, shape):
    """With ties, the ends of the type and, in floats, signed zeros, infinities and NaN."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    x = rng.integers(-9 if np.dtype(dtype).kind != "u" else 0, 9, shape).astype(dtype)
    ends = (
        [np.nan, -0.0, 0.0, np.inf, -np.inf]
        if np.dtype(dtype).kind == "f"
        else [np.iinfo(dtype).max, np.iinfo(dtype).min]
    )
    flat = x.reshape(-1)
    for i, end in enumerate(ends * 2):
        if flat.size:
            flat[(i * 7) % flat.size] = end
    return x


def same(tensor, array):
    got = tensor.numpy()
    assert got.shape == array.shape and got.dtype == array.dtype
    np.testing.assert_array_equal(got, array)


@pytest.mark.parametrize("dtype", TYPES)
def test_sort_and_argsort_are_numpys(dtype):
    x = values(dtype, (3, 4, 11))
    for axis in (-1, 0, 1):
        same(Tensor(x).sort(axis), np.sort(x, axis, stable=True))
        same(Tensor(x).argsort(axis), np.argsort(x, axis, stable=True))
    same(Tensor(x).transpose(0, 2).sort(), np.sort(x.swapaxes(0, 2), stable=True))


@pytest.mark.parametrize("n", [1, 2, 64, 511, 513, 1000, 2048, 5000])
def test_axes_of_every_length_are_ordered(n):
    x = rng.integers(0, max(n // 3, 1), (2, n)).astype(np.int32)
    same(Tensor(x).argsort(), np.argsort(x, stable=True))
    same(Tensor(x).sort(descending=True), -np.sort(-x))


def test_a_descending_order_keeps_equal_elements_as_they_were():
    x = np.array([2, 1, 2, 3, 1, 3], np.uint64)
    assert Tensor(x).argsort(descending=True).tolist() == [3, 5, 0, 2, 1, 4]
    assert Tensor([np.nan, 1.0, 3.0]).argsort(descending=True).tolist() == [0, 2, 1]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (), (1, 1)])
def test_nothing_to_order(shape):
    x = np.zeros(shape, np.float32)
    same(Tensor(x).sort(), np.sort(x) if shape else x)
    assert Tensor(x).argsort().shape == shape and Tensor(x).argsort().dtype == strata.int64


def test_topk_gives_the_best_and_where_they_are():
    x = values("float32", (4, 700))
    x[np.isnan(x)] = 0
    for k in (1, 5, 700):
        best, at = Tensor(x).topk(k)
        same(best, -np.sort(-x)[:, :k])
        same(Tensor(x).gather(1, at), best.numpy())
        same(Tensor(x).topk(k, 1, largest=False)[0], np.sort(x)[:, :k])
    assert Tensor(x).topk(0)[0].shape == (4, 0)
    with pytest.raises(strata.UsageError, match="topk"):
        Tensor(x).topk(701)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_is_numpys(dtype, side):
    ordered, wanted = np.sort(values(dtype, 37)), values(dtype, (5, 3))
    same(strata.searchsorted(Tensor(ordered), Tensor(wanted), side=side), np.searchsorted(ordered, wanted, side))
    same(
        strata.searchsorted(
            Tensor(ordered[::-1].copy()), Tensor(wanted), side=side, sorter=Tensor(np.arange(37)[::-1].copy())
        ),
        np.searchsorted(ordered, wanted, side),
    )
    assert strata.searchsorted(Tensor(ordered[:0]), Tensor(wanted)).tolist() == np.zeros((5, 3)).tolist()


def test_wrong_arguments_say_so():
    with pytest.raises(strata.ShapeError, match="searchsorted"):
        strata.searchsorted(Tensor([[1.0]]), Tensor([1.0]))
    with pytest.raises(strata.UsageError, match="'left' or 'right'"):
        strata.searchsorted(Tensor([1.0]), Tensor([1.0]), side="middle")
    with pytest.raises(strata.ShapeError, match="sort"):
        Tensor([1.0]).sort(1)


@given(st.lists(st.floats(width=32), max_size=40))
def test_any_floats_are_ordered(numbers):
    x = np.array(numbers, np.float32)
    same(Tensor(x).argsort(), np.argsort(x, stable=True))


def test_a_gradient_goes_back_to_where_the_values_were():
    x = np.array([3.0, 1.0, 2.0], np.float32)
    g = strata.grad(lambda t: (t.sort() * Tensor([1.0, 10.0, 100.0])).sum())(Tensor(x))
    assert g.tolist() == [100.0, 1.0, 10.0]


def test_a_search_is_one_kernel_and_a_merge_a_few():
    ordered, wanted = (
        Tensor(np.arange(0, 3000, 3, dtype=np.int32)).realize(),
        Tensor(np.arange(50, dtype=np.int32)).realize(),
    )
    strata.reset_stats()
    ordered.searchsorted(wanted).realize()
    assert strata.stats().kernels == 1
    x = Tensor(rng.integers(0, 99, 8192).astype(np.int32)).realize()
    strata.reset_stats()
    x.sort().realize()
    assert strata.stats().kernels < 32
