"""Code objects as bytes that can be changed in place: a kernel's instructions, its descriptor, its metadata."""

import re
import struct
from bisect import bisect_right
from dataclasses import dataclass, field

import strata
from strata import asm

REGISTER = re.compile(r"(?<![\w.])([vsa]|ttmp)(?:(\d+)|\[(\d+):(\d+)\])(?!\w)")
NAMED = re.compile(r"(?<![\w.])(vcc|vcc_lo|vcc_hi|m0)(?!\w)")
BRANCH = re.compile(r"s_c?branch\w*$")
PC_RELATIVE = ("s_branch", "s_cbranch", "s_call", "s_getpc", "s_setpc", "s_swappc", "s_endpgm")


def registers(text):
    """Registers that an operand names: {("v", 3), ...}."""
    out = set()
    for bank, one, low, high in REGISTER.findall(text):
        out |= {(bank, n) for n in (range(int(low), int(high) + 1) if low else [int(one)])}
    for name in NAMED.findall(text):
        out |= (
            {("m0", 0)} if name == "m0" else {("vcc", n) for n in {"vcc": (0, 1), "vcc_lo": (0,), "vcc_hi": (1,)}[name]}
        )
    return out


@dataclass
class Instruction:
    offset: int  # in the file
    address: int
    bytes: bytes
    text: str
    operands: list = field(init=False)

    def __post_init__(self):
        self.mnemonic, _, rest = self.text.partition(" ")
        second = re.search(r"::\s*\w+ (\S+),", rest)  # of a dual instruction
        self.first = registers(re.split(r",\s", rest, maxsplit=1)[0]) | registers(second[1] if second else "")
        self.operands = re.split(r",\s*(?![^\[(]*[\])])", rest.strip()) if rest else []

    @property
    def name(self):
        return re.sub(r"_(e32|e64|dpp|sdwa|e64_dpp)$", "", self.mnemonic)

    @property
    def all(self):
        """All registers that its operands name."""
        return set().union(*(registers(op) for op in self.operands))

    @property
    def size(self):
        return len(self.bytes)

    def target(self):
        """Where a branch leads, or None."""
        return self.address + 4 + 4 * struct.unpack("<h", self.bytes[:2])[0] if BRANCH.match(self.mnemonic) else None


def symbols(image):
    """(address, size) of each symbol of an ELF file, by name."""
    offset, entry, count = *struct.unpack_from("<Q", image, 0x28), *struct.unpack_from("<HH", image, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, offset + n * entry) for n in range(count)]
    out = {}
    for section in sections:
        if section[1] not in (2, 11):  # SHT_SYMTAB, SHT_DYNSYM
            continue
        names = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], 24):
            name, _, _, defined, value, size = struct.unpack_from("<IBBHQQ", image, at)
            end = image.index(b"\0", names + name)
            if defined:
                out[image[names + name : end].decode()] = (value, size)
    return out


class Object:
    """One kernel of a code object."""

    def __init__(self, image, kernel=""):
        self.image = bytes(image)
        self.arch = strata._strata._arch_of(self.image)  # refuses what is no code object
        self.symbols, self.segments = symbols(self.image), self._segments()
        kernels = sorted(name[:-3] for name in self.symbols if name.endswith(".kd"))
        if kernel and kernel not in kernels or not kernels:
            raise strata.UsageError(
                f"no kernel '{kernel}'; there {'are' if kernels else 'is none'} {', '.join(kernels)}"
            )
        if not kernel and len(kernels) > 1:
            raise strata.UsageError(f"{len(kernels)} kernels, say which by name: {', '.join(kernels)}")
        self.kernel = kernel or kernels[0]
        self.descriptor = self.file_offset(self.symbols[self.kernel + ".kd"][0])
        self.wave_size = 32 if struct.unpack_from("<H", self.image, self.descriptor + 56)[0] >> 10 & 1 else 64
        address, size = self.symbols[self.kernel]
        start = self.file_offset(address)
        listed = asm.disassemble_instructions(self.image[start : start + size], self.arch, self.wave_size)
        self.code = [
            Instruction(start + at, address + at, self.image[start + at : start + at + size], text)
            for at, size, text in listed
        ]
        self.targets = {i.target() for i in self.code}

    def _segments(self):
        offset, entry, count = *struct.unpack_from("<Q", self.image, 0x20), *struct.unpack_from("<HH", self.image, 0x36)
        headers = [struct.unpack_from("<IIQQQQQQ", self.image, offset + n * entry) for n in range(count)]
        return sorted((h[3], h[2], h[5]) for h in headers if h[0] == 1)

    def file_offset(self, address):
        start, offset, _ = self.segments[bisect_right(self.segments, (address, 1 << 64)) - 1]
        return offset + address - start

    def assemble(self, text):
        return asm.assemble_instructions(text, self.arch, self.wave_size)

    def patched(self, *patches):
        """The image with bytes replaced: (file offset, bytes) each."""
        out = bytearray(self.image)
        for at, data in patches:
            out[at : at + len(data)] = data
        return bytes(out)

    def size_field(self, which):
        """Where the descriptor and the metadata keep the bytes of LDS (0) or scratch (1): (offset, format), and the
        value.
        """
        at = self.descriptor + 4 * which
        value = struct.unpack_from("<I", self.image, at)[0]
        key = (b".group_segment_fixed_size", b".private_segment_fixed_size")[which]
        fields = [(at, "<I")]
        for match in re.finditer(re.escape(key), self.image):
            kind = self.image[match.end()]
            form = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I"}.get(kind)
            place = (match.end() + 1, form) if form else (match.end(), ">B")
            if struct.unpack_from(place[1], self.image, place[0])[0] == value:
                fields.append(place)
        return fields, value
