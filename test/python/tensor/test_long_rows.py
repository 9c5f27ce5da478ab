"""Rows that no block holds: what reduces them, and reduces them again less the result, reads them once."""

import numpy as np
import pytest
import strata
from strata import Tensor


def lse(x, axis):
    top = x.max(axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore", over="ignore"):
        return np.log(np.exp(x - top).sum(axis)) + np.squeeze(top, axis)


PAIRS = {
    "var": (lambda x, axis: x.var(axis), lambda x, axis: x.var(axis)),
    "std": (lambda x, axis: x.std(axis), lambda x, axis: x.std(axis)),
    "logsumexp": (lambda x, axis: x.logsumexp(axis), lse),
}
FEW_COLUMNS = (1 << 15, 4)  # whose blocks have few threads: what they leave is a kernel of its own
SHAPES = [
    ((1 << 17,), 0),
    ((100_003,), 0),
    ((3, 1 << 16), 1),
    ((5, 40_009), 1),
    (FEW_COLUMNS, 0),
    ((33_333, 3), 0),
    ((8200, 40), 0),
]


@pytest.mark.parametrize("device", ["emu:gfx1100", "emu:gfx942"])
@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("name", PAIRS)
def test_two_reductions_are_one_kernel(name, target, device, rng):
    of_tensor, of_array = PAIRS[name]
    with strata.config(device=device, target=target):
        for shape, axis in SHAPES:
            x = rng.standard_normal(shape).astype(np.float32)
            t = of_tensor(Tensor(x), axis)
            assert len(strata.compile(t, arch=device[4:]).kernels) == 1 + (shape == FEW_COLUMNS), shape
            np.testing.assert_allclose(t.numpy(), of_array(x.astype(np.float64), axis), rtol=1e-5)


@pytest.mark.parametrize("target", ["hip", "asm"])
def test_softmax_and_normalised_rows_are_two(target, rng):
    x = rng.standard_normal((2, 1 << 16)).astype(np.float32)
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(-1, keepdims=True))
    with strata.config(target=target):
        t = Tensor(x)
        soft, norm = t.softmax(-1), (t - t.mean(-1, keepdims=True)) / (t.var(-1, keepdims=True) + 1e-5).sqrt()
        assert len(strata.compile(soft).kernels) == len(strata.compile(norm).kernels) == 2
        np.testing.assert_allclose(soft.numpy(), e / e.sum(-1, keepdims=True), rtol=1e-5)
        np.testing.assert_allclose(
            norm.numpy(),
            (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5),
            rtol=1e-4,
            atol=1e-5,
        )


def test_x_is_read_once():
    x = Tensor.ones(1 << 20).realize()
    for of in (Tensor.var, Tensor.logsumexp):
        strata.reset_stats()
        of(x).realize()
        assert strata.stats().kernels == 1
        assert 4 << 20 <= strata.stats().bytes < (4 << 20) + 16384


@pytest.mark.parametrize("target", ["hip", "asm"])
def test_variance_far_from_zero_is_of_the_deviations(target, rng):
    with strata.config(target=target):
        for offset in (1e3, 1e6):
            x = (rng.standard_normal(100_003) + offset).astype(np.float32)
            np.testing.assert_allclose(Tensor(x).var().numpy(), x.astype(np.float64).var(), rtol=2e-5)
        for value in (0.1, 1e6 + 0.5):
            assert abs(Tensor(np.full(100_003, value, np.float32)).std().item()) <= 1e-6 * value
        n = rng.integers(-1000, 1000, 100_003).astype(np.int32)
        np.testing.assert_allclose(Tensor(n).var().numpy(), n.astype(np.float64).var(), rtol=1e-5)


@pytest.mark.parametrize("target", ["hip", "asm"])
def test_infinities_and_nans_go_through(target, rng):
    x = rng.standard_normal((6, 40_009)).astype(np.float32)
    x[0] = -np.inf
    x[1, 8192:] = -np.inf
    x[2, 17] = np.inf
    x[3, 30_000] = np.nan
    x[4] -= 300
    x[4, :20_000] = -np.inf
    with strata.config(target=target):
        np.testing.assert_allclose(Tensor(x).logsumexp(-1).numpy(), lse(x.astype(np.float64), -1), rtol=1e-5)
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(Tensor(x).var(-1).numpy(), x.astype(np.float64).var(-1), rtol=1e-5)


