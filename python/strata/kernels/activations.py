"""Gated activations: the first half of the last axis, activated, times the second half (Shazeer 2020)."""

from __future__ import annotations

from .._checks import check_all
from .._strata import Tensor
from ._shared import floats, shaped, widened


def _gated(name, x, activate):
    floats(name, x=x)
    shaped(name, "the last axis holds two halves, (..., 2 d)", x.ndim > 0 and x.shape[-1] % 2 == 0, x=x)
    first, second = x.split([x.shape[-1] // 2] * 2, -1)
    return (activate(widened(first)) * widened(second)).cast(x.dtype)


def silu_and_mul(x: Tensor) -> Tensor:
    """silu(a) * b, silu(a) = a / (1 + exp(-a)), of the halves a, b of x (..., 2 d): (..., d) of x's type.

    Computed in float32 and rounded once. ShapeError for an odd axis, DTypeError. Llama's and Qwen's activation.
    """
    return _gated("silu_and_mul", x, Tensor.silu)


def gelu_and_mul(x: Tensor) -> Tensor:
    """gelu(a) * b, gelu(a) = a * Phi(a), of the halves a, b of x (..., 2 d): (..., d) of x's type.

    Computed in float32 and rounded once. ShapeError for an odd axis, DTypeError. Hendrycks and Gimpel 2016.
    """
    return _gated("gelu_and_mul", x, Tensor.gelu)


def gelu_tanh_and_mul(x: Tensor) -> Tensor:
    """gelu(a) * b of the halves a, b of x (..., 2 d), gelu by its approximation with tanh: (..., d) of x's type.

    a / 2 * (1 + tanh(sqrt(2 / pi) * (a + 0.044715 a^3))). Computed in float32 and rounded once. ShapeError for an odd
    axis, DTypeError. Gemma's activation.
    """
    return _gated("gelu_tanh_and_mul", x, Tensor.gelu_tanh)


check_all(globals(), __name__, is_total=True)
