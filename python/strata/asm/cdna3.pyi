"""CDNA3 (gfx942): registers v[..], accumulation registers a[..] and s[..], and one function a mnemonic.

v_mfma_f32_32x32x8_f16(a[0:15], v[0:1], v[2:3], 0, cbsz=1, abid=2)
v_add_f32_sdwa(v[0], v[1], sext(v[2]), dst_sel="WORD_1", dst_unused="UNUSED_PAD", src0_sel="BYTE_0", src1_sel="DWORD")
"""

from ._instruction import Mnemonic, Register, RegisterFile, sext as sext, waits as waits

v: RegisterFile
a: RegisterFile
s: RegisterFile
ttmp: RegisterFile
vcc: Register
vcc_lo: Register
vcc_hi: Register
exec: Register
exec_lo: Register
exec_hi: Register
m0: Register
off: Register
flat_scratch: Register
flat_scratch_lo: Register
flat_scratch_hi: Register

def __getattr__(name: str) -> Mnemonic: ...
