"""Numbers of threads, blocks, lanes and waves."""

import threading

from .. import _strata
from .._strata import UsageError

_lang = _strata._lang
_AXES = "xyz"
RING = 3  # beside the dimensions of the grid


class _Local(threading.local):
    launch = None
    machine = ""


_local = _Local()


def machine():
    """The architecture that kernels are traced for: that of the default device, unless Machine says another."""
    return _local.machine or _lang.arch_of(())


def chosen_machine():
    """The architecture that Machine says; empty without one."""
    return _local.machine


class Machine:
    """While it lasts, kernels of this thread are traced for an architecture."""

    def __init__(self, arch):
        self.arch = arch

    def __enter__(self):
        self.before, _local.machine = _local.machine, self.arch
        return self

    def __exit__(self, *exception):
        _local.machine = self.before


class Launch:
    """The launch, as far as a kernel knows it while it is traced."""

    def __init__(self, most_blocks, block, parameters):
        self.most_blocks, self.block, self.parameters = most_blocks, block, parameters
        self.sizes = {}  # of the grid, as parameters after all others; under RING the memory of messages
        self.messages = []

    def grid_size(self, dim):
        if dim not in self.sizes:
            self.sizes[dim] = _lang.number_parameter(self.parameters + len(self.sizes), "int32")
        return self.sizes[dim]

    def ring(self):
        """Memory for what threads say."""
        if RING not in self.sizes:
            from ._messages import WORDS

            slot = self.parameters + len(self.sizes)
            self.sizes[RING] = _lang.tensor_parameter(slot, _strata.dtypes.int32, WORDS + 1)
        return self.sizes[RING]

    def __enter__(self):
        self.before, _local.launch = _local.launch, self
        _lang.set_arch(machine())
        return self

    def __exit__(self, *exception):
        _local.launch = self.before
        _lang.set_arch("")


def launch(what):
    if _local.launch is None:
        raise UsageError(f"{what} is for kernels: use it in a function under @strata.kernel")
    return _local.launch


class Index:
    """thread_idx, block_idx, block_dim or grid_dim, by .x, .y and .z."""

    def __init__(self, name, of):
        self._name, self._of = name, of
        self.__doc__ = f"{name} of the launch: .x, .y and .z."

    def __repr__(self):
        return f"strata.lang.{self._name}"

    def __getattr__(self, axis):
        if axis not in _AXES or len(axis) != 1:
            raise AttributeError(f"{self._name} has .x, .y and .z, not .{axis}", name=axis)
        return self._of(launch(f"lang.{self._name}"), _AXES.index(axis))


thread_idx = Index("thread_idx", lambda launch, dim: _lang.special(True, dim, launch.block[dim]))
block_idx = Index("block_idx", lambda launch, dim: _lang.special(False, dim, launch.most_blocks[dim]))
grid_dim = Index("grid_dim", lambda launch, dim: launch.grid_size(dim))
block_dim = Index("block_dim", lambda launch, dim: launch.block[dim])


def wave_size():
    """Lanes of a wave: 32 or 64."""
    launch("lang.wave_size")
    return _strata._lang.wave_size_of(machine())


def thread():
    """The thread's number in its block, x fastest."""
    x, y, _ = launch("lang.thread").block
    number = thread_idx.x
    if launch("lang.thread").block[1] > 1:
        number = number + thread_idx.y * x
    if launch("lang.thread").block[2] > 1:
        number = number + thread_idx.z * (x * y)
    return number


def lane():
    """The thread's number in its wave."""
    return thread() % wave_size()


def wave():
    """The number of the thread's wave in its block."""
    return thread() // wave_size()
