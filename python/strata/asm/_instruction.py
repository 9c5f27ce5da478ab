"""Registers, labels and instructions as Python values; the assembler's core checks them when they are emitted."""

import difflib

from .. import _strata


class Label:
    """A place in the code."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return self.name


class Constants:
    """Data beside the code of a kernel: its offset in all of them and its size in bytes."""

    def __init__(self, offset, size):
        self.offset, self.size = offset, size


class Register:
    """One register or a range of neighbours; -r negates it and abs(r) takes its magnitude where the instruction can."""

    def __init__(self, text):
        self._text = text

    def __str__(self):
        return self._text

    __repr__ = __str__

    def __neg__(self):
        return Register(f"-{self._text}")

    def __abs__(self):
        return Register(f"|{self._text}|")


class RegisterFile:
    """v[3] is v3; v[4:7] is the four registers v4 to v7, both ends included as in the assembly language."""

    def __init__(self, letter, size):
        self._letter, self._size = letter, size

    def __getitem__(self, key):
        if isinstance(key, slice):
            if key.step is not None or key.start is None or key.stop is None:
                raise _strata.AssemblyError(f"{self._letter}[first:last] names both ends")
            first, last = key.start, key.stop
        else:
            first = last = key
        if not (0 <= first <= last < self._size):
            raise _strata.AssemblyError(
                f"{self._letter}[{first}:{last}]: registers are {self._letter}0 to {self._letter}{self._size - 1}"
            )
        return Register(f"{self._letter}{first}" if first == last else f"{self._letter}[{first}:{last}]")


class Instruction:
    """A mnemonic with operands and modifiers; its text is LLVM's syntax."""

    def __init__(self, mnemonic, operands, modifiers):
        self.mnemonic, self.operands, self.modifiers = mnemonic, operands, modifiers

    def __str__(self):
        operands = ", ".join(_spell(o) for o in self.operands)
        modifiers = " ".join(_modifier(k, v) for k, v in self.modifiers.items() if v is not False)
        return " ".join(part for part in (self.mnemonic, operands, modifiers) if part)

    __repr__ = __str__


class Dual(Instruction):
    def __init__(self, x, y):
        self._x, self._y = x, y

    def __str__(self):
        return f"{self._x} :: {self._y}"


def dual(x, y):
    """Two v_dual_* operations as one instruction (VOPD)."""
    return Dual(x, y)


def _spell(operand):
    if operand is None:
        return "off"
    if isinstance(operand, bool) or not isinstance(operand, (int, float, str, Register, Label)):
        raise _strata.AssemblyError(f"{operand!r} is no operand; use a register, a number, a label, or None for 'off'")
    return repr(operand) if isinstance(operand, float) else str(operand)


def _modifier(name, value):
    if value is True:
        return name
    if isinstance(value, (list, tuple)):
        return f"{name}:[{','.join(str(v) for v in value)}]"
    return f"{name}:{value}"


def sext(register):
    """A source of sub-dword addressing (_sdwa) that is sign-extended."""
    return Register(f"sext({register})")


def waits(**counts):
    """The operand of s_waitcnt: waits(vmcnt=0, lgkmcnt=0)."""
    return " ".join(f"{k}({v})" for k, v in counts.items())


def family(arch, names):
    """__getattr__ and __dir__ of a family's module, which has one function a mnemonic besides the names it defines."""
    mnemonics = []

    def lookup(name):
        if not mnemonics:
            mnemonics.extend(_strata._mnemonics(arch))
        base = name
        for suffix in ("_e32", "_e64", "_dpp", "_sdwa"):
            base = base.removesuffix(suffix)
        if base not in mnemonics:
            close = difflib.get_close_matches(base, mnemonics, 3)
            raise AttributeError(
                f"{arch} has no instruction '{name}'" + (f"; close: {', '.join(close)}" if close else "")
            )

        def build(*operands, **modifiers):
            return Instruction(name, operands, modifiers)

        build.__name__ = build.__qualname__ = name
        build.__doc__ = f"{name}: operands in LLVM's order; modifiers by name (offset=16, row_shr=8, clamp=True)."
        return build

    def listing():
        return [*names, *sorted(_strata._mnemonics(arch))]

    return lookup, listing
