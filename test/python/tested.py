"""Devices of the tests, which conftest.py decides."""

import os

EMULATED = os.environ["STRATA_DEVICE"].startswith("emu:")


def of_nvidia():
    if EMULATED:
        return False
    import strata

    return strata.device_properties()["arch"].startswith("sm_")


# Machine code is made directly in less time than through clang; NVIDIA's chips have neither.
QUICK_TARGET = "asm" if EMULATED else "auto"

# Code targets of kernels that name theirs: without a compiler, machine code alone.
TARGETS = ["asm"] if os.environ.get("TESTED_TOOLS") else ["asm", "hip"]


def programs_loaded():
    """How many were loaded since the process began: those that left for want of memory count on."""
    import strata

    stats = strata.stats()
    return stats.programs + stats.evicted_programs


def specialisations(kernel):
    """The count of compiled kernels that a strata.kernel holds, traced here or read from disk."""
    return len(kernel._specialised) + len(kernel._loaded)
