"""Philox4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) and distributions
made of it. They run in a kernel on its values, and on Python integers for the host."""

import math

from .. import _strata
from .._strata import UsageError, dtypes

_lang = _strata._lang
_MULTIPLIERS, _WEYL, _WORD = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 0xFFFFFFFF


def _is_host(*values):
    return all(type(v) is int for v in values)


def _product(word, number):
    """Upper and lower word of a product."""
    if type(word) is int:
        return word * number >> 32, word * number & _WORD
    whole = dtypes.uint64(word) * number
    return dtypes.uint32(whole >> 32), dtypes.uint32(whole)


def _sum(word, number):
    return word + number & _WORD if type(word) is int else word + dtypes.uint32(number & _WORD)


def philox(seed, offset, rounds=10):
    """Four random words of 32 bits for an offset: on Python integers those that a kernel gives, as Python integers."""
    if _is_host(seed, offset):
        key, x = [seed & _WORD, seed >> 32 & _WORD], [offset & _WORD, offset >> 32 & _WORD, 0, 0]
    else:
        seed, offset = (v if type(v) is int else _lang.machine_value(_lang.valued(v)) for v in (seed, offset))
        key = [seed & _WORD, seed >> 32 & _WORD] if type(seed) is int else [dtypes.uint32(seed), _high(seed)]
        x = [dtypes.uint32(offset), _high(offset), dtypes.uint32(0), dtypes.uint32(0)]
    for i in range(rounds):
        high0, low0 = _product(x[0], _MULTIPLIERS[0])
        high1, low1 = _product(x[2], _MULTIPLIERS[1])
        keys = [_sum(k, weyl * i) for k, weyl in zip(key, _WEYL)]
        x = [high1 ^ x[1] ^ keys[0], low1, high0 ^ x[3] ^ keys[1], low0]
    return tuple(x)


def _high(value):
    """The upper word of a number of 64 bits; 0 of a narrower one."""
    if type(value) is int:
        return dtypes.uint32(value >> 32 & _WORD)
    return dtypes.uint32(dtypes.uint64(value) >> 32) if value.dtype.bits == 64 else dtypes.uint32(0)


def rand(seed, offset):
    """A random float32 in [0, 1) for each offset."""
    word = philox(seed, offset)[0]
    return (word >> 8) * 2.0**-24 if type(word) is int else dtypes.float32(word >> 8) * 2.0**-24


def _bits_below(word, count):
    """floor(word * count / 2^32), an integer from 0 to count - 1."""
    return word * count >> 32 if type(word) is int else dtypes.uint64(word) * count >> 32


def randint(seed, offset, low, high):
    """A random int32 from low to high - 1 for each offset; low and high are Python's integers."""
    if type(low) is not int or type(high) is not int or not low < high:
        raise UsageError(f"[randint] low and high are Python integers, low below high, not {low!r} and {high!r}")
    if low < -(2**31) or high > 2**31:
        raise UsageError(f"[randint] gives int32, and {low} to {high - 1} are more")
    word = _bits_below(philox(seed, offset)[0], high - low)
    return word + low if type(word) is int else dtypes.int32(dtypes.int64(word) + low)


def randn(seed, offset):
    """A random float32 of the standard normal distribution for each offset (Box and Muller)."""
    word, other = philox(seed, offset)[:2]
    if type(word) is int:
        radius = math.sqrt(-2 * math.log(((word >> 8) + 0.5) * 2.0**-24))
        return radius * math.cos(2 * math.pi * (other >> 8) * 2.0**-24)
    log, sqrt, cos = (getattr(_lang.functions, name) for name in ("log", "sqrt", "cos"))
    part = (dtypes.float32(word >> 8) + 0.5) * 2.0**-24
    return sqrt(log(part) * -2.0) * cos(dtypes.float32(other >> 8) * (2 * math.pi * 2.0**-24))
