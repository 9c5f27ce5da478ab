"""and, or, not, chains of comparisons and conditional expressions that decide now or in the kernel."""

import builtins
import sys

from .. import _strata
from ._carry import NOTHING, Differs, Value, is_number, kind_of, merged, refuse
from ._ranges import Range
from ._state import Join, state

_lang = _strata._lang


def nothing():
    return NOTHING


def plain(value):
    if type(value) is Value:
        refuse("a guard of match is decided while the kernel is traced: write an if in the case")
    return value


def subject(value):
    """The subject of a match with patterns that are values."""
    if type(value) is Value:
        refuse("a match compares while the kernel is traced, and this is a value of the kernel: write if and elif")
    return value


def asserted(value):
    if type(value) is Value:
        refuse(
            "an assert is decided while the kernel is traced, and this is a value of the kernel: write "
            "lang.device_assert(p, text)"
        )
    return value


class _Operand:
    def __init__(self, value, in_kernel, taken):
        self.value, self.in_kernel, self.taken = value, in_kernel, taken
        self.negated, self.kept = False, None
        self.join = Join(sys._getframe(2).f_lineno) if in_kernel else None


def when(value):
    """The first operand of and, or the test of a conditional expression: what follows is for where it is true."""
    in_kernel = type(value) is Value
    state.operands.append(_Operand(value, in_kernel, in_kernel or builtins.bool(value)))


def unless(value):
    """The first operand of or: what follows is for where it is false."""
    in_kernel = type(value) is Value
    state.operands.append(_Operand(value, in_kernel, in_kernel or not value))
    state.operands[-1].negated = True


def then():
    operand = state.operands[-1]
    if operand.in_kernel:
        _lang.begin_if(not_(operand.value) if operand.negated else operand.value)
    return operand.taken


def other():
    operand = state.operands[-1]
    if operand.in_kernel:
        _lang.begin_else()
        return True
    return not operand.taken


def _popped():
    operand = state.operands.pop()
    if operand.in_kernel:
        _lang.end_if()
    return operand


def _truth(value):
    return (
        value if type(value) is Value and value.dtype.is_bool else value != 0 if type(value) is Value else bool(value)
    )


def _is_bool(value):
    return type(value) is bool or type(value) is Value and value.dtype.is_bool


def _and(a, b):
    """a and b of numbers: b where a is true, else a, which is 0 in the type of b where a is a bool."""
    if _is_bool(b):
        return _truth(a) & _truth(b)
    return merged(_truth(a), b, 0 if _is_bool(a) else a)


def _or(a, b):
    """a or b of numbers: a where it is true, which is 1 in the type of b where a is a bool, else b."""
    if _is_bool(a) and _is_bool(b):
        return a | b
    return merged(_truth(a), 1 if _is_bool(a) else a, merged(b, 1, 0) if type(b) is Value and _is_bool(b) else b)


def both(first, second):
    above = state.operands.pop() if isinstance(state.operands[-1], _Kept) else None
    operand = _popped()
    if above:
        state.operands.append(above)
    if not operand.in_kernel:
        return second if operand.taken else operand.value
    if is_number(second):
        return _and(operand.value, second)
    refuse(f"and of a value of the kernel and {kind_of(second)}: it decides nothing in a kernel")


def either(first, second):
    operand = _popped()
    if not operand.in_kernel:
        return second if operand.taken else operand.value
    if is_number(second):
        return _or(operand.value, second)
    refuse(f"or of a value of the kernel and {kind_of(second)}: it decides nothing in a kernel")


def chosen(first, a, b):
    operand = _popped()
    if not operand.in_kernel:
        return a if operand.taken else b
    try:
        return merged(operand.value, a, b, operand.join)
    except Differs as found:
        refuse(f"a if p else b where the kernel decides: {found.how}: give both one type")


def not_(value):
    return ~_truth(value) if type(value) is Value else not value


def contains(value, held):
    """value in held: where one of them is of the kernel, whether the value is equal to one that is held."""
    if isinstance(held, Range):
        return _is_in_range(value, held)
    if not isinstance(held, (tuple, list, set, frozenset, dict)):
        return value in held
    if type(value) is not Value and not builtins.any(type(one) is Value for one in held):
        return value in held
    result = False
    for one in held:
        equal = _truth(value == one)
        if equal is True:
            return True
        if equal is not False:
            result = equal if result is False else result | equal
    return result


def _is_in_range(value, held):
    first, stop, step = held.start, held.stop, held.step
    if Value not in map(type, (value, first, stop)):
        return value in range(first, stop, step)
    inside = (value >= first) & (value < stop) if step > 0 else (value <= first) & (value > stop)
    return inside if step in (1, -1) else inside & ((value - first) % abs(step) == 0)


def none_of(*flags):
    """Whether no flag is set."""
    if builtins.any(flag is True for flag in flags):
        return False
    result = True
    for flag in flags:
        if flag is not False:
            result = ~flag if result is True else result & ~flag
    return result


class _Kept:
    def __init__(self, value):
        self.value = value


def keep(value):
    """An operand in the middle of a chain of comparisons, which is computed once."""
    state.operands.append(_Kept(value))
    return value


def link(value):
    middle = state.operands.pop() if state.operands and isinstance(state.operands[-1], _Kept) else None
    when(value)
    state.operands[-1].kept = middle


def kept():
    return state.operands[-1].kept.value


def returned(done, result):
    if result is NOTHING or done is False:
        return None
    if done is not True and result is not None and _lang.known(done) is not True:
        refuse(f"a function returns {kind_of(result)} one way and nothing the other: return a value both ways")
    return result
