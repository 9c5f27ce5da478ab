"""Rotary positions (Su et al. 2021): the table of cosines and sines, and queries and keys turned by it."""

from __future__ import annotations

import math
from fractions import Fraction

from .. import _strata
from .._checks import check_all, integer, real
from .._strata import ShapeError, Tensor
from ._shared import floats, integers, shaped, unsigned, widened

_TURN = 2**64


def _in_turn(turns: list[float]) -> Tensor:
    """Parts of a turn as integers of 64 bits, of which sums and products leave out whole turns."""
    return Tensor([int(Fraction(t) * _TURN) % _TURN for t in turns], dtype="uint64")


def _rates(pairs: int, base: float) -> list[float]:
    """Turns of each pair from one position to the next."""
    return [base ** (-i / pairs) / (2 * math.pi) for i in range(pairs)]


def _turns(positions: int, rates: list[float], offset: float) -> Tensor:
    """(positions, rates), as exact far from 0 as near it: rates are float64, their multiples integers."""
    turns = (Tensor.arange(positions) + math.floor(offset)).cast("uint64").unsqueeze(1) * _in_turn(rates)
    if rest := offset - math.floor(offset):
        turns = turns + _in_turn([rest * rate for rate in rates])
    return turns


def _radians(turns: Tensor) -> Tensor:
    """float32 in [-pi, pi]."""
    return turns.bitcast("int64").bitwise_right_shift(32).cast("float32") * (2 * math.pi / 2**32)


def angles(positions: int, pairs: int, offset: float, base: float) -> Tensor:
    """(positions, pairs) float32 in [-pi, pi]."""
    return _radians(_turns(positions, _rates(pairs, base), offset))


def rotary_cos_sin(max_positions: int, rotary_dim: int, base: float = 10000.0) -> Tensor:
    """(max_positions, rotary_dim) float32: cos(p * base^(-2 i / rotary_dim)) for each pair i, then the sines.

    Angles are multiples of float64 rates, taken modulo a turn as integers: position 1,000,000 is as exact as 1.
    UsageError, ShapeError for an odd rotary_dim.
    """
    max_positions = integer("rotary_cos_sin", "max_positions", max_positions)
    rotary_dim = integer("rotary_cos_sin", "rotary_dim", rotary_dim)
    real("rotary_cos_sin", "base", base, 0, closed=False)
    if rotary_dim % 2:
        raise ShapeError(f"[rotary_cos_sin] rotary_dim {rotary_dim} is odd: elements turn in pairs")
    pairs = rotary_dim // 2
    if not max_positions * pairs:
        return Tensor.zeros(max_positions, rotary_dim)
    quarters = _in_turn([0.0] * pairs + [0.25] * pairs)  # sin(a) = cos(a - a quarter of a turn)
    return _radians(_turns(max_positions, _rates(pairs, base) * 2, 0) - quarters).cos()


def _turned(x, cos, sin, interleaved):
    """x (..., heads, d), its first elements turned by tables (..., 1, pairs): a pair beside its mirror image."""
    pairs, axis = cos.shape[-1], -1 if interleaved else -2
    turning, rest = x.split([2 * pairs, x.shape[-1] - 2 * pairs], -1)
    both = widened(turning).reshape(*x.shape[:-1], *((pairs, 2) if interleaved else (2, pairs)))
    sign = (Tensor.arange(2, dtype="float32") * 2 - 1).reshape((1, 2) if interleaved else (2, 1))  # -1, 1
    y = both * cos.unsqueeze(axis) + both.flip(axis) * (sin.unsqueeze(axis) * sign)
    y = y.reshape(turning.shape).cast(x.dtype)
    return _strata.cat([y, rest], -1) if rest.shape[-1] else y


def rotary_embedding(
    positions: Tensor, query: Tensor, key: Tensor, cos_sin_cache: Tensor, *, interleaved: bool = False
) -> tuple[Tensor, Tensor]:
    """query, key: pairs a, b of their first rotary_dim elements become a cos - b sin, b cos + a sin; the others pass.

    positions (...) of integers, query (..., heads, d), key (..., kv, d), cos_sin_cache (max_positions, rotary_dim) of
    rotary_cos_sin. A pair is element i of the first half and of the second; neighbours where interleaved. Computed in
    float32 and rounded once to the types of query and key. A position out of range is an error. ShapeError, DTypeError.
    """
    name, given = (
        "rotary_embedding",
        {"positions": positions, "query": query, "key": key, "cos_sin_cache": cos_sin_cache},
    )
    integers(name, positions=positions)
    floats(name, query=query, key=key, cos_sin_cache=cos_sin_cache)
    width = cos_sin_cache.shape[-1] if cos_sin_cache.ndim == 2 else 1
    fits = width % 2 == 0 and all(
        x.ndim == positions.ndim + 2 and x.shape[:-2] == positions.shape and x.shape[-1] >= width for x in (query, key)
    )
    words = "positions (...), query (..., heads, d), key (..., kv, d), cos_sin_cache (n, an even width up to d)"
    shaped(name, words, fits, **given)
    rows = widened(cos_sin_cache).take(unsigned(positions), 0).unsqueeze(-2)
    cos, sin = rows.split(width // 2, -1) if width else (rows, rows)
    return _turned(query, cos, sin, interleaved), _turned(key, cos, sin, interleaved)


check_all(globals(), __name__, is_total=True)
