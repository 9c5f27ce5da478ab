"""Fusion into one kernel, by counts of kernels and what they compute; codegen/schedule decides it."""

import numpy as np
import pytest
import strata
from strata import Tensor


def normalised(x, axis):
    return (x - x.mean(axis, keepdims=True)) / (x.var(axis, keepdims=True) + 1e-5).sqrt()


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


ROWS = {
    "softmax": (lambda x, axis: x.softmax(axis), softmax),
    "log_softmax": (lambda x, axis: x.log_softmax(axis), lambda x, axis: np.log(softmax(x, axis))),
    "layernorm": (
        normalised,
        lambda x, axis: (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5),
    ),
    "rmsnorm": (
        lambda x, axis: x / (x.square().mean(axis, keepdims=True) + 1e-5).sqrt(),
        lambda x, axis: x / np.sqrt((x * x).mean(axis, keepdims=True) + 1e-5),
    ),
    "var": (lambda x, axis: x.var(axis), lambda x, axis: x.var(axis)),
    "std": (lambda x, axis: x.std(axis), lambda x, axis: x.std(axis)),
    "argmax": (lambda x, axis: x.argmax(axis), lambda x, axis: x.argmax(axis)),
    "entropy": (
        lambda x, axis: -(x.softmax(axis) * x.log_softmax(axis)).sum(axis),
        lambda x, axis: -(softmax(x, axis) * np.log(softmax(x, axis))).sum(axis),
    ),
}


@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("columns", [3, 32, 33, 100, 257, 1024, 5000])
@pytest.mark.parametrize("name", ROWS)
def test_what_needs_a_row_again_is_one_kernel(name, columns, target, rng):
    of_tensor, of_array = ROWS[name]
    x = rng.standard_normal((2, 5, columns)).astype(np.float32)
    with strata.config(target=target):
        t = of_tensor(Tensor(x), -1)
        assert len(strata.compile(t).kernels) == 1
        np.testing.assert_allclose(t.numpy(), of_array(x.astype(np.float64), -1), rtol=3e-5, atol=3e-6)


@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize(
    "shape, axis",
    [((5, 3, 2), 1), ((64, 300), 0), ((3, 100, 33), 1), ((2, 1000, 257), 1), ((4, 17, 5, 7), 1), ((3000, 256), 0)],
)
@pytest.mark.parametrize("name", ROWS)
def test_rows_whose_neighbours_in_memory_are_of_other_rows_are_one_kernel_too(name, shape, axis, target, rng):
    of_tensor, of_array = ROWS[name]
    x = rng.standard_normal(shape).astype(np.float32)
    with strata.config(target=target):
        t = of_tensor(Tensor(x), axis)
        assert len(strata.compile(t).kernels) == 1
        np.testing.assert_allclose(t.numpy(), of_array(x.astype(np.float64), axis), rtol=3e-5, atol=3e-6)


@pytest.mark.parametrize("arch", ["gfx1201", "gfx942", "gfx90a"])
@pytest.mark.parametrize("name", ROWS)
def test_rows_on_every_arch(name, arch, rng):
    of_tensor, of_array = ROWS[name]
    x = rng.standard_normal((9, 300)).astype(np.float32)
    for target in ("hip", "asm"):
        with strata.config(device=f"emu:{arch}", target=target, check="raise"):
            for axis in (0, 1):
                np.testing.assert_allclose(
                    of_tensor(Tensor(x), axis).numpy(), of_array(x.astype(np.float64), axis), rtol=3e-5, atol=3e-6
                )


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx90a"])
@pytest.mark.parametrize("target", ["hip", "asm"])
def test_channels_that_fit_a_block_are_normalised_by_one_kernel(target, arch, rng):
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        for shape, axes in (
            ((8, 16, 14, 14), (0, 2, 3)),
            ((4, 3, 5, 7), (0, 2, 3)),
            ((2, 40, 9, 9), (0, 2, 3)),
            ((3, 4, 5, 6), (1, 3)),
            ((2, 3, 4, 5, 6), (0, 2, 4)),
        ):
            x = rng.standard_normal(shape).astype(np.float32)
            t = normalised(Tensor(x), axes)
            assert len(strata.compile(t).kernels) == 1
            wide = x.astype(np.float64)
            np.testing.assert_allclose(
                t.numpy(),
                (wide - wide.mean(axes, keepdims=True)) / np.sqrt(wide.var(axes, keepdims=True) + 1e-5),
                rtol=3e-5,
                atol=3e-6,
            )
            np.testing.assert_allclose(Tensor(x).var(axes).numpy(), wide.var(axes), rtol=3e-5)


def test_an_activation_stays_with_the_product_before_it():
    x, w, b = Tensor.empty(64, 32), Tensor.empty(32, 48), Tensor.empty(48)
    assert len(strata.compile((x @ w + b).gelu()).kernels) == 1


def test_a_row_is_read_and_written_once():
    x = Tensor.ones(512, 4096).realize()
    for axis in (0, 1):
        strata.reset_stats()
        x.softmax(axis).realize()
        assert strata.stats().bytes == 2 * 512 * 4096 * 4


@pytest.mark.usual_schedules
@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx90a"])
@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_products_by_way_of_local_memory(arch, target, dtype, rng):
    a, b, c = (rng.integers(-4, 5, shape).astype(dtype) for shape in ((192, 96), (96, 160), (160,)))
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        t = Tensor(a) @ Tensor(b) + Tensor(c)
        (kernel,) = strata.compile(t, arch=arch).kernels
        assert kernel.lds > 0
        np.testing.assert_array_equal(t.numpy(), a @ b + c)


@pytest.mark.emulated
def test_large_products_have_large_tiles(rng):
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((512, 64), (64, 1024)))
    t = Tensor(a) @ Tensor(b).permute(1, 0).contiguous().permute(1, 0)
    (kernel,) = strata.compile(t).kernels[-1:]
    assert sorted(kernel.block) == [1, 8, 8] and kernel.grid == [16, 8, 1]
    np.testing.assert_array_equal(t.numpy(), a @ b)
