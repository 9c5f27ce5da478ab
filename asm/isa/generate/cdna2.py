"""CDNA2: the encodings of cdna.py for gfx90a."""

from cdna import BRANCH, COUNTERS, MARKER, MIMG_FILLINGS, SPECIAL, formats, probe_dpp  # noqa: F401

FORMATS = formats("cdna2")
NOT_ON_SILICON = ""
