"""RDNA4 (gfx1201): registers v[..], s[..] and ttmp[..], and one function a mnemonic: v_add_f32(v[0], v[1], s[2]).

Workgroup ids are in ttmp[9] (x) and ttmp[7] (y in the lower half, z in the upper one). Temporal hints and scopes of memory
instructions are names: th="TH_LOAD_NT", scope="SCOPE_DEV".
"""

from ._instruction import Register, RegisterFile, dual, family

v, s, ttmp = RegisterFile("v", 256), RegisterFile("s", 106), RegisterFile("ttmp", 16)
vcc, vcc_lo, exec_lo, exec_hi, m0, null, off = (Register(n) for n in ("vcc", "vcc_lo", "exec_lo", "exec_hi", "m0", "null", "off"))
__getattr__, _listing = family("gfx1201", __doc__)


def __dir__():
    return [*globals(), *_listing()]
