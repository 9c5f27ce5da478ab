"""strata.arch: what authors of kernels decide by."""

from .. import _strata


def arch(name=""):
    """Facts of an architecture by its name, as strata.arch("gfx1201"); without one that of the default device.

    wave_size, lds_bytes, max_block, registers, access_bytes, max_grid, mma_atoms and copy_atoms.
    """
    return _strata._lang.Arch(name)
