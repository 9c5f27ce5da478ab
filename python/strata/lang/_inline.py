"""Texts that the compiler does not look into: instructions, and functions of HIP source. And hints to the hardware."""

from .. import _strata
from .._strata import DType, UsageError

_lang = _strata._lang


def _types(what, given):
    """Types, one or several, as a list; whether it was one."""
    single = isinstance(given, (str, DType))
    try:
        return [DType(t) if isinstance(t, str) else t for t in ([given] if single else list(given))], single
    except TypeError:
        raise UsageError(f"[{what}] takes a dtype or several, not {given!r}") from None


def inline_asm(text, outputs, inputs=()):
    """Values that a text of instructions computes from other values, and from nothing else.

    text: a line for each instruction, in which %0 is the first output, and inputs follow outputs. All are vector
    registers, of 32 or 64 bits; an output that nothing reads serves as a temporary. outputs: a dtype, or several of one
    width, for a tuple. The target asm takes AMD's vector instructions alone; the target hip takes what its compiler
    does, PTX on NVIDIA's chips. Both branches of a decision compute it.
    """
    types, single = _types("inline_asm", outputs)
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"[inline_asm] text is a string of instructions, not {text!r}")
    results = _lang.foreign(text, "", types, tuple(inputs))
    return results[0] if single else results


class _Extern:
    """A function of HIP source, for kernels of the target hip."""

    def __init__(self, hip_source, name, args, returns):
        if not isinstance(hip_source, str) or not hip_source.strip():
            raise UsageError(f"[extern] hip_source is text that defines {name}, not {hip_source!r}")
        if not isinstance(name, str) or not name.isidentifier():
            raise UsageError(f"[extern] {name!r} is no name of a function")
        self.hip_source, self.__name__ = hip_source, name
        self.args, _ = _types("extern", args)
        (self.returns, *more), _ = _types("extern", returns)
        if more:
            raise UsageError(f"[extern] {name} returns one number: give one dtype")

    def __call__(self, *given):
        if len(given) != len(self.args):
            raise UsageError(f"[extern] {self.__name__} takes {len(self.args)} numbers, and got {len(given)}")
        numbers = tuple(_lang.cast_number(x, kind) for x, kind in zip(given, self.args))
        return _lang.foreign(self.hip_source, self.__name__, [self.returns], numbers)[0]

    def __repr__(self):
        kinds = ", ".join(kind.name for kind in self.args)
        return f"lang.extern({self.hip_source!r}, {self.__name__!r}, ({kinds}), {self.returns.name})"


def extern(hip_source, name, args, returns):
    """A function of HIP source that kernels call: lang.extern("__device__ float f(float x) {...}", "f", ["float32"],
    "float32").

    args, returns: dtypes of 32 or 64 bits. Its result follows from its numbers alone, so that both branches of a
    decision compute it. For the target hip; kernels with it are Unsupported in the target asm.
    """
    return _Extern(hip_source, name, args, returns)


def set_priority(level):
    """From here on the wave has this priority among those of its vector unit, 0 to 3: a hint, which chips without
    priorities leave out. All threads come to it."""
    _lang.set_priority(level)


def sched_barrier(*kinds):
    """The compiler moves no instruction across this place but those of these kinds.

    kinds: "alu", "valu", "salu", "matrix", "vmem", "vmem_read", "vmem_write", "lds", "lds_read", "lds_write", "trans".
    A hint, which NVIDIA's chips leave out.
    """
    _lang.schedule(list(kinds), 0, 0)


def sched_group_barrier(kind, size, group=0):
    """The next `size` instructions of a kind come after those of the sched_group_barrier before it.

    Several of one group interleave kinds, as a load of local memory and two products in turn. They order instructions
    of the straight code that they stand in, from barrier to barrier. A hint, as sched_barrier.
    """
    if not isinstance(size, int) or not 0 < size < 1 << 15 or not isinstance(group, int) or not 0 <= group < 1 << 15:
        raise UsageError(f"[sched_group_barrier] size is 1 or more and group 0 or more, not {size!r} and {group!r}")
    _lang.schedule([kind], size, group)
