"""Operations that the threads of a wave or a block compute together."""

import functools

from .. import _strata
from .._strata import UsageError
from . import _indices

_lang = _strata._lang
_OPERATIONS = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "max": lambda x, y: _lang.maximum(x, y),
    "min": lambda x, y: _lang.minimum(x, y),
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
}


def _operation(what, op):
    if callable(op):
        return op
    if op not in _OPERATIONS:
        raise UsageError(f"[{what}] op is {op!r}: one of {', '.join(_OPERATIONS)}, or a function of two values")
    return _OPERATIONS[op]


def _threads(what):
    return functools.reduce(lambda a, b: a * b, _indices.launch(f"lang.{what}").block)


def _is_power_of_two(n):
    return n > 0 and n & (n - 1) == 0


def wave_reduce(value, op="add", *, width=None):
    """The values of a wave's lanes by op ('add', 'mul', 'max', 'min', 'and', 'or', 'xor'
    or a function), in each of them.

    width: of as many neighbours each, a power of two; by default the wave, or the block where that is smaller.
    """
    size, threads = _indices.wave_size(), _threads("wave_reduce")
    width = min(size, threads) if width is None else width
    if not isinstance(width, int) or not _is_power_of_two(width) or width > size:
        raise UsageError(f"[wave_reduce] width is {width!r}: a power of two up to the wave's {size} lanes")
    if threads % width:
        raise UsageError(f"[wave_reduce] {threads} threads of a block are no whole groups of {width}: say width=")
    combine, value = _operation("wave_reduce", op), _lang.machine_value(_lang.valued(value))
    mask = 1
    while mask < width:
        value = combine(value, _lang.shuffle_xor(value, mask))
        mask *= 2
    return value


def block_reduce(value, op="add"):
    """The values of a block's threads by op, in each of them. All threads of the block call it."""
    size, threads = _indices.wave_size(), _threads("block_reduce")
    if threads <= size and _is_power_of_two(threads):
        return wave_reduce(value, op)
    if threads % size:
        raise UsageError(f"[block_reduce] a block of {threads} threads: whole waves of {size} are wanted")
    combine, value = _operation("block_reduce", op), wave_reduce(value, op)
    waves = threads // size
    partial = _lang.shared(waves, value.dtype)
    thread = _indices.thread()
    _lang.begin_if(thread % size == 0)
    _lang.store(partial, thread // size, value)
    _lang.end_if()
    _lang.barrier()
    values = [_lang.load(partial, i) for i in range(waves)]
    _lang.barrier()
    while len(values) > 1:
        pairs = [combine(a, b) for a, b in zip(values[::2], values[1::2])]
        values = pairs + values[len(values) - len(values) % 2 :]
    return values[0]


def _first_of_scan(what, op, exclusive, initial):
    if not exclusive or initial is not None:
        return initial
    if op not in ("add", "or", "xor", "mul"):
        raise UsageError(f"[{what}] exclusive by {op!r} has no value for the first thread: say initial=")
    return int(op == "mul")


def _scan_width(what, width, most, of):
    if width is None:
        return most
    if type(width) is not int or not 1 <= width <= most or most % width:
        raise UsageError(f"[{what}] width is {width!r}: a divisor of {of}, {most}")
    return width


def wave_scan(value, op="add", *, exclusive=False, initial=None, width=None):
    """The values of a wave's lanes up to each, by op.

    exclusive: of those before each lane; the first has `initial`, by default 0 of 'add', 'or' and 'xor', 1 of 'mul'.
    width: of as many neighbours each, by default the wave.
    """
    from ._lanes import shuffle_up

    combine, initial = _operation("wave_scan", op), _first_of_scan("wave_scan", op, exclusive, initial)
    width = _scan_width("wave_scan", width, _indices.wave_size(), "the wave's lanes")
    value, place, distance = _lang.machine_value(_lang.valued(value)), _indices.lane() % width, 1
    while distance < width:
        before = shuffle_up(value, distance)
        value = _lang.merge(place >= distance, combine(before, value), value)
        distance *= 2
    if not exclusive:
        return value
    return _lang.merge(place >= 1, shuffle_up(value, 1), value.dtype(initial))


def block_scan(value, op="add", *, exclusive=False, initial=None, width=None):
    """The values of a block's threads up to each, by op. All threads of the block call it.

    exclusive: of those before each thread; the first has `initial`, by default 0 of 'add', 'or' and 'xor', 1 of 'mul'.
    width: of as many neighbours each, by default the block.
    """
    threads, combine = _threads("block_scan"), _operation("block_scan", op)
    initial = _first_of_scan("block_scan", op, exclusive, initial)
    width = _scan_width("block_scan", width, threads, "the block's threads")
    value, thread = _lang.machine_value(_lang.valued(value)), _indices.thread()
    place = thread if width == threads else thread % width
    shared, distance = _lang.shared(threads, value.dtype), 1
    while True:
        done = distance >= width
        if done and not exclusive:
            return value
        _lang.store(shared, thread, value)
        _lang.barrier()
        back = 1 if done else distance
        _lang.begin_if(place >= back)
        before = _lang.load(shared, thread - back)
        _lang.end_if()
        _lang.barrier()
        if done:
            return _lang.merge(place >= 1, before, value.dtype(initial))
        value = _lang.merge(place >= distance, combine(before, value), value)
        distance *= 2
