"""How the generators describe an encoding: where its opcode, register fields and modifier bits sit; and the encodings
that the families have in common.
"""


class Field:
    """A register field: where it sits, what it takes and the register number it is filled with."""

    def __init__(self, name, shift, bits, kind, number, scale=1):
        self.name, self.shift, self.bits, self.kind, self.number, self.scale = name, shift, bits, kind, number, scale

    def options(self):
        encoded = self.number // self.scale
        values = {
            "any": [("v", 256 + self.number), ("s", self.number)],
            "v": [("v", encoded)],
            "s": [("s", encoded)],
            "flag": [("flag", 1)],
            "ones": [("flag", self.number)],
            "null": [("null", 124), ("s", encoded)],
            "off": [("null", 127), ("s", encoded)],
            "opt": [("s", encoded)],
        }[self.kind]
        return [(letter, value << self.shift) for letter, value in values] + [("", 0)]


class Format:
    def __init__(self, base, op_shift, op_bits, fields=(), mods=None, words=1, first_opcode=0):
        self.base, self.op_shift, self.op_bits, self.fields = base, op_shift, op_bits, fields
        self.mods, self.words = mods or {}, words
        self.first_opcode = first_opcode  # added where two encodings share a format's opcode space


def mask_bits(name, *shifts):
    return {f"{name}{index}": shift for index, shift in enumerate(shifts)}


VOP3_SOURCES = [Field("src0", 32, 9, "any", 16), Field("src1", 41, 9, "any", 32), Field("src2", 50, 9, "any", 48)]
VDST, SDST7 = Field("vdst", 0, 8, "v", 64), Field("sdst", 16, 7, "s", 64)
VDST8 = Field("vdst", 17, 8, "v", 64)
SRC8 = [Field("src0", 0, 8, "s", 16), Field("src1", 8, 8, "s", 32)]
SRC9 = [Field("src0", 0, 9, "any", 16), Field("src1", 9, 8, "v", 32)]
FLAT_FIELDS = [Field("vdst", 56, 8, "v", 64), Field("vaddr", 32, 8, "v", 16), Field("vdata", 40, 8, "v", 32)]
DS_FIELDS = [
    Field("vdst", 56, 8, "v", 64),
    Field("src0", 32, 8, "v", 16),
    Field("src1", 40, 8, "v", 32),
    Field("src2", 48, 8, "v", 48),
]
SCALAR = {
    "SOP1": Format(0xBE800000, 8, 8, [SDST7, SRC8[0]]),
    "SOP2": Format(0x80000000, 23, 7, [SDST7, *SRC8]),
    "SOPK": Format(0xB0000000, 23, 5, [SDST7], {"simm": 0}),
    "SOPC": Format(0xBF000000, 16, 7, SRC8),
    "SOPP": Format(0xBF800000, 16, 7, [], {"simm": 0}),
}


def vector(vop3, vop3p):
    """The vector formats, of which VOP3 and VOP3P begin differently in each family."""
    neg = mask_bits("neg", 61, 62, 63)
    clamp = {"clamp": 15, "omod": 59}
    halves = {**mask_bits("abs", 8, 9, 10), **mask_bits("op_sel", 11, 12, 13, 14)}
    packed = {**mask_bits("neg_hi", 8, 9, 10), **mask_bits("op_sel", 11, 12, 13), **mask_bits("op_sel_hi", 59, 60, 14)}
    return {
        "VOP1": Format(0x7E000000, 9, 8, [VDST8, SRC9[0]]),
        "VOP2": Format(0x00000000, 25, 6, [VDST8, *SRC9]),
        "VOPC": Format(0x7C000000, 17, 8, SRC9),
        "VOP3": Format(vop3, 16, 10, [VDST, *VOP3_SOURCES], {**neg, **halves, **clamp}, 2),
        "VOP3SD": Format(vop3, 16, 10, [VDST, Field("sdst", 8, 7, "s", 80), *VOP3_SOURCES], {**neg, **clamp}, 2),
        "VOP3P": Format(vop3p, 16, 7, [VDST, *VOP3_SOURCES], {**neg, **packed, "clamp": 15}, 2),
    }


def interpolation(op_bits):
    """RDNA's VINTERP; the three bits that wait for EXPcnt are the immediate."""
    mods = {**mask_bits("neg", 61, 62, 63), **mask_bits("op_sel", 11, 12, 13, 14), "clamp": 15, "simm": 8}
    return Format(0xCD000000, 16, op_bits, [VDST, *VOP3_SOURCES], mods, 2)
