"""A batch norm and its gradients over many pixels: its sums are of two stages, in any order of memory."""

import numpy as np
import pytest
import strata
from strata import Tensor

SHAPES = [(4, 8, 128, 128), (3, 20, 101, 103)]
PLACES = [("gfx1100", "asm"), ("gfx942", "asm"), ("gfx1100", "hip")]


def batch_norm(x, weight, bias):
    off = x - x.mean((0, 2, 3), True)
    scale = 1.0 / ((off * off).mean((0, 2, 3), True) + 1e-5).sqrt()
    return off * scale * weight.reshape(1, -1, 1, 1) + bias.reshape(1, -1, 1, 1)


def in_float64(x, weight, bias, slope):
    """The gradients of sum(batch_norm * slope)."""
    off = x - x.mean((0, 2, 3), keepdims=True)
    scale = 1 / np.sqrt((off**2).mean((0, 2, 3), keepdims=True) + 1e-5)
    y, along = off * scale, slope * weight.reshape(1, -1, 1, 1)
    mean = along.mean((0, 2, 3), keepdims=True) + y * (along * y).mean((0, 2, 3), keepdims=True)
    return [(along - mean) * scale, (slope * y).sum((0, 2, 3)), slope.sum((0, 2, 3))]


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_of_a_batch_norm_over_many_pixels_are_those_of_float64(shape, channels_last):
    rng = np.random.default_rng(5)
    arrays = [rng.standard_normal(s) for s in (shape, shape[1:2], shape[1:2], shape)]
    wanted = in_float64(*arrays)
    moved = np.moveaxis(arrays[0], 1, 3) if channels_last else arrays[0]
    for arch, target in PLACES:
        with strata.config(device=f"emu:{arch}", target=target, check="raise"):
            x, weight, bias, slope = (Tensor(a.astype(np.float32)).realize() for a in (moved, *arrays[1:]))

            def loss(x, weight, bias, slope=slope):
                return (batch_norm(x.permute(0, 3, 1, 2) if channels_last else x, weight, bias) * slope).sum()

            got = [g.numpy() for g in strata.grad(loss, argnums=(0, 1, 2))(x, weight, bias)]
        got[0] = np.moveaxis(got[0], 3, 1) if channels_last else got[0]
        for g, w in zip(got, wanted, strict=True):
            assert np.linalg.norm(g - w) < 1e-4 * np.linalg.norm(w), (arch, target)
