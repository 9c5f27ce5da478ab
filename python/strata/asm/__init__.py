"""The AMD assembler: LLVM-syntax text to code objects and back, and the typed assembler.

    from strata.asm import Assembler, rdna3 as r

    a = Assembler("gfx1100", name="add_one", block=256)
    x = a.argument("x")                                   # offset of the pointer in the kernel's arguments
    a.emit(r.s_load_b64(r.s[4:5], r.s[0:1], x))
    ...
    a.emit(r.s_endpgm())
    kernel = strata.asm_kernel(a, grid=1024)

strata.asm.rdna3, .rdna4 and .cdna3 have the registers and mnemonics of gfx1100, gfx1201 and gfx942.

Registers, LDS and branch distances are counted by the assembler. A wrong operand raises AssemblyError with its place.
"""

import difflib
import json
import os
import sys

from .. import _strata
from .._checks import show
from ._instruction import Constants, Instruction, Label

__all__ = [
    "Assembler",
    "Constants",
    "Instruction",
    "Label",
    "assemble",
    "assemble_instructions",
    "describe",
    "disassemble",
    "disassemble_instructions",
    "lint",
]


def assemble(text, arch="gfx1100", file="<asm>") -> bytes:
    """LLVM-syntax text with its directives -> code object. Raises AssemblyError with file:line:column; faults name
    file:line too.
    """
    return _strata._assemble(text, arch, os.fsencode(file))


def assemble_instructions(text, arch="gfx1100", wave_size=0) -> bytes:
    """Bare instructions -> machine code, as emulator.run_wave takes it. wave_size: 32, 64, or 0 for the arch's own."""
    return _strata._assemble_instructions(text, arch, wave_size)


def disassemble(code_object, arch="", wave_size=0) -> str:
    """A code object -> a listing with each kernel's resources. With `arch`: bare machine code -> its instructions."""
    if arch:
        return "".join(f"{text}\n" for _, _, text in disassemble_instructions(code_object, arch, wave_size))
    return _strata._disassemble(bytes(code_object))


def disassemble_instructions(code, arch="gfx1100", wave_size=0):
    """Bare machine code -> list of (byte offset, bytes, text). wave_size: 32, 64, or 0 for the arch's own."""
    return _strata._disassemble_instructions(bytes(code), arch, wave_size)


def lint(code_object, kernel="") -> list:
    """Findings in the kernels of a code object, without running them: a dict for each.

    kind ("missing-wait", "hazard", "register-range", ...), kernel, pc (bytes from the kernel's start), instruction.
    file, line and column, where the object has line tables. what is wrong and the fix. earlier: the place of the
    instruction that it conflicts with. text: all of it in one line. kernel: one of them alone. Raises UsageError,
    Unsupported.
    """
    found = []
    for lines, text in _strata._lint(bytes(code_object), kernel):
        found += [{**finding, "text": line} for finding, line in zip(json.loads(text), lines, strict=True)]
    return found


def describe(mnemonic, arch="gfx1100") -> list:
    """Facts of a mnemonic in the instruction tables: a dict for each format it is encoded in, the smallest first.
    RDNA's matrix products have one more for wave64.

    format, opcode. destinations and sources (type, dwords, takes: "vgpr", "sgpr", "inline", "literal", "agpr"). flags
    and modifiers. counters: what it adds to until it is done ("vmcnt", "lgkmcnt", ...; of an atomic without a result).
    latency: kind, issue (clocks until its unit is free), result (clocks until a dependent instruction; memory: idle and
    near), and passes of a matrix instruction. reads and writes: registers beside its operands ("destination": its old
    value matters).
    """
    name = mnemonic
    for suffix in ("_e32", "_e64", "_dpp", "_sdwa"):
        name = name.removesuffix(suffix)
    forms = _strata._describe(name, arch)
    if not forms:
        near = difflib.get_close_matches(name, _strata._mnemonics(arch), 3)
        raise _strata.AssemblyError(
            f"{arch} has no instruction {mnemonic}" + (f"; near it: {', '.join(near)}" if near else "")
        )
    return forms


