"""Initial values of parameters: tensors of a shape, from the sequence of strata.manual_seed.

fan_in is the product of all sizes but the first, fan_out of all but the second, as weights (out, in, ...) have them.
"""

from __future__ import annotations

import math
import sys

from .. import _names
from .._checks import check_all, real, shown
from .._strata import Tensor, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import DTypeLike, Sizes


def _fans(shape):
    if not isinstance(shape, (tuple, list)):
        raise UsageError(f"[init] the shape of a weight is {shown(shape)}: a tuple of sizes, such as (out, in)")
    if len(shape) < 2:
        raise UsageError(f"[init] a weight of shape {tuple(shape)} has no fans: it needs two axes or more")
    window = math.prod(shape[2:])
    if not shape[0] * shape[1] * window:
        raise UsageError(f"[init] a weight of shape {tuple(shape)} has no elements")
    return shape[1] * window, shape[0] * window


def _drawn(draw, shape, dtype):
    """Numbers of at least 32 bits: values made of them are rounded once."""
    narrow = Tensor.zeros(0, dtype=dtype).dtype.itemsize < 4
    return draw(shape, dtype="float32" if narrow else dtype)


def uniform(shape: Sizes, low: float = 0.0, high: float = 1.0, dtype: DTypeLike = "float32") -> Tensor:
    """Uniform in [low, high)."""
    return (_drawn(Tensor.rand, shape, dtype) * (high - low) + low).cast(dtype)


def normal(shape: Sizes, mean: float = 0.0, std: float = 1.0, dtype: DTypeLike = "float32") -> Tensor:
    return (_drawn(Tensor.randn, shape, dtype) * std + mean).cast(dtype)


def zeros(shape: Sizes, dtype: DTypeLike = "float32") -> Tensor:
    return Tensor.zeros(shape, dtype=dtype)


def ones(shape: Sizes, dtype: DTypeLike = "float32") -> Tensor:
    return Tensor.ones(shape, dtype=dtype)


def xavier_uniform(shape: Sizes, gain: float = 1.0, dtype: DTypeLike = "float32") -> Tensor:
    """Uniform within gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010, eq. 16)."""
    bound = gain * math.sqrt(6 / sum(_fans(shape)))
    return uniform(shape, -bound, bound, dtype)


def xavier_normal(shape: Sizes, gain: float = 1.0, dtype: DTypeLike = "float32") -> Tensor:
    """Deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010, eq. 12)."""
    return normal(shape, 0, gain * math.sqrt(2 / sum(_fans(shape))), dtype)


def kaiming_uniform(shape: Sizes, a: float = 0.0, dtype: DTypeLike = "float32") -> Tensor:
    """Uniform within sqrt(6 / ((1 + a^2) fan_in)), for rectifiers with slope a below 0 (He et al. 2015, eq. 15)."""
    real("kaiming_uniform", "a", a)
    bound = math.sqrt(6 / ((1 + a * a) * _fans(shape)[0]))
    return uniform(shape, -bound, bound, dtype)


def kaiming_normal(shape: Sizes, a: float = 0.0, dtype: DTypeLike = "float32") -> Tensor:
    """Deviation sqrt(2 / ((1 + a^2) fan_in)) (He et al. 2015, eq. 15)."""
    real("kaiming_normal", "a", a)
    return normal(shape, 0, math.sqrt(2 / ((1 + a * a) * _fans(shape)[0])), dtype)


check_all(globals(), __name__, is_total=True)
__getattr__ = _names("strata.nn.init", sys.modules[__name__], "INIT")
