"""Atomic operations on places in memory, v.at(c): what the place held before comes back."""

from .. import _strata

_lang = _strata._lang


def _row(operation, meaning):
    def atomic(place, value, *, scope="device"):
        return _lang.atomic(place, operation, value, None, scope)

    atomic.__name__ = atomic.__qualname__ = f"atomic_{operation}"
    atomic.__module__ = "strata.lang"
    atomic.__doc__ = f"""{meaning} What the place held before comes back.

    place: v.at(c), an element of a tensor or of shared memory, of 32 or 64 bits. scope: which threads see it as one
    step, 'workgroup', 'device' or 'system'.
    """
    return atomic


atomic_add = _row("add", "place += value, whatever other threads do there.")
atomic_max = _row("max", "place = the larger of place and value.")
atomic_min = _row("min", "place = the smaller of place and value.")
atomic_and = _row("and", "place &= value.")
atomic_or = _row("or", "place |= value.")
atomic_xor = _row("xor", "place ^= value.")
atomic_exchange = _row("exchange", "place = value.")
atomic_inc = _row("inc", "place = place + 1, or 0 from value on, of unsigned integers.")
atomic_dec = _row("dec", "place = place - 1, or value where place is 0 or above value, of unsigned integers.")


def atomic_compare_exchange(place, expected, value, *, scope="device"):
    """place = value where the place holds expected, bit for bit. What the place held before comes back."""
    return _lang.atomic(place, "compare_exchange", value, expected, scope)


def atomic_add_pair(place, first, second, *, scope="device"):
    """Adds to two neighbours of float16 or bfloat16, this place at an even offset and the next one, each by itself.
    What they held before comes back, a tuple."""
    return _lang.atomic_add_pair(place, first, second, scope)


def fence(scope="device"):
    """Other threads see stores of this thread before the fence earlier than its stores after it. Loads after the
    fence are as new. scope: 'workgroup', 'device' or 'system'."""
    _lang.fence(scope)


def wave_barrier():
    """The lanes of the wave see what its lanes stored before."""
    _lang.wave_barrier()


def trap():
    """Threads that come here end the kernel with a fault."""
    _lang.trap()
