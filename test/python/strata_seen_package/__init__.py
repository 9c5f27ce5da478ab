"""A package whose module test_jit_sees.py changes."""

from . import inner  # noqa: F401
