"""The encodings of RDNA3 (RDNA3 ISA, chapter 15), as rows.py fills them in."""

from encoding import DS_FIELDS, FLAT_FIELDS, SCALAR, Field, Format, interpolation, vector

MARKER = 0xBFA00000  # s_branch, whose 16-bit target tells candidates apart
BUFFER = [
    Field("vdata", 40, 8, "v", 64),
    Field("offen", 54, 1, "flag", 1),
    Field("vaddr", 32, 8, "v", 16),
    Field("srsrc", 48, 5, "s", 8, 4),
    Field("soffset", 56, 8, "s", 4),
]
BUFFER_MODS = {"offset": 3, "glc": 14, "slc": 12, "dlc": 13, "tfe": 53}


def flat(segment, fields):
    return Format(0xDC000000 | segment << 16, 18, 7, fields, {"offset": 3, "glc": 14, "slc": 15, "dlc": 13}, 2)


FORMATS = {
    **SCALAR,
    "SMEM": Format(
        0xF4000000,
        18,
        8,
        [Field("sdst", 6, 7, "s", 64), Field("src0", 0, 6, "s", 16, 2), Field("src1", 57, 7, "null", 7)],
        {"offset": 34, "glc": 14, "dlc": 13},
        2,
    ),
    **vector(vop3=0xD4000000, vop3p=0xCC000000),
    "VINTERP": interpolation(op_bits=7),
    "VOPD": Format(0xC8000000, 17, 5, [Field("src0", 32, 9, "any", 17), Field("src1", 41, 8, "v", 33)], {}, 2),
    "DS": Format(0xD8000000, 18, 8, [*DS_FIELDS, Field("gds", 17, 1, "flag", 1)], {"offset": 3, "gds": 17}, 2),
    "MUBUF": Format(0xE0000000, 18, 8, BUFFER, BUFFER_MODS, 2),
    "MTBUF": Format(0xE8000000 | 1 << 19, 15, 4, BUFFER, BUFFER_MODS, 2),
    "MIMG": Format(0xF0000000, 18, 8, [], {}, 2),
    "FLAT": flat(0, FLAT_FIELDS + [Field("saddr", 48, 7, "null", 8)]),
    "SCRATCH": flat(1, FLAT_FIELDS + [Field("saddr", 48, 7, "opt", 8), Field("sve", 55, 1, "flag", 1)]),
    "GLOBAL": flat(2, FLAT_FIELDS + [Field("saddr", 48, 7, "null", 8)]),
    "LDSDIR": Format(0xCE000000, 20, 2),
    "EXP": Format(0xF8000000, 20, 1, [], {}, 2),
}
# Image instructions need a dmask and dim to be valid at all; only their names are wanted.
MIMG_FILLINGS = [
    low | high << 32
    for low in (1 << 2 | 15 << 8, 1 << 2 | 1 << 8, 1 << 8, 15 << 8 | 1 << 7)
    for high in (2 | 8 << 8 | 1 << 16 | 2 << 26, 2 | 8 << 8 | 1 << 16)
]
# RDNA3.5: the first chip of it. Its scalar floats are rows with the flag kRdna35.
LATER = "gfx1150"
# Mnemonics whose operands operands.py cannot tell from their words (RDNA3.5 ISA, chapter 16).
SPECIAL, NOT_ON_SILICON = [(r"s_cvt_pk_rtz_f16_f32", "pk16", "f32")], ""
# An MTBUF load whose format is filled in: RDNA4 has the same formats.
BUFFER_FORMATS = 0xE8000000 | (16 | 4 << 8 | 2 << 16 | 128 << 24) << 32
COUNTERS = {
    "scalar": "lgkmcnt",
    "local": "lgkmcnt",
    "load": "vmcnt",
    "store": "vscnt",
    "sample": "vmcnt",
    "bvh": "vmcnt",
}
BRANCH = 8  # clocks until the next instruction of the wave
DOUBLE = 16  # 1/32 of the dual-issue single-precision rate
# Clocks that a matrix product holds a SIMD, by the peak rates of the products. They are 256 operations a clock with 16-
# and 8-bit inputs, double with 4-bit ones. The source is GPUOpen, "WMMA on RDNA 3": operations a clock and CU of two
# SIMDs are 512, with iu4 1024.
MATRIX = [("iu4", 16), ("", 32)]
