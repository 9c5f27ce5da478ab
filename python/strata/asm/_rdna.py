"""Parts that the modules of RDNA3 and RDNA4 share."""

from ._instruction import Register, RegisterFile, dual

v, s = RegisterFile("v", 256), RegisterFile("s", 106)
vcc, vcc_lo, exec_lo, exec_hi, m0, null, off = (
    Register(n) for n in ("vcc", "vcc_lo", "exec_lo", "exec_hi", "m0", "null", "off")
)
