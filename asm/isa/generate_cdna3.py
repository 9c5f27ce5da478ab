"""CDNA3: the encodings of generate_cdna.py for gfx942."""
from generate_cdna import MARKER, MIMG_FILLINGS, TYPES, formats, probe_dpp  # noqa: F401

CPU = 'gfx942'
FORMATS = formats(CPU)
