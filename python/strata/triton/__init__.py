"""Triton without a GPU: Strata as the driver of an installed triton, on emulated GPUs.

    import strata.triton
    strata.triton.activate("emu:gfx942", check="raise")
    add[(4,)](x, y, out, n, B=256)            # a @triton.jit function; x: a tensor, a NumPy array

The compiler is Triton's own. What it makes runs on the emulated GPU, in strict mode with check=, and its time is
modelled.
"""

from .active import activate, deactivate

__all__ = ["activate", "deactivate"]
