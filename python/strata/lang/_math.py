"""Functions of numbers, and of each element of register views."""

from .. import _strata
from .._strata import dtypes
from ._state import state

_lang = _strata._lang
View = _lang.View


def elementwise(name, of):
    """A function of values that computes with views of registers too, element by element."""

    def computed(*given):
        at = next((i for i, x in enumerate(given) if isinstance(x, View)), None)
        if at is None:
            return of(*given)
        first, *rest = given[at:]
        return first.map(lambda x, *more: of(*given[:at], x, *more), *rest)

    computed.__name__ = computed.__qualname__ = name
    computed.__doc__, computed.__module__ = of.__doc__, "strata.lang"
    return computed


_FAST = _lang.fast_functions()


def _function(name):
    """A row of ops/elementwise.def; fast= is for those that the chip has an instruction for."""
    of = getattr(_lang.functions, name)
    slow = elementwise(name, of)
    quick = elementwise(name, lambda *given: of(*given, fast=True))

    def computed(*given, fast=None):
        own = state.fast and name in _FAST and not _is_wide(given)
        return (quick if fast or (fast is None and own) else slow)(*given)

    computed.__name__ = computed.__qualname__ = name
    computed.__doc__, computed.__module__ = slow.__doc__, "strata.lang"
    return computed


def _is_wide(given):
    """Whether a float64 is among values: the decorator's hint leaves those as they are."""
    return any(isinstance(x, (View, _lang.Value)) and x.dtype == dtypes.float64 for x in given)


FUNCTIONS = {name: _function(name) for name in dir(_lang.functions) if not name.startswith("_")}


def _larger(x, y):
    return _lang.merge((x > y) | (y != y), x, y)


def _smaller(x, y):
    return _lang.merge((x < y) | (y != y), x, y)


def fmax(x, y):
    """The larger of two floats; a number where one of them is NaN."""
    return _FMAX(x, y)


def fmin(x, y):
    """The smaller of two floats; a number where one of them is NaN."""
    return _FMIN(x, y)


def fma(x, y, z):
    """x * y + z, of floats rounded once."""
    return _FMA(x, y, z)


def clamp(x, low, high):
    """x between low and high; NaN stays NaN."""
    return FUNCTIONS["minimum"](FUNCTIONS["maximum"](x, low), high)


def select(condition, x, y):
    """x where the condition is true, else y; both are computed."""
    return _SELECT(condition, x, y)


def popcount(x):
    """How many bits of an integer are set, an int32."""
    return _POPCOUNT(x)


def clz(x):
    """Zeros above the highest bit of an integer that is set; of 0 the type's width."""
    return _CLZ(x)


def ctz(x):
    """Zeros below the lowest bit of an integer that is set; of 0 the type's width."""
    return _CTZ(x)


def reverse_bits(x):
    """An integer with its lowest bit as the highest."""
    return _REVERSE(x)


def cbrt(x):
    """Cube root, of negative numbers too."""
    return _CBRT(x)


def erfc(x):
    """1 - erf(x), without loss where erf(x) is near 1."""
    return _ERFC(x)


def cdiv(a, b):
    """a / b rounded up, without overflow on the way."""
    return a // b + (a % b != 0)


_FMAX, _FMIN = elementwise("fmax", _larger), elementwise("fmin", _smaller)
_FMA, _SELECT = elementwise("fma", _lang.fma), elementwise("select", _lang.merge)


def _count(name):
    return elementwise(name, lambda x: getattr(_lang, name)(x).cast("int32"))


_POPCOUNT, _CLZ, _CTZ = (_count(name) for name in ("popcount", "clz", "ctz"))
_REVERSE, _CBRT, _ERFC = (elementwise(name, getattr(_lang, name)) for name in ("reverse_bits", "cbrt", "erfc"))
