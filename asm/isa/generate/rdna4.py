"""The encodings of RDNA4 (RDNA4 ISA, chapter 15), as rows.py fills them in. Memory instructions are three words
long; VBUFFER, VFLAT, VGLOBAL, VSCRATCH, VIMAGE and VEXPORT keep the names that RDNA3 has for them."""

from encoding import DS_FIELDS, SCALAR, Field, Format, interpolation
from rdna3 import FORMATS as RDNA3

MARKER = 0xBFA00000  # s_branch, whose 16-bit target tells candidates apart
CACHE = {"cache": 50}  # a bit of the scope; it comes with the temporal hint
BUFFER = [
    Field("vdata", 32, 8, "v", 64),
    Field("offen", 62, 1, "flag", 1),
    Field("vaddr", 64, 8, "v", 16),
    Field("srsrc", 41, 7, "s", 8),
    Field("soffset", 0, 7, "s", 4),
]
BUFFER_MODS = {"offset": 75, **CACHE, "tfe": 22}
OP_SEL_HI = Field("op_sel_hi", 0, 0, "ones", 3 << 59 | 1 << 14)  # must be ones where nothing is selected
FLAT = [Field("vdst", 32, 8, "v", 64), Field("vaddr", 64, 8, "v", 16), Field("vdata", 55, 8, "v", 32)]


def flat(base, fields):
    return Format(base, 14, 8, FLAT + fields, {"offset": 75, **CACHE}, 3)


FORMATS = {
    **SCALAR,
    "SMEM": Format(
        0xF4000000,
        13,
        6,
        [Field("sdst", 6, 7, "s", 64), Field("src0", 0, 6, "s", 16, 2), Field("src1", 57, 7, "null", 7)],
        {"offset": 34, "cache": 21},
        2,
    ),
    **{name: RDNA3[name] for name in ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD")},
    "VOP3P": Format(0xCC000000, 16, 7, RDNA3["VOP3P"].fields + [OP_SEL_HI], RDNA3["VOP3P"].mods, 2),
    "VINTERP": interpolation(op_bits=5),
    "VOPD": RDNA3["VOPD"],
    "DS": Format(0xD8000000, 18, 8, DS_FIELDS, {"offset": 3}, 2),
    "MUBUF": Format(0xC4000000, 14, 7, BUFFER, BUFFER_MODS, 3),
    "MTBUF": Format(0xC4200000 | 1 << 55, 14, 4, BUFFER, BUFFER_MODS, 3),
    "MIMG": Format(0xD0000000, 14, 8, words=3),
    "MIMG sample": Format(0xE4000000, 14, 8, words=3, first_opcode=256),
    "FLAT": flat(0xEC000000, [Field("saddr", 0, 7, "null", 8)]),
    "SCRATCH": flat(0xED000000, [Field("saddr", 0, 7, "opt", 8), Field("sve", 49, 1, "flag", 1)]),
    "GLOBAL": flat(0xEE000000, [Field("saddr", 0, 7, "null", 8)]),
    "LDSDIR": RDNA3["LDSDIR"],
    "EXP": RDNA3["EXP"],
}
# Image instructions need a dmask and dim to be valid at all; only their names are wanted.
MIMG_FILLINGS = [
    low | middle << 32 | (2 | 4 << 8) << 64
    for low in (15 << 22 | 1, 1 << 22, 15 << 22, 15 << 22 | 2, 1 << 22 | 3)
    for middle in (8 | 8 << 9 | 16 << 23, 8 | 8 << 9, 8 | 8 << 9 | 1 << 23)
]
# Mnemonics whose operands operands.py cannot tell from their words (RDNA4 ISA, chapter 16).
SPECIAL = [
    (r"s_cvt_pk_rtz_f16_f32", "pk16", "f32"),
    (r"s_barrier_(?:signal|signal_isfirst|init|join)|s_wakeup_barrier", "", "b32"),
    (r"s_get_barrier_state", "b32", "b32"),
    (r"s_sleep_var", "", "u32"),
    (r"v_mad_co_([ui]64)_([ui]32)", "$1 lanes", "$2 $2 $1"),
    (r"v_dot4_f32_\w+", "f32", "b32 b32 f32"),
    (r"v_cvt_f32_[fb][pf]8", "f32", "b32"),
    (r"v_cvt_pk_f32_[fb][pf]8", "b64", "b32"),
    (r"v_cvt_pk_[fb][pf]8_f32", "b32", "f32"),
    (r"v_cvt_sr_[fb][pf]8_f32", "b32", "f32 b32"),
    (r"v_permlanex?16_var_b32", "b32", "b32"),
]
# LLVM 19 lists the named barriers for gfx1201; the opcodes are not in the RDNA4 ISA document (SOP1 and SOPP opcodes).
NOT_ON_SILICON = r"s_barrier_(init|join|leave)|s_wakeup_barrier"
COUNTERS = {
    "scalar": "kmcnt",
    "local": "dscnt",
    "load": "loadcnt",
    "store": "storecnt",
    "sample": "samplecnt",
    "bvh": "bvhcnt",
}
BRANCH = 8  # clocks until the next instruction of the wave
DOUBLE = 32  # 1/64 of the dual-issue single-precision rate
# Clocks that a matrix product holds a SIMD, by the peak rates of the products. They are 512 operations a clock with
# 16-bit inputs, double with 8-bit ones, double that with 4-bit ones. The RX 9070 XT is advertised with 1557 sparse iu4
# TOPS, of 64 CUs at 2.97 GHz. That is 8192 a clock and CU, dense 4096, 8-bit 2048, 16-bit 1024.
MATRIX = [("16x16x64_iu4|wmma_i32_16x16x32_iu4", 8), ("iu4", 4), ("iu8|fp8|bf8", 8), ("", 16)]
