"""Shapes that powers of two do not divide, or with narrow sides: their kernels are near what memory or arithmetic
allows, and right.
"""

import math

import numpy as np
import pytest
import strata
from strata import Tensor
from strata.nn import functional as F
from strata_tools.bench.shapes import GB_PER_S, TFLOP_PER_S

pytestmark = pytest.mark.amd  # times are modelled


def gradient_by_weights(x, g):
    weights = Tensor.empty(g.shape[1], x.shape[1], 3)  # none is read
    return strata.grad(lambda w: (F.conv1d(x, w, padding=1) * g).sum())(weights)


def gradient_of_arrays(x, g):
    padded, n = np.pad(x, ((0, 0), (0, 0), (1, 1))), x.shape[2]
    return np.stack([np.einsum("bcp,bkp->kc", padded[:, :, i : i + n], g) for i in range(3)], axis=-1)


def windows_of_one(x, w):
    return F.conv2d(x, w, padding=2, stride=2)


def windows_of_arrays(x, w):
    padded, n = np.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2))), x.shape[2]
    return sum(
        np.einsum("bchw,kc->bkhw", padded[:, :, i : i + n : 2, j : j + n : 2], w[:, :, i, j])
        for i in range(5)
        for j in range(5)
    )


# name: (tensors to tensor, arrays to array, shapes whose values are checked, shapes whose time is modelled, times the
# least time at most, operations)
CASES = {
    "narrow results of a transpose": (lambda x: x.T.contiguous(), lambda x: x.T, [(1009, 3)], [(2490855, 3)], 1.2, 0),
    "15 columns transposed": (lambda x: x.T.contiguous(), lambda x: x.T, [(1201, 15)], [(144701, 15)], 1.2, 0),
    "15 rows transposed": (lambda x: x.T.contiguous(), lambda x: x.T, [(15, 1201)], [(15, 144701)], 1.2, 0),
    "narrow on both sides": (
        lambda x: x.permute(0, 3, 2, 1).contiguous(),
        lambda x: x.transpose(0, 3, 2, 1),
        [(3, 2, 403, 7)],
        [(19, 2, 8002, 7)],
        1.3,
        0,
    ),
    "narrow in the middle": (
        lambda x: x.permute(0, 2, 1).contiguous(),
        lambda x: x.transpose(0, 2, 1),
        [(5, 403, 4)],
        [(124, 5435, 4)],
        1.3,
        0,
    ),
    "rows of 6 from far apart": (
        lambda x: x.permute(2, 1, 0).contiguous(),
        lambda x: x.transpose(2, 1, 0),
        [(6, 203, 41)],
        [(6, 3877, 239)],
        1.4,
        0,
    ),
    "runs of 23 that stay": (
        lambda x: x.permute(2, 0, 1, 3).contiguous(),
        lambda x: x.transpose(2, 0, 1, 3),
        [(8, 31, 8, 23)],
        [(64, 998, 8, 23)],
        1.4,
        0,
    ),
    "variance down 41 columns": (lambda x: x.var(0), lambda x: x.var(0), [(28002, 41)], [(28002, 41)], 1.3, 0),
    "argmax down 41 columns": (lambda x: x.argmax(0), lambda x: x.argmax(0), [(28002, 41)], [(28002, 41)], 1.3, 0),
    "pixels of four channels added up": (
        lambda x: x.sum((0, 2)),
        lambda x: x.sum((0, 2)),
        [(403, 35, 4)],
        [(5595, 356, 4)],
        1.3,
        0,
    ),
    "few rows by an odd matrix": (
        lambda a, b: a @ b.T,
        lambda a, b: a @ b.T,
        [(10, 1000), (301, 1000)],
        [(10, 18872), (1103, 18872)],
        1.3,
        2 * 10 * 18872 * 1103,
    ),
    "few rows and columns, long": (
        lambda a, b: a @ b,
        np.matmul,
        [(25, 1 << 15), (1 << 15, 30)],
        [(95, 1 << 17), (1 << 17, 30)],
        1.3,
        2 * 95 * 30 << 17,
    ),
    "windows of ten channels into one": (
        windows_of_one,
        windows_of_arrays,
        [(9, 10, 86, 86), (1, 10, 5, 5)],
        [(9, 10, 256, 256), (1, 10, 5, 5)],
        1.7,
        2 * 9 * 128**2 * 250,
    ),
    "few weights of many products": (
        gradient_by_weights,
        gradient_of_arrays,
        [(8, 13, 4096), (8, 17, 4096)],
        [(8, 13, 1 << 16), (8, 17, 1 << 16)],
        9,
        2 * 8 * 13 * 17 * 3 << 16,
    ),
    "weights of a row and a half of threads": (
        gradient_by_weights,
        gradient_of_arrays,
        [(9, 24, 1943), (9, 16, 1943)],
        [(9, 24, 19431), (9, 16, 19431)],
        6,
        2 * 9 * 24 * 16 * 3 * 19431,
    ),
}


def least_ms(shapes, y, operations):
    moved = sum(4 * math.prod(shape) for shape in shapes) + y.nbytes
    return 0.0025 + max(moved / GB_PER_S * 1e-6, operations / TFLOP_PER_S * 1e-9)


@pytest.mark.parametrize("name", CASES)
def test_the_modelled_time_is_near_that_of_the_bytes_or_operations(name):
    call, _, _, shapes, most, operations = CASES[name]
    with strata.config(device="emu:gfx1100", target="asm", emu_sampled=True):
        x = [Tensor.empty(*shape).realize() for shape in shapes]
        strata.reset_stats()
        y = call(*x).realize()
        assert strata.stats().time_ms < most * least_ms(shapes, y, operations)


@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("name", CASES)
def test_the_values_are_right(name, target, rng):
    call, reference, shapes = CASES[name][:3]
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    with strata.config(device="emu:gfx1100", target=target):
        got = call(*[Tensor(a) for a in arrays]).numpy()
    want = reference(*[a.astype(np.float64) for a in arrays])
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())
