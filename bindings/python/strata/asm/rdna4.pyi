"""RDNA4 (gfx1201): registers v[..], s[..] and ttmp[..], and one function a mnemonic: v_add_f32(v[0], v[1], s[2]).

Workgroup ids are in ttmp[9] (x) and ttmp[7] (y in the lower half, z in the upper one). Temporal hints and scopes of memory
instructions are names: th="TH_LOAD_NT", scope="SCOPE_DEV".
"""

from typing import Protocol

from ._instruction import Instruction, Label, Register, RegisterFile
from ._instruction import dual as dual

class Mnemonic(Protocol):
    """Operands in LLVM's order, None for 'off'; modifiers by name: offset=16, row_shr=8, clamp=True."""
    def __call__(self, *operands: Register | int | float | str | Label | None, **modifiers: bool | int | str | list[int]) -> Instruction: ...

v: RegisterFile
s: RegisterFile
ttmp: RegisterFile
vcc: Register
vcc_lo: Register
exec_lo: Register
exec_hi: Register
m0: Register
null: Register
off: Register

def __getattr__(name: str) -> Mnemonic: ...
