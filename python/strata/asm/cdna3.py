"""CDNA3 (gfx942): registers v[..], accumulation registers a[..] and s[..], and one function a mnemonic.

v_mfma_f32_32x32x8_f16(a[0:15], v[0:1], v[2:3], 0, cbsz=1, abid=2)
v_add_f32_sdwa(v[0], v[1], sext(v[2]), dst_sel="WORD_1", dst_unused="UNUSED_PAD", src0_sel="BYTE_0", src1_sel="DWORD")
"""

from ._instruction import Register, RegisterFile, family, sext, waits

v, a, s, ttmp = RegisterFile("v", 256), RegisterFile("a", 256), RegisterFile("s", 102), RegisterFile("ttmp", 16)
vcc, vcc_lo, vcc_hi, exec, exec_lo, exec_hi, m0, off = (
    Register(n) for n in ("vcc", "vcc_lo", "vcc_hi", "exec", "exec_lo", "exec_hi", "m0", "off")
)
flat_scratch, flat_scratch_lo, flat_scratch_hi = (
    Register(n) for n in ("flat_scratch", "flat_scratch_lo", "flat_scratch_hi")
)
__getattr__, __dir__ = family("gfx942", globals())
