"""RDNA3 (gfx1100): registers v[..] and s[..], and one function a mnemonic: v_add_f32(v[0], v[1], s[2])."""

from ._instruction import Mnemonic, waits as waits
from ._rdna import *

def __getattr__(name: str) -> Mnemonic: ...
