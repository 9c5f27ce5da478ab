"""Every way that rows are put in order: in one block, by merges, by selection in one part and in several."""

import numpy as np
import pytest
import strata
from strata import Tensor

TYPES = {
    "gfx1100": ("bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64"),
    "gfx942": ("float32", "int64", "float16"),  # an item of each size
}
CASES = [(arch, dtype) for arch in TYPES for dtype in TYPES[arch]]
# A block orders 4096 items at most, 2048 of 64-bit values; a selection takes rows of 1024 and more.
LENGTHS = ((40, 3), (7, 129), (2, 4097), (1, 8201))
COUNTS = (1, 8, 200)


def drawn(rng, dtype, shape):
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        wide = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        return np.where(rng.random(shape) < 0.5, wide, wide % 5).astype(dtype)
    x = rng.normal(size=shape).astype(dtype)
    for value in (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0):
        x[rng.random(shape) < 0.04] = value
    return x


def stable_order(x, descending):
    """NaN is the largest value, -0 is 0, equal ones stay as they are."""
    ranks = np.unique(np.where(x == 0, 0, x).astype(x.dtype), return_inverse=True)[1].reshape(x.shape)
    return np.argsort(-ranks if descending else ranks, axis=1, kind="stable")


def taken(x, order):
    return np.take_along_axis(x, order, 1).tobytes()


@pytest.mark.parametrize(("arch", "dtype"), CASES)
def test_orders_of_all_lengths_are_stable(arch, dtype, rng):
    with strata.config(device=f"emu:{arch}", target="asm", check="raise"):
        for shape in LENGTHS:
            x = drawn(rng, dtype, shape)
            for descending in (False, True):
                order = stable_order(x, descending)
                assert np.array_equal(Tensor(x).argsort(1, descending=descending).numpy(), order), shape
            assert Tensor(x).sort(1, descending=True).numpy().tobytes() == taken(x, order), shape


@pytest.mark.parametrize(("arch", "dtype"), CASES)
def test_the_best_are_the_first_of_the_order(arch, dtype, rng):
    with strata.config(device=f"emu:{arch}", target="asm", check="raise"):
        for shape in LENGTHS[1:]:
            x = drawn(rng, dtype, shape)
            for largest in (True, False):
                order = stable_order(x, largest)
                for k in (k for k in COUNTS if k <= shape[1]):
                    values, places = Tensor(x).topk(k, largest=largest)
                    assert np.array_equal(places.numpy(), order[:, :k]), (shape, k)
                    assert values.numpy().tobytes() == taken(x, order[:, :k]), (shape, k)


@pytest.mark.parametrize("rows", ["ascending", "descending", "equal", "in one thread"])
def test_no_order_of_the_values_is_too_much_for_a_selection(rows):
    """Those that fill the queues of its threads as they come, and those that all go to one thread's."""
    n, k = 9001, 100
    x = np.arange(n, dtype=np.float32)
    x = {"ascending": x, "descending": -x, "equal": x * 0, "in one thread": np.where(x % 256 == 3, x, -x)}[rows]
    with strata.config(device="emu:gfx1100", target="asm", check="raise"):
        values, places = Tensor(x).topk(k)
        assert np.array_equal(places.numpy(), np.argsort(-x, kind="stable")[:k])
        assert np.array_equal(values.numpy(), np.sort(x)[::-1][:k])


@pytest.mark.parametrize("kind", ["one block", "merges", "selection"])
def test_hip_orders_as_asm_does(kind, rng):
    x = drawn(rng, "float32", {"one block": (5, 100), "merges": (1, 5000), "selection": (3, 3000)}[kind])
    k = 9 if kind == "selection" else x.shape[1]
    with strata.config(device="emu:gfx1100", target="hip"):
        assert np.array_equal(Tensor(x).topk(k)[1].numpy(), stable_order(x, True)[:, :k])


def test_rows_are_ordered_in_few_kernels(rng):
    """The last of them takes the values where they are."""
    x = Tensor(rng.random((16, 65536), np.float32)).realize()
    small = Tensor(rng.random((64, 128), np.float32)).realize()

    def kernels(run):
        strata.reset_stats()
        strata.realize(*run())
        return strata.stats().kernels

    with strata.config(target="asm"):
        assert kernels(lambda: [small.argsort(1)]) <= 2
        assert kernels(lambda: small.topk(6)) <= 3
        assert kernels(lambda: x.topk(64)) <= 5
        assert kernels(lambda: [x.sort(1)]) <= 6
