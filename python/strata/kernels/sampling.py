"""Random choices of tokens by their logits. Noise is Philox4x32-10 (Salmon et al. 2011) of seed, row and token."""

from __future__ import annotations

import math

from .._checks import check_all, integer, real
from .._strata import Tensor
from ._shared import floats, shaped, widened

_MULTIPLIERS, _WEYL, _ROUNDS, _WORD = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 10, 2**32


def _philox(first: Tensor, second: Tensor, seed: int) -> Tensor:
    """A random word of each counter (first, second, 0, 0): uint32."""
    zero = first.zeros_like()
    words, keys = [first, second, zero, zero], [seed % _WORD, seed // _WORD % _WORD]
    for _ in range(_ROUNDS):
        low, high = (words[2 * i].cast("uint64") * m for i, m in enumerate(_MULTIPLIERS))
        words = [
            (high >> 32).cast("uint32") ^ words[1] ^ Tensor.full((), keys[0], "uint32"),
            high.cast("uint32"),
            (low >> 32).cast("uint32") ^ words[3] ^ Tensor.full((), keys[1], "uint32"),
            low.cast("uint32"),
        ]
        keys = [(k + w) % _WORD for k, w in zip(keys, _WEYL)]
    return words[0]


def _exponential(ids: Tensor, seed: int) -> Tensor:
    """Exponentially distributed numbers of each token (rows, n): -log(1 - u), of which small ones have all digits."""
    rows = Tensor.arange(ids.shape[0], dtype="int32").unsqueeze(1).expand(ids.shape)
    word = _philox(ids.cast("uint32"), rows.cast("uint32"), seed)
    return -(-(word.cast("float32") + 0.5) * (1 / _WORD)).maximum(-1 + 2.0**-24).log1p()


def _within(x: Tensor, top: Tensor, min_p: float) -> Tensor:
    """x, -inf where the probability is below that share of the largest."""
    return (x >= top + math.log(min_p)).where(x, -math.inf) if min_p > 0 else x


def _first(x: Tensor, top_p: float) -> Tensor:
    """x in falling order (rows, n), -inf after the fewest whose probabilities add up to top_p."""
    p = x.softmax(-1)
    return ((p.cumsum(-1) - p < top_p) | (Tensor.arange(x.shape[-1]) == 0)).where(x, -math.inf) if top_p < 1 else x


def sample(
    logits: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    seed: int = 0,
) -> Tensor:
    """A token of each row, chosen with probability softmax(logits / temperature) among those that are left.

    logits (rows, tokens), result (rows,) int32. temperature 0 takes the largest logit, of equal ones the first. top_k:
    that many tokens with the largest logits are left, 0 for all. top_p: of these the fewest whose probabilities add up
    to it. min_p: those with at least that share of the largest probability. Noise follows from seed, row and token
    alone: a row gives the same token on every device, and whatever is left out. No gradient. ShapeError, DTypeError,
    UsageError. Holtzman et al. 2020.
    """
    name = "sample"
    floats(name, logits=logits)
    shaped(name, "logits (rows, tokens), one token or more", logits.ndim == 2 and logits.shape[1] > 0, logits=logits)
    real(name, "temperature", temperature, 0), real(name, "top_p", top_p, 0, 1), real(name, "min_p", min_p, 0, 1)
    top_k, seed, tokens = integer(name, "top_k", top_k), integer(name, "seed", seed, -(2**63)), logits.shape[1]
    wide = widened(logits.detach()).cast("float32")
    if not temperature or top_k == 1:
        return wide.argmax(-1).cast("int32")
    x = wide * (1 / temperature)
    if not (0 < top_k < tokens or top_p < 1):
        ids = Tensor.arange(tokens, dtype="int32").unsqueeze(0).expand(logits.shape)
        x = _within(x, x.max(-1, keepdims=True), min_p)
        return (x - _exponential(ids, seed).log()).argmax(-1).cast("int32")
    order = x.topk(top_k)[1] if 0 < top_k < tokens else x.argsort(-1, descending=True)
    left = _first(x.gather(-1, order), top_p)
    left = _within(left, left[:, :1], min_p)
    place = (left - _exponential(order, seed).log()).argmax(-1, keepdims=True)
    return order.gather(-1, place).squeeze(-1).cast("int32")


check_all(globals(), __name__, is_total=True)
