"""The paged cache, keys and values in blocks: the slots of new tokens, and the rows that a table of blocks names."""

from __future__ import annotations

from .._checks import check_all
from .._strata import Tensor
from ._shared import checked, floats, integers, shaped, unsigned, widened, without_gradient
from .quantisation import LARGEST, rounded


def of_heads(name: str, what: str, scale: Tensor | float | None, heads: int) -> Tensor | float | None:
    """A scale for all heads, or for each, as (heads, 1)."""
    if not isinstance(scale, Tensor):
        return scale
    shaped(
        name, f"{what} is a number, (1,) or one for each of {heads} heads", scale.size in (1, heads), **{what: scale}
    )
    return widened(scale).reshape(-1, 1)


def _stored(x, scale, dtype):
    """Rows as the cache keeps them: divided by the scale, rounded once."""
    wide = widened(x)
    wide = wide if scale is None else wide / scale
    return rounded(wide, dtype) if dtype.name in LARGEST else wide.cast(dtype)


def reshape_and_cache(
    key: Tensor,
    value: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    slot_mapping: Tensor,
    *,
    k_scale: Tensor | float | None = None,
    v_scale: Tensor | float | None = None,
) -> tuple[Tensor, Tensor]:
    """key_cache, value_cache with the rows of key and value at their slots: slot s is place s % block of block
    s // block.

    key, value (tokens, kv, d), caches (blocks, block, kv, d) of floats or int8, slot_mapping (tokens,) of integers.
    Rows are divided by k_scale and v_scale, numbers or tensors (1,) or (kv,), and rounded once. What is too large
    becomes the largest number of 8 bits. Slot -1 stores nothing, of equal slots the last counts, another slot out of
    range is an error. No gradient: Unsupported when one arrives. ShapeError, DTypeError.
    """
    name = "reshape_and_cache"
    given = {
        "key": key,
        "value": value,
        "key_cache": key_cache,
        "value_cache": value_cache,
        "slot_mapping": slot_mapping,
    }
    floats(name, key=key, value=value)
    integers(name, slot_mapping=slot_mapping)
    fits = slot_mapping.ndim == 1 and all(
        x.ndim == 3 and c.ndim == 4 and x.shape[0] == slot_mapping.size and c.shape[2:] == x.shape[1:]
        for x, c in ((key, key_cache), (value, value_cache))
    )
    fits = fits and key_cache.shape[:2] == value_cache.shape[:2]
    words = "key and value (tokens, kv, d), caches (blocks, block, kv, d), slot_mapping (tokens,)"
    shaped(name, words, fits, **given)
    slots = key_cache.shape[0] * key_cache.shape[1]
    signed = slot_mapping.cast("int64") if slot_mapping.dtype.bits > 32 else slot_mapping.cast("int32")
    # One place more, for what stores nothing; each place has the number of the token that it takes.
    at = (signed == -1).where(slots, checked((signed == -1).where(0, signed), max(slots, 1)))
    token = Tensor.full((slots + 1,), -1, "int32").scatter(0, at, Tensor.arange(slot_mapping.size, dtype="int32"))[
        :slots
    ]
    out = []
    for x, cache, what, scale in ((key, key_cache, "k_scale", k_scale), (value, value_cache, "v_scale", v_scale)):
        rows = _stored(x, of_heads(name, what, scale, x.shape[1]), cache.dtype)
        flat = cache.reshape(slots, *cache.shape[2:])
        if x.shape[0] and slots:
            taken = (token >= 0).reshape(slots, 1, 1)
            flat = taken.where(rows.take(token.maximum(0), 0), flat)
        out.append(flat.reshape(cache.shape))
    return without_gradient(name, [key, value, key_cache, value_cache], *out)  # type: ignore[return-value]


def rows_of(cache: Tensor, tables: Tensor, seen: Tensor) -> Tensor:
    """(sequences, positions, ...) of a cache (blocks, block, ...) by tables (sequences, most blocks).

    seen (sequences, positions): positions that are there. The others are 0, and the table's entries for them are not
    read.
    """
    sequences, most = tables.shape
    block = cache.shape[1]
    there = seen.reshape(sequences, most, block)[..., 0]
    ids = unsigned(there.where(tables, 0))
    rows = cache.take(ids, 0).reshape(sequences, most * block, *cache.shape[2:])
    return seen.reshape(*seen.shape, *[1] * (rows.ndim - 2)).where(rows, 0)


check_all(globals(), __name__, is_total=True)
