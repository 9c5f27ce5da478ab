"""CDNA3: the encodings of cdna.py for gfx942."""

from cdna import BRANCH, COUNTERS, MARKER, MIMG_FILLINGS, SPECIAL, formats, probe_dpp  # noqa: F401

FORMATS = formats("cdna3")
# LLVM 19 lists these for gfx942, whose silicon lacks them (CDNA3 ISA, MUBUF opcodes; llvm-project issue 55591).
NOT_ON_SILICON = r"buffer_wbinvl1(_vol)?|buffer_store_lds_dword"
