"""Functions of torch's names whose places the host lists refuse axes that it cannot list; others make tensors of any
size.
"""

import pytest
from strata import Tensor, UsageError
from strata.nn import functional as F

HUGE = 2**40
LISTING = {
    **{
        f"{kind}{axes}d": lambda f=f"{kind}{axes}d", axes=axes: getattr(F, f)(Tensor.ones(1, 1, *[4] * axes), HUGE)
        for kind in ("adaptive_avg_pool", "adaptive_max_pool")
        for axes in (1, 2, 3)
    },
    **{
        f"avg_pool{axes}d": lambda f=f"avg_pool{axes}d", axes=axes: getattr(F, f)(
            Tensor.ones(1, 1, HUGE, *[4] * (axes - 1)), 3, 2, 1, ceil_mode=True
        )
        for axes in (1, 2, 3)
    },
    "affine_grid": lambda: F.affine_grid(Tensor.ones(1, 2, 3), (1, 1, HUGE, 2)),
    "fold": lambda: F.fold(Tensor.ones(1, 4, HUGE - 1), (HUGE, 2), (2, 2)),
    **{
        f"interpolate, {mode}": lambda mode=mode: F.interpolate(Tensor.ones(1, 1, 4, 4), size=(HUGE, HUGE), mode=mode)
        for mode in ("nearest", "bilinear", "bicubic", "area")
    },
}


@pytest.mark.parametrize("name", LISTING)
def test_an_axis_that_is_too_long_for_the_host_is_refused(name):
    with pytest.raises(UsageError, match="at most"):
        LISTING[name]()
