"""CDNA2: the encodings of generate_cdna.py for gfx90a."""
from generate_cdna import MARKER, MIMG_FILLINGS, SPECIAL, formats, probe_dpp  # noqa: F401

CPU = 'gfx90a'
FORMATS = formats(CPU)
NOT_ON_SILICON = ''
