"""Running sums and products as kernels: values against NumPy, what they read and write."""

import numpy as np
import pytest
import strata
from strata import Tensor

LENGTHS = [1, 7, 64, 1000, 4096, 5000, 100000]
ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]


def kernels(tensor):
    return len(strata.compile(tensor).kernels)


@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("n", LENGTHS)
def test_running_sums_of_every_length(n, target, rng):
    x = rng.integers(-4, 5, (3, n)).astype(np.float32)
    with strata.config(target=target):
        t = Tensor(x)
        assert kernels(t.cumsum(-1) * 2) == (
            1 if n < 1 << 15 else 4
        )  # of long rows a kernel for their blocks' totals, and theirs
        np.testing.assert_array_equal(t.cumsum(-1).numpy(), x.cumsum(-1))
        np.testing.assert_array_equal(
            (Tensor(x.astype(np.int32)) * 3 - 1).cumsum(-1).numpy(), (x.astype(np.int64) * 3 - 1).cumsum(-1)
        )
        odd = np.where(x > 0, 1, -1)
        np.testing.assert_array_equal(Tensor(odd).cumprod(-1).numpy(), odd.cumprod(-1))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "int64", "uint32"])
def test_running_sums_on_every_arch(arch, target, dtype, rng):
    x = rng.integers(0, 3, (5, 1300)).astype(dtype)
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        for axis in (0, 1):
            np.testing.assert_array_equal(Tensor(x).cumsum(axis).numpy(), x.astype(np.float64).cumsum(axis))
        np.testing.assert_array_equal(Tensor(x[:, :9]).cumsum(1, dtype=dtype).numpy(), x[:, :9].cumsum(1, dtype=dtype))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"])
def test_running_extremes_on_every_arch(arch, target, dtype, rng):
    x = (
        rng.integers(0, 2, (5, 1300)).astype(dtype)
        if dtype == "bool"
        else rng.integers(0 if dtype == "uint8" else -99, 99, (5, 1300)).astype(dtype)
    )
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        for axis in (0, 1):
            np.testing.assert_array_equal(Tensor(x).cummax(axis).numpy(), np.maximum.accumulate(x, axis))
            np.testing.assert_array_equal(Tensor(x).cummin(axis).numpy(), np.minimum.accumulate(x, axis))
        assert Tensor(x).cummax(0).numpy().dtype == x.dtype


@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("n", LENGTHS)
def test_running_extremes_of_every_length(n, target, rng):
    x = -rng.random((3, n)).astype(np.float32) - 1
    with strata.config(target=target):
        assert kernels(Tensor(x).cummax(-1) * 2) == (1 if n < 1 << 15 else 4)
        np.testing.assert_array_equal(Tensor(x).cummax(-1).numpy(), np.maximum.accumulate(x, -1))
        np.testing.assert_array_equal((-Tensor(x)).cummin(-1).numpy(), np.minimum.accumulate(-x, -1))
        x[1, n // 2 :] = np.nan
        np.testing.assert_array_equal(Tensor(x).cummax(-1).numpy(), np.maximum.accumulate(x, -1))


def test_running_extremes_of_shapes_without_rows_and_of_wrong_axes():
    assert Tensor.ones(2, 0).cummax(1).shape == (2, 0)
    assert Tensor.ones(4).cummin().shape == (4,)
    with pytest.raises(strata.Error, match="cummax.*name the one to run along"):
        Tensor.ones(2, 3).cummax()
    with pytest.raises(strata.ShapeError, match="cummin"):
        Tensor.ones(2, 3).cummin(2)


@pytest.mark.parametrize("target", ["hip", "asm"])
def test_errors_stay_those_of_the_sums_of_a_tree(target, rng):
    x = rng.standard_normal((4, 20000)).astype(np.float32)
    exact = x.astype(np.float64).cumsum(-1)
    with strata.config(target=target):
        got = Tensor(x).cumsum(-1).numpy()
    assert np.max(np.abs(got - exact) / np.abs(x).cumsum(-1)) < 24 * 2.0**-24


@pytest.mark.parametrize(
    "shape, axis", [((64, 4096), -1), ((4096, 64), 0), ((3, 700, 33), 1), ((100, 100), 1)], ids=str
)
def test_a_running_sum_reads_and_writes_once(shape, axis, rng):
    x = rng.integers(-4, 5, shape).astype(np.float32)
    t = Tensor(x).realize()
    strata.reset_stats()
    got = ((t * 2).cumsum(axis) + 1).realize()
    assert strata.stats().kernels == 1
    assert strata.stats().bytes == 2 * 4 * x.size
    np.testing.assert_array_equal(got.numpy(), (x * 2).cumsum(axis) + 1)


@pytest.mark.usual_schedules
def test_a_row_is_reduced_and_scanned_by_one_kernel(rng):
    x = rng.standard_normal((6, 1000)).astype(np.float32)
    t = Tensor(x).softmax(-1).cumsum(-1)
    assert kernels(t) == 1
    e = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(t.numpy(), (e / e.sum(-1, keepdims=True)).cumsum(-1), rtol=2e-6)


def test_nothing_leaks_from_behind_an_element(rng):
    x = np.ones((3, 500), np.float32)
    x[0, 200], x[1, 100], x[2, 499] = np.nan, np.inf, -np.inf
    np.testing.assert_array_equal(Tensor(x).cumsum(-1).numpy(), x.cumsum(-1))
    np.testing.assert_array_equal(Tensor(x).cumprod(-1).numpy(), x.cumprod(-1))


@pytest.mark.parametrize("axis", [0, 1])
def test_a_search_keeps_the_values(axis, rng, tmp_path):
    x = rng.integers(-4, 5, (96, 160)).astype(np.float32)
    with strata.config(beam=2, cache_dir=str(tmp_path)):
        np.testing.assert_array_equal(Tensor(x).cumsum(axis).numpy(), x.cumsum(axis))
