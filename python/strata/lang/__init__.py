"""The language of kernels that are Python functions: what a function under @strata.kernel computes with.

    from strata import lang

    @strata.kernel(grid=lambda out, a, b, n: lang.cdiv(n, 256), block=256)
    def add(out: lang.Tensor, a: lang.Tensor, b: lang.Tensor, n):
        i = lang.block_idx.x * 256 + lang.thread_idx.x
        if i < n:
            out[i] = a[i] + b[i]

docs/language.md
"""

import builtins as _builtins
import sys as _sys

from .. import _names, _strata
from .._checks import show as _show
from ._arguments import register_argument
from ._atomics import (
    atomic_add,
    atomic_add_pair,
    atomic_and,
    atomic_compare_exchange,
    atomic_dec,
    atomic_exchange,
    atomic_inc,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xor,
    fence,
    trap,
    wave_barrier,
)
from ._collectives import _threads, block_reduce, block_scan, wave_reduce, wave_scan
from ._dynamic import TensorSpec, dynamic, pointer
from ._flow import cond, loop, while_loop
from ._indices import block_dim, block_idx, grid_dim, lane, thread, thread_idx, wave, wave_size
from ._inline import extern, inline_asm, sched_barrier, sched_group_barrier, set_priority
from ._lanes import all, any, ballot, shuffle_down, shuffle_idx, shuffle_up, shuffle_xor
from ._math import (
    FUNCTIONS as _FUNCTIONS,
    cbrt,
    cdiv,
    clamp,
    clz,
    ctz,
    erfc,
    fma,
    fmax,
    fmin,
    popcount,
    reverse_bits,
    select,
)
from ._messages import device_assert, printf
from ._random import philox, rand, randint, randn
from ._ranges import Range as _Range, static_range
from ._struct import Array, check_align as _check_align, is_struct as _is_struct, storage_of as _storage_of, struct

TYPE_CHECKING = False
if TYPE_CHECKING:  # a type checker sees no values: any use of a parameter is right
    from typing import Any as Constexpr, Any as Tensor
else:
    from ._arguments import Constexpr, TensorArgument as Tensor
del TYPE_CHECKING

_lang = _strata._lang
Value, View = _lang.Value, _lang.View
for _name in (
    *("make_view", "identity", "bounded", "make_fragment_like"),
    *("MmaAtom", "TiledMma", "make_tiled_mma", "gemm", "warpgroup_layout"),
    *("CopyAtom", "TiledCopy", "make_tiled_copy", "make_tiled_copy_tv", "copy", "autovec_copy", "gather", "scatter"),
    *("make_tiled_copy_A", "make_tiled_copy_B", "make_tiled_copy_C"),
):
    globals()[_name] = getattr(_lang, _name)
globals().update(_FUNCTIONS)


def barrier():
    """All threads of the block come here, and see what the others stored before."""
    _lang.barrier()


def async_commit():
    """The thread's asynchronous copies since its last async_commit are a group, which async_wait counts."""
    _lang.async_commit()


def async_wait(groups=0):
    """Waits until at most this number of the thread's groups of copies, the last ones, are in flight.

    A barrier after it lets the whole block read what its threads copied.
    """
    _lang.async_wait(groups)


def range(*bounds, unroll=None, stages=None):
    """range(stop), range(start, stop), range(start, stop, step): a loop of the kernel.

    unroll: steps that follow each other without a test. stages: parts of the lang.shared memory that the loop copies
    to. Copies come ahead of the step that reads them; UsageError says why where they cannot.
    """
    return _Range.of(*bounds).scheduled(unroll, stages)


def copy_tile(src, dst):
    """Copies a view to another by all threads of the block together."""
    _lang.copy_tile(src, dst, thread(), _threads("copy_tile"))


def shared(shape, dtype="float32", *, align=16):
    """Memory that the threads of a block share, by a shape or a layout, or as a class under @lang.struct describes.

    align: bytes that its address is a multiple of, a power of two up to 16.
    """
    _check_align("shared", align)
    return _storage_of(shape) if _is_struct(shape) else _lang.shared_view(shape, dtype)


def registers(shape, dtype="float32"):
    """Memory of each thread, by a shape or a layout."""
    return _lang.register_view(shape, dtype)


__getattr__ = _names("strata.lang", _sys.modules[__name__], "LANG")
__all__ = sorted(name for name in _builtins.list(globals()) if not name.startswith("_"))
_show(globals())
