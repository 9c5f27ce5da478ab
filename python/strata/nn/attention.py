"""Attention with several heads, rotary positions, and a cache of keys and values."""

from __future__ import annotations

from .. import _strata
from .._checks import check_all, integer, real
from .._renamed import renamed_function
from .._strata import ShapeError, Tensor, UsageError
from ..functional import scaled_dot_product_attention
from ..kernels.positions import angles
from .layers import Linear
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DTypeLike


def rotary_embedding(x: Tensor, offset: int = 0, base: float = 10000.0) -> Tensor:
    """Turns pairs of elements of x (..., positions, width) by angles that grow with the position (Su et al. 2021).

    Element i of the first half makes a pair with that of the second. The pair turns by position * base^(-2 i / width),
    where positions count from `offset`. width is even.
    """
    real("rotary_embedding", "offset", offset), real("rotary_embedding", "base", base, 0, closed=False)
    if x.ndim < 2:
        raise ShapeError(f"[rotary_embedding] shape {x.shape}: it takes (..., positions, width)")
    positions, width = x.shape[-2:]
    if width % 2:
        raise ShapeError(f"[rotary_embedding] the width {width} of shape {x.shape} is odd")
    angle = angles(positions, width // 2, offset, base)
    cos, sin = angle.cos(), angle.sin()
    a, b = x.split(width // 2, -1)
    return _strata.cat([a * cos - b * sin, b * cos + a * sin], -1).cast(x.dtype)


rotary = renamed_function("rotary", rotary_embedding)


class KVCache:
    """Keys and values of the positions that were seen: (n, heads, positions, width) each."""

    def __init__(self) -> None:
        self.keys: Any = None
        self.values: Any = None

    def __len__(self) -> int:
        return 0 if self.keys is None else self.keys.shape[2]

    def update(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values, with those of the new positions at the end."""
        if self.keys is not None:
            keys, values = _strata.cat([self.keys, keys], 2), _strata.cat([self.values, values], 2)
        self.keys, self.values = keys.contiguous(), values.contiguous()
        _strata.realize([self.keys, self.values])
        return self.keys, self.values

    extended = renamed_function("extended", update)


class MultiheadAttention(Module):
    """x (n, positions, embed_dim) -> the same shape: attention with `num_heads` heads, each of embed_dim / num_heads
    columns.

    num_kv_heads: fewer heads of keys and values, which groups of queries share (GQA, Ainslie et al. 2023). rope:
    queries and keys are turned by `rotary_embedding` with that base. causal: position i sees positions up to i.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        causal: bool = False,
        rope: float | None = None,
        bias: bool = True,
        dtype: DTypeLike = "float32",
    ) -> None:
        name = "MultiheadAttention"
        embed_dim, num_heads = integer(name, "embed_dim", embed_dim, 1), integer(name, "num_heads", num_heads, 1)
        num_kv_heads = num_heads if num_kv_heads is None else integer(name, "num_kv_heads", num_kv_heads, 1)
        if rope is not None:
            real(name, "rope", rope, 0, closed=False)
        if embed_dim % num_heads or num_heads % num_kv_heads:
            raise UsageError(
                f"[MultiheadAttention] embed_dim {embed_dim} is not a multiple of {num_heads} heads, "
                f"or these of {num_kv_heads} heads of keys"
            )
        self.num_heads, self.num_kv_heads, self.causal, self.rope = num_heads, num_kv_heads, causal, rope
        of_head = embed_dim // num_heads
        self.query = Linear(embed_dim, embed_dim, bias, dtype)
        self.key = Linear(embed_dim, num_kv_heads * of_head, bias, dtype)
        self.value = Linear(embed_dim, num_kv_heads * of_head, bias, dtype)
        self.out = Linear(embed_dim, embed_dim, bias, dtype)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None, cache: KVCache | None = None
    ) -> Tensor:
        """memory (n, m, embed_dim): where keys and values come from, x by default. mask as in
        scaled_dot_product_attention.

        cache: a KVCache that x's positions continue; they see all positions in it.
        """
        if cache is not None and memory is not None:
            raise UsageError("[MultiheadAttention] a cache goes with x's own keys: give cache= or memory=")
        offset = len(cache) if cache is not None else 0
        source = x if memory is None else memory
        query = self._split(self.query(x), self.num_heads)
        key, value = (
            self._split(self.key(source), self.num_kv_heads),
            self._split(self.value(source), self.num_kv_heads),
        )
        if self.rope:
            query, key = (rotary_embedding(x, offset, self.rope) for x in (query, key))
        if cache is not None:
            key, value = cache.update(key, value)
        causal = self.causal
        if causal and offset:  # queries are the last positions of the keys
            causal = False
            seen = Tensor.arange(key.shape[2]) <= (Tensor.arange(x.shape[1]) + offset).unsqueeze(1)
            mask = (
                seen if mask is None else mask & seen if mask.dtype.is_bool else mask + seen.where(0.0, -float("inf"))
            )
        shared = self.num_heads // self.num_kv_heads
        if shared > 1:
            key, value = (self._repeated(t, shared) for t in (key, value))
        y = scaled_dot_product_attention(query, key, value, mask, causal)
        return self.out(y.transpose(1, 2).reshape(x.shape))

    @staticmethod
    def _split(x, num_heads):
        return x.reshape(*x.shape[:2], num_heads, -1).transpose(1, 2)

    @staticmethod
    def _repeated(t, times):
        n, num_heads, positions, embed_dim = t.shape
        return (
            t.unsqueeze(2)
            .expand(n, num_heads, times, positions, embed_dim)
            .reshape(n, num_heads * times, positions, embed_dim)
        )


check_all(globals(), __name__)
