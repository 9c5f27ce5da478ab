"""Values and votes of other lanes of a wave."""

from .. import _strata
from .._strata import UsageError
from . import _indices
from ._collectives import _is_power_of_two, _threads
from ._math import elementwise

_lang = _strata._lang
Value = _lang.Value


def _width(what, width):
    size = _indices.wave_size()
    if width is None:
        return size
    if type(width) is not int or not _is_power_of_two(width) or width > size:
        raise UsageError(f"[{what}] width is {width!r}: a power of two up to the wave's {size} lanes")
    return width


def _integer(what, name, value):
    if type(value) is Value:
        if not value.dtype.is_integer:
            raise _strata.DTypeError(f"[{what}] {name} is an integer, not {value.dtype.name}: cast it, x.cast('int32')")
    elif type(value) is not int:
        raise UsageError(f"[{what}] {name} is an integer, not {value!r}")
    return value


def _valued(value):
    return _lang.machine_value(_lang.valued(value))


def _from(value, source, is_there):
    """The value of the lane `source` of the wave, its own where is_there is false or no thread runs there."""
    size, threads = _indices.wave_size(), _threads("shuffle")
    if threads % size:
        thread = _indices.thread()
        runs = thread - thread % size + source < threads
        is_there = runs if is_there is True else is_there & runs
    if is_there is True:
        return _lang.shuffle(value, source)
    return _lang.merge(is_there, _lang.shuffle(value, _lang.merge(is_there, source, _indices.lane())), value)


def shuffle_xor(value, mask, *, width=None):
    """The value in the lane whose number differs from this lane's in the bits of mask, which are below width."""
    width, mask = _width("shuffle_xor", width), _integer("shuffle_xor", "mask", mask)
    if type(mask) is int and not 0 <= mask < width:
        raise UsageError(f"[shuffle_xor] the mask {mask} is outside of 0 to {width - 1}, the lanes that exchange")

    def of(value):
        value = _valued(value)
        if type(mask) is int:
            if mask == 0:
                return value
            if _threads("shuffle_xor") % _indices.wave_size() == 0:
                return _lang.shuffle_xor(value, mask)
        else:
            return _from(value, _indices.lane() ^ (mask % width), True)
        return _from(value, _indices.lane() ^ mask, True)

    return elementwise("shuffle_xor", of)(value)


def _moved(what, value, distance, width, sign):
    width, distance = _width(what, width), _integer(what, "the distance", distance)
    if type(distance) is int and distance < 0:
        raise UsageError(f"[{what}] the distance {distance} is negative: shuffle_up and shuffle_down are each other's")
    lane = _indices.lane()
    inside = lane % width

    def of(value):
        if type(distance) is int and distance == 0:
            return _valued(value)
        is_there = inside >= distance if sign < 0 else inside + distance < width
        return _from(_valued(value), lane + sign * distance, is_there)

    return elementwise(what, of)(value)


def shuffle_up(value, distance, *, width=None):
    """The value in the lane `distance` below this one; the own value where that is in no lane of the same `width`."""
    return _moved("shuffle_up", value, distance, width, -1)


def shuffle_down(value, distance, *, width=None):
    """The value in the lane `distance` above this one; the own value where that is in no lane of the same `width`."""
    return _moved("shuffle_down", value, distance, width, 1)


def shuffle_idx(value, lane, *, width=None):
    """The value in the lane of that number, modulo width, among the same `width` lanes; lanes may name different
    ones."""
    width, lane = _width("shuffle_idx", width), _integer("shuffle_idx", "lane", lane)
    own = _indices.lane()
    source = lane % width if width == _indices.wave_size() else own - own % width + lane % width
    return elementwise("shuffle_idx", lambda v: _from(_valued(v), source, True))(value)


def ballot(condition):
    """A bit for each lane of the wave that comes here and for which the condition holds: uint32 of waves of 32 lanes,
    else uint64."""
    _indices.launch("lang.ballot")
    return _lang.ballot(condition, _indices.machine())


def any(condition):
    """Whether the condition holds for a lane of the wave that comes here."""
    return ballot(condition) != 0


def all(condition):
    """Whether the condition holds for all lanes of the wave that come here."""
    return ballot(_lang.logical_not(condition)) == 0
