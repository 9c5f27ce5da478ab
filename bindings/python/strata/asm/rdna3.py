"""RDNA3 (gfx1100): registers v[..] and s[..], and one function a mnemonic: v_add_f32(v[0], v[1], s[2])."""

from ._instruction import Register, RegisterFile, dual, family, waits

v, s = RegisterFile("v", 256), RegisterFile("s", 106)
vcc, vcc_lo, exec_lo, exec_hi, m0, null, off = (Register(n) for n in ("vcc", "vcc_lo", "exec_lo", "exec_hi", "m0", "null", "off"))
__getattr__, _listing = family("gfx1100", __doc__)


def __dir__():
    return [*globals(), *_listing()]
