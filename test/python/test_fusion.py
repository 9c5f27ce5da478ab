"""What becomes one kernel, by counts of kernels and what they compute; codegen/schedule decides it."""

import numpy as np
import pytest

import strata
from strata import Tensor


def normalised(x):
    return (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + 1e-5).sqrt()


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


ROWS = {
    "softmax": (lambda x: x.softmax(-1), softmax),
    "log_softmax": (lambda x: x.log_softmax(-1), lambda x: np.log(softmax(x))),
    "layernorm": (normalised, lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)),
    "rmsnorm": (lambda x: x / (x.square().mean(-1, keepdims=True) + 1e-5).sqrt(), lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)),
    "var": (lambda x: x.var(-1), lambda x: x.var(-1)),
    "std": (lambda x: x.std(-1), lambda x: x.std(-1)),
    "argmax": (lambda x: x.argmax(-1), lambda x: x.argmax(-1)),
    "entropy": (lambda x: -(x.softmax(-1) * x.log_softmax(-1)).sum(-1), lambda x: -(softmax(x) * np.log(softmax(x))).sum(-1)),
}


@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("columns", [3, 32, 33, 100, 257, 1024, 5000])
@pytest.mark.parametrize("name", ROWS)
def test_what_needs_a_row_again_is_one_kernel(name, columns, target, rng):
    of_tensor, of_array = ROWS[name]
    x = rng.standard_normal((2, 5, columns)).astype(np.float32)
    with strata.config(target=target):
        t = of_tensor(Tensor(x))
        assert len(strata.compile(t).kernels) == 1
        np.testing.assert_allclose(t.numpy(), of_array(x.astype(np.float64)), rtol=3e-5, atol=3e-6)


@pytest.mark.parametrize("arch", ["gfx1201", "gfx942", "gfx90a"])
@pytest.mark.parametrize("name", ROWS)
def test_rows_on_every_arch(name, arch, rng):
    of_tensor, of_array = ROWS[name]
    x = rng.standard_normal((9, 300)).astype(np.float32)
    for target in ("hip", "asm"):
        with strata.config(device=f"emu:{arch}", target=target, check="raise"):
            np.testing.assert_allclose(of_tensor(Tensor(x)).numpy(), of_array(x.astype(np.float64)), rtol=3e-5, atol=3e-6)


def test_an_activation_stays_with_the_product_before_it():
    x, w, b = Tensor.empty(64, 32), Tensor.empty(32, 48), Tensor.empty(48)
    assert len(strata.compile((x @ w + b).gelu()).kernels) == 1


def test_a_row_is_read_and_written_once():
    x = Tensor.ones(256, 4096).realize()
    strata.reset_stats()
    x.softmax(-1).realize()
    assert strata.stats().bytes == 2 * 256 * 4096 * 4


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


def test_large_products_have_large_tiles(rng):
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((512, 64), (64, 1024)))
    t = Tensor(a) @ Tensor(b).permute(1, 0).contiguous().permute(1, 0)
    (kernel,) = strata.compile(t).kernels[-1:]
    assert kernel.block == [8, 16, 1] and kernel.grid == [8, 8, 1]
    np.testing.assert_array_equal(t.numpy(), a @ b)
