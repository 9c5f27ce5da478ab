"""The emulated GPU below the HIP interface: single waves."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

class WaveState:
    """A wave's registers after its last instruction."""
    @property
    def vgpr(self) -> NDArray[np.uint32]:
        """uint32 (256, lanes); gfx942 and gfx90a: (512, lanes), the accumulation registers from row 256 on."""
    @property
    def sgpr(self) -> NDArray[np.uint32]:
        """uint32 (106,)."""
    @property
    def lds(self) -> NDArray[np.uint8]:
        """uint8 (size,)."""
    @property
    def exec_mask(self) -> int:
        """One bit a lane."""
    @property
    def vcc(self) -> int:
        """One bit a lane."""
    @property
    def scc(self) -> bool:
        """The scalar condition code."""
    @property
    def m0(self) -> int:
        """Register m0."""
    @property
    def mode(self) -> int:
        """Register MODE: rounding, denormals, exceptions."""
    @property
    def instructions(self) -> int:
        """Instructions run."""
    @property
    def pc(self) -> int:
        """Byte offset of the last instruction."""

class FormatCoverage:
    """How many instruction forms of one encoding format execute."""
    @property
    def format(self) -> str:
        """"VOP3", ..."""
    @property
    def rows(self) -> int:
        """Instruction forms in the table."""
    @property
    def executed(self) -> int:
        """Forms that execute."""
    @property
    def graphics(self) -> int:
        """Image, export, ray-tracing and interpolation instructions: not executed."""
    @property
    def missing(self) -> list[str]:
        """Compute instructions that are refused when code is loaded."""

def coverage(arch: str) -> list[FormatCoverage]:
    """What the emulator executes of an instruction set ("gfx1100", ...), by encoding format. Raises UsageError for an unknown arch."""

class InstructionUse:
    """An instruction of a kernel and how near its results are to silicon's."""
    @property
    def mnemonic(self) -> str:
        """"v_exp_f32", ..."""
    @property
    def count(self) -> int:
        """In the code."""
    @property
    def executed(self) -> int | None:
        """By the waves of a launch (Launch.instructions); None: nobody counted."""
    @property
    def level(self) -> str:
        """exact (the ISA document fixes every bit), ulp (within its error band) or approximate (it says too little)."""
    @property
    def documented_ulp(self) -> float:
        """The ISA document's error band, of level ulp; else 0."""
    @property
    def source(self) -> str:
        """Documents and chapters that give the band, or "no documented bound"."""
    @property
    def here(self) -> str:
        """What the emulator does where it is free to choose."""

def fidelity(code_object: bytes, kernel: str = "") -> list[InstructionUse]:
    """The instructions a kernel's code can reach, with how near their results are to silicon's. kernel: the first one when empty.
    What a launch ran: with strata.config(emu_fidelity=True), strata.stats().launches[-1].instructions.
    Raises UsageError (no such kernel), Unsupported (an instruction that is not executed)."""

def run_wave(
    arch: str,
    code: bytes,
    *,
    vgpr: ArrayLike | None = None,
    sgpr: ArrayLike | None = None,
    exec_mask: int | None = None,
    vcc: int = 0,
    scc: int = 0,
    m0: int = 0,
    mode: int | None = None,
    lds: int | bytes | NDArray[Any] = 65536,
    scratch: int = 0,
    memory: Mapping[int, NDArray[Any] | bytearray] | None = None,
    wave_size: int | None = None,
    max_instructions: int = 1_000_000,
) -> WaveState:
    """Runs one wave as a workgroup of its own until s_endpgm and returns its WaveState.

    code: machine code. vgpr: uint32 (registers <= 256 or 512, lanes); sgpr: uint32 (<= 106,); missing registers are 0. exec_mask:
    all lanes by default. lds: size in bytes or initial bytes. scratch: bytes a lane. memory: {address: writable contiguous
    array}, mapped there and changed in place. wave_size: 32 or 64, the arch's own by default.
    Raises MemoryFault (a bad address, more than max_instructions), Unsupported (an instruction that is not executed),
    UsageError.
    """
