#!/usr/bin/env python3
"""Faults: what a wrong kernel says, and that the process lives on.

On a GPU each of these ends the process, hangs it, or passes unseen. Look at the caret: the emulator knows the line, the
lane and the address.
"""

import re
import textwrap

import numpy as np
import strata
from strata import Tensor

HEADER = "#include <hip/hip_runtime.h>\n"
OFF_BY_ONE = """\
extern "C" __global__ void off_by_one(float* out, const float* x) {
    int i = threadIdx.x;
    out[i] = x[i + 1] - x[i];
}"""
BEYOND = """\
extern "C" __global__ void beyond(float* out, const float* x) {
    __shared__ float tile[32];
    tile[threadIdx.x * 700] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[31 - threadIdx.x];
}"""
ENDLESS = """\
extern "C" __global__ void endless(float* out, volatile const float* x) {
    while (x[0] >= 0) {}
    out[threadIdx.x] = 1;
}"""
MISTAKE = """\
extern "C" __global__ void mistake(float* out, const float* x) {
    out[threadIdx.x] = y[threadIdx.x];
}"""
KERNELS = [
    ("one element too far", strata.MemoryFault, OFF_BY_ONE),
    ("beyond a block's local memory", strata.MemoryFault, BEYOND),
    ("a loop that never ends", strata.Error, ENDLESS),
    ("a mistake in the source", strata.CompileError, MISTAKE),
]


def show(source, error):
    """The error, and a caret under the place in the source that it names."""
    message = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    print(textwrap.fill(message, 110, initial_indent="  ", subsequent_indent="    ", break_long_words=False))
    if place := re.search(r"\w+\.hip:(\d+):(\d+)", str(error)):
        line, column = int(place[1]), int(place[2])
        print(f"    {line:3d} | {source.splitlines()[line - 1]}\n        | {' ' * (column - 1)}^")


def main():
    x = Tensor(np.arange(32, dtype=np.float32)).realize()
    for what, expected, text in KERNELS:
        print(f"\n{what}:")
        name = re.search(r"void (\w+)", text)[1]
        try:
            with strata.config(emu_budget=100_000):
                kernel = strata.hip_kernel(HEADER + text, name=name, grid=1, block=32)
                Tensor.empty(32).custom_kernel(x, kernel=kernel)[0].numpy()
            raise SystemExit(f"{name} was not caught")
        except expected as e:
            show(HEADER + text, e)
            assert name in str(e) or isinstance(e, strata.CompileError)
        assert x.sum().item() == 496, "the device lives on, its memory is as it was"
    print("\nafter four of them the device still computes: x.sum() ==", (x + 0).sum().item())


if __name__ == "__main__":
    main()
