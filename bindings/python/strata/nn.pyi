"""Functions of neural networks, by composition of tensor operations."""

from typing import Literal

from ._strata import Tensor

def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x (..., in) @ weight (out, in)^T + bias (out,)."""

def layernorm(x: Tensor, axes: int = 1, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(var + eps) over the last `axes` axes, then * weight + bias (shape of those axes) where given."""

def rmsnorm(x: Tensor, weight: Tensor | None = None, eps: float = 1e-6) -> Tensor:
    """x / sqrt(mean(x^2) + eps) over the last axis, then * weight where given."""

def embedding(ids: Tensor, weight: Tensor) -> Tensor:
    """Rows of weight (entries, width) by integer ids: ids.shape + (width,)."""

def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, causal: bool = False, scale: float | None = None
) -> Tensor:
    """softmax(query @ key^T * scale + mask) @ value.

    query (..., n, d), key (..., m, d), value (..., m, e) -> (..., n, e). mask broadcasts to (..., n, m): bool (true = may
    attend) or a float that is added. causal: key j is seen by query i when j <= i. scale: 1 / sqrt(d) by default.
    """

def cross_entropy(logits: Tensor, target: Tensor, reduction: Literal["mean", "sum", "none"] = "mean") -> Tensor:
    """-log_softmax(logits)[target]: logits (n, classes, ...) or (classes,), target integers (n, ...) or ()."""
