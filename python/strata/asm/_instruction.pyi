"""Registers, labels and instructions as Python values."""

from collections.abc import Callable
from typing import Any, Protocol

class Label:
    """A place in the code."""

    name: str
    def __init__(self, name: str) -> None: ...

class Constants:
    """Data beside the code of a kernel: its offset in all of them and its size in bytes."""

    offset: int
    size: int
    def __init__(self, offset: int, size: int) -> None: ...

class Register:
    """One register or a range of neighbours; -r negates it and abs(r) takes its magnitude where the instruction can."""
    def __init__(self, text: str) -> None: ...
    def __neg__(self) -> Register: ...
    def __abs__(self) -> Register: ...

class RegisterFile:
    """v[3] is v3; v[4:7] is the four registers v4 to v7, both ends included as in the assembly language."""
    def __init__(self, letter: str, size: int) -> None: ...
    def __getitem__(self, key: int | slice) -> Register: ...

class Instruction:
    """A mnemonic with operands and modifiers; its text is LLVM's syntax."""

    mnemonic: str
    operands: tuple[Any, ...]
    modifiers: dict[str, Any]
    def __init__(self, mnemonic: str, operands: tuple[Any, ...], modifiers: dict[str, Any]) -> None: ...

class Dual(Instruction):
    """Two operations in one instruction."""
    def __init__(self, x: Instruction, y: Instruction) -> None: ...

def dual(x: Instruction, y: Instruction) -> Dual:
    """Two v_dual_* operations as one instruction (VOPD)."""

def sext(register: Register) -> Register:
    """A source of sub-dword addressing (_sdwa) that is sign-extended."""

def waits(**counts: int) -> str:
    """The operand of s_waitcnt: waits(vmcnt=0, lgkmcnt=0)."""

class Mnemonic(Protocol):
    """Operands in LLVM's order, None for 'off'; modifiers by name: offset=16, row_shr=8, clamp=True."""
    def __call__(
        self, *operands: Register | int | float | str | Label | None, **modifiers: bool | int | str | list[int]
    ) -> Instruction: ...

def family(arch: str, names: dict[str, Any]) -> tuple[Callable[[str], Mnemonic], Callable[[], list[str]]]:
    """__getattr__ and __dir__ of a family's module, which has one function a mnemonic besides the names it defines."""
