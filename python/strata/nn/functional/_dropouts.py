"""The dropout family: single elements, or whole channels, left out at random. Draws follow strata.manual_seed."""

from __future__ import annotations

from ..._strata import ShapeError, Tensor, UsageError
from ._shared import rounded_once, stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._types import ChannelDropout


__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]

_SATURATED = -1.7580993408473766  # what selu tends to


def _checked(name, p):
    if not 0 <= p <= 1:
        raise UsageError(f"[{name}] the probability {p} is not between 0 and 1")


@rounded_once
def _dropped(x, p, shape):
    if p == 1:
        return x * 0
    kept = Tensor.rand(shape, device=x.device) >= p
    return kept.where(x / (1 - p), 0)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element 0 with probability p, the others divided by 1 - p; input itself where not in training."""
    _checked("dropout", p)
    return stored(input, _dropped(input, p, input.shape), inplace) if training and p else input


def _of_channels(axes: int) -> ChannelDropout:
    def channels(input, p=0.5, training=True, inplace=False):
        name = f"dropout{axes}d"
        _checked(name, p)
        # dropout2d takes inputs of three axes as (n, channels, size), as torch does.
        batched = input.ndim == axes + 2 or (axes == 2 and input.ndim == 3)
        if not batched and input.ndim != axes + 1:
            raise ShapeError(
                f"[{name}] shape {input.shape}: it takes (n, channels, {axes} sizes), or one of them without n"
            )
        kept = 2 if batched else 1
        return (
            stored(input, _dropped(input, p, (*input.shape[:kept], *[1] * (input.ndim - kept))), inplace)
            if training and p
            else input
        )

    channels.__name__ = channels.__qualname__ = f"dropout{axes}d"
    channels.__doc__ = (
        f"Each channel of (n, channels, {axes} sizes), or without n, 0 with probability p, the others divided by 1 - p."
    )
    return channels


dropout1d, dropout2d, dropout3d = map(_of_channels, (1, 2, 3))


@rounded_once
def _self_normalised(x, p, shape):
    if p == 1:
        return x * 0
    a = ((1 - p) * (1 + p * _SATURATED**2)) ** -0.5
    kept = Tensor.rand(shape, device=x.device) >= p
    return kept.where(x, _SATURATED) * a - a * _SATURATED * p


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Each element what selu tends to with probability p, then all scaled and moved so that mean 0 and variance 1
    stay.
    """
    _checked("alpha_dropout", p)
    return stored(input, _self_normalised(input, p, input.shape), inplace) if training and p else input


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout of whole channels of (n, channels, ...)."""
    _checked("feature_alpha_dropout", p)
    if input.ndim < 2:
        raise ShapeError(f"[feature_alpha_dropout] shape {input.shape}: it takes (n, channels, ...)")
    shape = (*input.shape[:2], *[1] * (input.ndim - 2))
    return stored(input, _self_normalised(input, p, shape), inplace) if training and p else input
