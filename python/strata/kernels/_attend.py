"""softmax(scores) @ values with caps, biases, masks and attention sinks. Its gradients compute the scores again.

Axes are (batch, heads of keys, queries' heads of each, queries, keys or width).
"""

from __future__ import annotations

import math

from .._derivatives import custom_gradient
from .._strata import ShapeError, Tensor
from ._shared import two_integers, widened

_NEVER = -math.inf


def folded(g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The gradient of a tensor of that shape, from that of it with its axes of size 1 repeated."""
    axes = tuple(i for i, (n, m) in enumerate(zip(g.shape, shape)) if m == 1 and n != 1)
    return g.sum(axes, keepdims=True) if axes else g


class Scores:
    """How scores follow from queries and keys; masks of the keys that a query sees.

    One after the other: masks of one comparison are computed in the kernel, their product would lie in memory.
    """

    def __init__(self, scale: float, softcap: float, see: list[Tensor]) -> None:
        self.scale, self.softcap, self.see = scale, softcap, see

    def products(self, q: Tensor, k: Tensor) -> Tensor:
        return widened(q) @ widened(k).mT * self.scale

    def of(self, q: Tensor, k: Tensor, add: Tensor | None) -> Tensor:
        s = self.products(q, k)
        s = (s * (1 / self.softcap)).tanh() * self.softcap if self.softcap else s
        s = s if add is None else s + widened(add)
        for mask in self.see:
            s = mask.where(s, _NEVER)
        return s

    def slope(self, q: Tensor, k: Tensor, g: Tensor) -> Tensor:
        """The gradient of the scaled products, from that of the scores."""
        if not self.softcap:
            return g
        return g * (1 - (self.products(q, k) * (1 / self.softcap)).tanh().square())


def _totals(s: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Exponentials of scores, less a shift of each row; their sums; the shifts, for which no gradient goes back."""
    top = s.max(-1, keepdims=True)
    shift = top.isfinite().where(top, 0).detach()
    e = (s - shift).exp()
    return e, e.sum(-1, keepdims=True), shift


def _logarithms(total: Tensor, shift: Tensor, sinks: Tensor | None) -> Tensor:
    """Logarithms of the denominators, whose sinks may be far above all scores; 0 of rows that see nothing."""
    own = (total == 0).where(1, total).log() + shift
    if sinks is None:
        return own
    own = (total == 0).where(_NEVER, own)
    top = own.maximum(widened(sinks))
    top = top.isfinite().where(top, 0).detach()
    both = (own - top).exp() + (widened(sinks) - top).exp()
    return (both == 0).where(1, both).log() + top


def attend(
    q: Tensor, k: Tensor, v: Tensor, scores: Scores, add: Tensor | None = None, sinks: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The result in q's type, and float32 logarithms of the denominators, with a last axis of size 1.

    add: what is added to scores, sinks: a score without a value, of five axes both.
    """
    is_narrow = q.dtype == k.dtype == v.dtype

    def rounded(x):  # matrix instructions take what is as narrow as the operands
        return widened(x.cast(q.dtype)) if is_narrow else x

    def pulled(out, q, k, v, add, sinks):
        def back(g, of_lse):
            s = scores.of(q, k, add)
            known = _logarithms(*_totals(s)[1:], sinks)
            w, wide = (s - known).exp(), widened(g)
            inner = of_lse - (wide * widened(out)).sum(-1, keepdims=True)
            by_scores = w * (wide @ widened(v).mT + inner)
            products = rounded(scores.slope(q, k, by_scores))
            by_q = folded(products @ widened(k) * scores.scale, q.shape)
            by_k = folded(products.mT @ widened(q) * scores.scale, k.shape)
            found = [by_q.cast(q.dtype), by_k.cast(k.dtype)]
            found.append(folded(rounded(w).mT @ wide, v.shape).cast(v.dtype))
            found.append(None if add is None else folded(by_scores, add.shape).cast(add.dtype))
            of_sink = None if sinks is None else folded((widened(sinks) - known).exp() * inner, sinks.shape)
            return (*found, None if sinks is None else of_sink.cast(sinks.dtype))

        return back

    @custom_gradient
    def both(q, k, v, add, sinks):
        e, total, shift = _totals(scores.of(q, k, add))
        known = _logarithms(total, shift, sinks)
        none = total == 0 if sinks is None else (total == 0) & (widened(sinks) == _NEVER)
        if sinks is not None:
            total = total + (widened(sinks) - shift).exp()  # infinite where no score counts beside the sink
        out = (e / (total == 0).where(1, total) @ widened(v)).cast(q.dtype)
        return (out, none.where(_NEVER, known)), pulled(out, q, k, v, add, sinks)

    return both(q, k, v, add, sinks)


def heads_of(name: str, heads: int, of_keys: int) -> int:
    """How many heads of queries share one of keys."""
    if of_keys < 1 or heads % of_keys:
        raise ShapeError(f"[{name}] {heads} heads of queries for {of_keys} of keys: they are not a multiple")
    return heads // of_keys


def in_window(place: Tensor, keys: Tensor, window: tuple[int, int], causal: bool) -> list[Tensor]:
    """Masks of the keys that a query at that place sees. window: keys left and right of it, -1 for all."""
    left, right = window[0], 0 if causal else window[1]
    return [*([keys >= place - left] if left >= 0 else []), *([keys <= place + right] if right >= 0 else [])]


def checked_window(name: str, window: object) -> tuple[int, int]:
    return two_integers(name, "window", window, -1, "how many keys left and right of a query it sees, -1 for all")
