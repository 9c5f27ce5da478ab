"""The AMD assembler: LLVM-syntax text to code objects and back, and the typed assembler."""

from typing import Any

import numpy as np

from .._types import Sizes
from . import cdna3 as cdna3, rdna3 as rdna3, rdna4 as rdna4
from ._instruction import Constants as Constants, Instruction as Instruction, Label as Label, Register

def assemble(text: str, arch: str = "gfx1100", file: str = "<asm>") -> bytes:
    """LLVM-syntax text with its directives -> code object. Raises AssemblyError with file:line:column."""

def assemble_instructions(text: str, arch: str = "gfx1100", wave_size: int = 0) -> bytes:
    """Bare instructions -> machine code, as emulator.run_wave takes it. wave_size: 32, 64, or 0 for the arch's own."""

def disassemble(code_object: bytes, arch: str = "", wave_size: int = 0) -> str:
    """A code object -> a listing with each kernel's resources. With `arch`: bare machine code -> its instructions."""

def disassemble_instructions(code: bytes, arch: str = "gfx1100", wave_size: int = 0) -> list[tuple[int, int, str]]:
    """Bare machine code -> list of (byte offset, bytes, text). wave_size: 32, 64, or 0 for the arch's own."""

def lint(code_object: bytes, kernel: str = "") -> list[dict[str, Any]]:
    """Findings in the kernels of a code object, without running them: a dict for each.

    kind ("missing-wait", "hazard", "register-range", ...), kernel, pc (bytes from the kernel's start), instruction.
    file, line and column, where the object has line tables. what is wrong and the fix. earlier: the place of the
    instruction that it conflicts with. text: all of it in one line. kernel: one of them alone. Raises UsageError,
    Unsupported.
    """

def describe(mnemonic: str, arch: str = "gfx1100") -> list[dict[str, Any]]:
    """Facts of a mnemonic in the instruction tables: a dict for each format it is encoded in, the smallest first.
    RDNA's matrix products have one more for wave64.

    format, opcode. destinations and sources (type, dwords, takes: "vgpr", "sgpr", "inline", "literal", "agpr"). flags
    and modifiers. counters: what it adds to until it is done ("vmcnt", "lgkmcnt", ...; of an atomic without a result).
    latency: kind, issue (clocks until its unit is free), result (clocks until a dependent instruction; memory: idle and
    near), and passes of a matrix instruction. reads and writes: registers beside its operands ("destination": its old
    value matters).
    """

class Assembler:
    """Writes one kernel instruction by instruction.

    arch: "gfx1100", "gfx1201", "gfx942" or "gfx90a". name: of the kernel. block: threads of a workgroup, an int or up
    to three; grid: workgroups (both may be given to asm_kernel instead). grid_dims: how many workgroup ids the code
    reads (s2, s3, s4); the dimensions of the grid when None. scratch: bytes a lane. The code starts with the argument
    pointer in s[0:1], the workgroup id in s2 (gfx1201: ttmp9) and the thread index in v0.
    """

    arch: str
    name: str
    block: Sizes | None
    grid: Sizes | None
    def __init__(
        self,
        arch: str = "gfx1100",
        *,
        name: str = "kernel",
        block: Sizes | None = None,
        grid: Sizes | None = None,
        grid_dims: int | None = None,
        hidden_args: bool = False,
        scratch: int = 0,
        wave_size: int = 0,
    ) -> None: ...
    def argument(self, name: str = "", kind: str = "global_buffer", size: int = 8) -> int:
        """Adds a kernel argument of `size` bytes; returns its byte offset from the pointer in s[0:1]."""
    def lds(self, size: int, align: int = 16) -> int:
        """Reserves LDS bytes; returns their address."""
    def constants(self, data: bytes | bytearray | memoryview | np.ndarray[Any, Any], align: int = 16) -> Constants:
        """Adds read-only bytes (or a NumPy array) that lie beside the code; align: a power of two up to 256."""
    def address_of(self, constants: Constants, pair: Register) -> None:
        """Appends three instructions that put the address of constants into a pair of scalar registers; they change
        SCC.
        """
    def label(self, name: str = "") -> Label:
        """A place to branch to, before or after it is bound with place()."""
    def place(self, label: Label) -> None:
        """Binds a label to the next instruction."""
    def emit(self, *instructions: Instruction | str) -> None:
        """Appends instructions of strata.asm.rdna3, .rdna4 or .cdna3, or lines of LLVM-syntax text. Raises
        AssemblyError with file and line.
        """
    def emit_text(self, text: str, file: str = "<asm>") -> None:
        """Appends lines of LLVM-syntax text: instructions, labels and comments. Errors give the file and the text's
        line.
        """
    def code(self) -> bytes:
        """The machine code so far, branches resolved."""
    def finish(self, grid: Sizes | None = None) -> bytes:
        """The code object: resources and metadata from the code and the arguments."""
