"""Kernels over views, traced by hand: what the tests of views, copies and products run."""

import contextlib

import numpy as np
import strata
from strata import Tensor, layout as lo, uop
from strata._strata import _lang as lang
from tested import TARGETS

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]
WAVE = {"gfx1100": 32, "gfx1201": 32, "gfx942": 64, "gfx90a": 64}


def row_major(shape):
    return lo.make_ordered_layout(tuple(shape), tuple(reversed(range(len(shape)))))


@contextlib.contextmanager
def tracing(arch):
    trace = lang.Trace()
    lang.set_arch(arch)
    try:
        yield trace
    finally:
        lang.set_arch("")
        trace.close()


def run(body, out, *inputs, block=32, grid=1, arch="gfx1100", target="asm", check="raise"):
    """body(thread, block, out, *inputs) over views of row-major tensors: out is (shape, dtype) or an array."""

    def kernel(*buffers):
        with tracing(arch) as trace:
            views = [lang.make_view(b, row_major(t.shape)) for b, t in zip(buffers, tensors, strict=True)]
            thread, place = lang.special(True, 0, block), lang.special(False, 0, grid)
            body(thread, place, *views)
            return trace.finish("tiles")

    with strata.config(device=f"emu:{arch}", target=target, check=check):
        result = Tensor(out) if isinstance(out, np.ndarray) else Tensor.empty(*out[0], dtype=out[1])
        tensors = [result, *(x if isinstance(x, Tensor) else Tensor(x) for x in inputs)]
        return tensors[0].custom_kernel(*tensors[1:], kernel=kernel)[0].numpy()


__all__ = ["ARCHS", "TARGETS", "WAVE", "lang", "lo", "np", "row_major", "run", "strata", "tracing", "uop"]
