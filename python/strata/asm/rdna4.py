"""RDNA4 (gfx1201): registers v[..], s[..] and ttmp[..], and one function a mnemonic: v_add_f32(v[0], v[1], s[2]).

Workgroup ids are in ttmp[9] (x) and ttmp[7] (y in the lower half, z in the upper one). Temporal hints and scopes of
memory instructions are names: th="TH_LOAD_NT", scope="SCOPE_DEV".
"""

from ._instruction import RegisterFile, family
from ._rdna import *

ttmp = RegisterFile("ttmp", 16)
__getattr__, __dir__ = family("gfx1201", globals())