def test_of_no_elements_there_is_nothing_to_divide():
    assert Tensor.zeros(0, 1 << 16).var(-1).numpy().shape == (0,)
    assert np.isnan(Tensor.zeros(0).var().item())


@pytest.mark.emulated
@pytest.mark.parametrize("target", ["hip", "asm"])
def test_attention_over_keys_that_no_block_holds_is_right_and_no_slower_than_one_kernel(target, rng):
    with strata.config(target=target):
        for rows, keys in ((2, 1 << 15), (32, 1 << 15), (64, (1 << 15) - 1)):
            q, k, v = (rng.standard_normal((n, 64)).astype(np.float32) for n in (rows, keys, keys))
            wide = q.astype(np.float64) @ k.astype(np.float64).T / 8
            weights = np.exp(wide - wide.max(-1, keepdims=True))
            tensors = [Tensor(x).realize() for x in (q, k, v)]
            times = {}
            for fusion in ("cost", "more"):
                with strata.config(fusion=fusion, emu_timed=True):
                    strata.reset_stats()
                    got = strata.functional.scaled_dot_product_attention(*tensors).numpy()
                    times[fusion] = strata.stats().time_ms
                np.testing.assert_allclose(got, weights @ v / weights.sum(-1, keepdims=True), rtol=1e-3, atol=1e-4)
            assert rows == 2 or times["cost"] < times["more"], times
            assert times["cost"] < 0.12, times


@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_place_of_an_extreme_is_one_kernel_and_the_first(name, target, rng):
    with strata.config(target=target):
        for shape, axis in SHAPES:
            for dtype in (np.float32, np.float16, np.int32, np.uint8, np.float64):
                x = rng.integers(0, 100, shape).astype(dtype)  # many are equal
                t = getattr(Tensor(x), name)(axis)
                assert len(strata.compile(t).kernels) == 1 + (shape == FEW_COLUMNS), (shape, dtype)
                np.testing.assert_array_equal(t.numpy(), getattr(np, name)(x, axis))


@pytest.mark.parametrize("target", ["hip", "asm"])
def test_squares_that_no_float_holds_are_infinite(target, rng):
    x = rng.standard_normal((2, 65_539)).astype(np.float32)
    x[0, 1000], x[1, 1000] = 1e30, 1e18
    with strata.config(target=target):
        np.testing.assert_allclose(Tensor(x).var(1).numpy(), [np.inf, x[1].astype(np.float64).var()], rtol=1e-5)


@pytest.mark.parametrize("target", ["hip", "asm"])
def test_the_place_of_an_extreme_among_infinities_and_nans(target, rng):
    x = rng.standard_normal((6, 40_009)).astype(np.float32)
    x[0] = -np.inf
    x[1] = np.inf
    x[2, [30_000, 40_008]] = np.nan
    x[3, :] = np.nan
    x[4, 40_008], x[5, 8191] = np.inf, -np.inf
    with strata.config(target=target):
        np.testing.assert_array_equal(Tensor(x).argmax(1).numpy(), x.argmax(1))
        np.testing.assert_array_equal(Tensor(x).argmin(1).numpy(), x.argmin(1))
        t = Tensor(x)
        first, top = t.argmax(1), t.max(1)
        assert len(strata.compile([first, top]).kernels) == 1
        np.testing.assert_array_equal(top.numpy(), x.max(1))
        masked = strata.where(t > 0, t, 0)
        np.testing.assert_array_equal(masked.argmax(1).numpy(), np.where(x > 0, x, 0).argmax(1))


@pytest.mark.emulated
@pytest.mark.usual_schedules
def test_narrow_columns_are_read_as_fast_as_rows(rng):
    for width in (2, 4, 8, 16, 20, 32, 64):
        x = Tensor(rng.standard_normal(((1 << 22) // width, width)).astype(np.float32)).realize()
        for of in (Tensor.sum, Tensor.max):
            strata.reset_stats()
            of(x, 0).realize()
            assert strata.stats().bytes / strata.stats().time_ms > 0.6e9, (width, of)