class Assembler:
    """Writes one kernel instruction by instruction.

    arch: "gfx1100", "gfx1201", "gfx942" or "gfx90a". name: of the kernel. block: threads of a workgroup, an int or up
    to three; grid: workgroups (both may be given to asm_kernel instead). grid_dims: how many workgroup ids the code
    reads (s2, s3, s4); the dimensions of the grid when None. scratch: bytes a lane. The code starts with the argument
    pointer in s[0:1], the workgroup id in s2 (gfx1201: ttmp9) and the thread index in v0.
    """

    def __init__(
        self,
        arch="gfx1100",
        *,
        name="kernel",
        block=None,
        grid=None,
        grid_dims=None,
        hidden_args=False,
        scratch=0,
        wave_size=0,
    ):
        self._core = _strata._Assembler(arch, wave_size)
        self.arch, self.name, self.block, self.grid = arch, name, block, grid
        self._options = (grid_dims, hidden_args)
        self._scratch = scratch
        self._labels = 0

    def argument(self, name="", kind="global_buffer", size=8) -> int:
        """Adds a kernel argument; returns its byte offset from the pointer in s[0:1]."""
        return self._core.add_argument(name, kind, size)

    def lds(self, size, align=16) -> int:
        """Reserves LDS bytes; returns their address."""
        return self._core.declare_lds(size, align)

    def constants(self, data, align=16) -> Constants:
        """Adds read-only bytes (or a NumPy array) that lie beside the code; align: a power of two up to 256."""
        frame = sys._getframe(1)
        data = bytes(memoryview(data).cast("B"))
        return Constants(self._core.add_constants(data, align, frame.f_code.co_filename, frame.f_lineno), len(data))

    def address_of(self, constants, pair):
        """Appends three instructions that put the address of constants into a pair of scalar registers; they change
        SCC.
        """
        frame = sys._getframe(1)
        self._core.emit_address(constants.offset, str(pair), frame.f_code.co_filename, frame.f_lineno)

    def label(self, name="") -> Label:
        """A place to branch to, before or after it is bound with place()."""
        self._labels += 1
        return Label(name or f".L{self._labels}")

    def place(self, label):
        """Binds a label to the next instruction."""
        frame = sys._getframe(1)
        self._core.emit_line(f"{label.name}:", frame.f_code.co_filename, frame.f_lineno)

    def emit(self, *instructions):
        """Appends instructions of strata.asm.rdna3, .rdna4 or .cdna3, or lines of LLVM-syntax text. Raises
        AssemblyError with file and line.
        """
        frame = sys._getframe(1)
        for i in instructions:
            self._core.emit_line(str(i), frame.f_code.co_filename, frame.f_lineno)

    def emit_text(self, text, file="<asm>"):
        """Appends lines of LLVM-syntax text: instructions, labels and comments. Errors give the file and the text's
        line.
        """
        for number, line in enumerate(text.splitlines(), 1):
            self._core.emit_line(line, file, number)

    def code(self) -> bytes:
        """The machine code so far, branches resolved."""
        return self._core.code()

    def finish(self, grid=None) -> bytes:
        """The code object: resources and metadata from the code and the arguments. grid: when the constructor was given
        none.
        """
        grid = self.grid if grid is None else grid
        block = self.block if self.block is not None else 1024
        block = (block,) if isinstance(block, int) else tuple(block)
        grid_dims, hidden = self._options
        if grid_dims is None:
            grid_dims = 1 if grid is None or isinstance(grid, int) else len(grid)
        return self._core.finish(self.name, block + (1,) * (3 - len(block)), grid_dims, hidden, 0, self._scratch)


from . import cdna3, rdna3, rdna4  # noqa: E402

show(globals())
