"""Floating-point operations of a program are those of its formula, whichever kernels compute it."""

import numpy as np
import pytest
import strata
from strata import Tensor

SIZES = [(64, 64, 64), (128, 64, 256), (256, 256, 64), (48, 80, 112), (17, 5, 9), (1, 640, 320)]


def flops(program, *shapes, dtype, arch, **settings):
    with strata.config(device=f"null:{arch}", **settings):
        tensors = [Tensor(np.ones(s, np.float32)).cast(dtype).realize() for s in shapes]
        strata.reset_stats()
        program(*tensors).realize()
        return strata.stats().flops


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx90a"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_product_has_two_for_each_term(arch, dtype):
    strata._strata._add_null_devices()
    for m, n, k in SIZES:
        for target in ("asm", "hip") if (m, n, k) == SIZES[0] else ("asm",):
            got = flops(lambda a, b: a @ b, (m, k), (k, n), dtype=dtype, arch=arch, target=target)
            assert got == 2 * m * n * k, (m, n, k, target)


@pytest.mark.parametrize("fusion", ["cost", "more", "less"])
def test_however_values_share_kernels(fusion):
    strata._strata._add_null_devices()
    for dtype in ("float16", "float32"):
        got = flops(lambda a, b: a @ b, (64, 128), (128, 64), dtype=dtype, arch="gfx1100", target="asm", fusion=fusion)
        assert got == 2 * 64 * 64 * 128
