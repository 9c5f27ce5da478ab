"""Compiled functions as files: saved, loaded and run without a compiler. docs/artifacts.md has the format."""

from __future__ import annotations

from .artifact import Artifact
from .spec import Operand, Spec

__all__ = ["Artifact", "Operand", "Spec"]
