#!/usr/bin/env python3
"""A kernel in HIP source, with shared memory and atomics, between two tensor expressions.

The kernel is what any AMD GPU would run: no host code, no GPU and no ROCm are needed to compile and to check it.
Look at the histogram: the numbers are drawn by a tensor, counted by the kernel, and normalised by a tensor again.
"""

import numpy as np
import strata
from strata import Tensor

SOURCE = """
#include <hip/hip_runtime.h>

extern "C" __global__ void histogram(int* bins, const float* x) {
    __shared__ int mine[BINS];
    if (threadIdx.x < BINS) mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) {
        int bin = static_cast<int>((x[i] + 4) * (BINS / 8.0f));
        if (bin >= 0 && bin < BINS) atomicAdd(&mine[bin], 1);
    }
    __syncthreads();
    if (threadIdx.x < BINS) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}
"""
BINS, N = 24, 1 << 16


def main():
    strata.manual_seed(4)
    x = Tensor.randn(N).realize()
    kernel = strata.hip_kernel(SOURCE, name="histogram", grid=16, block=256, options=[f"-DBINS={BINS}", f"-DN={N}"])
    # The first tensor is the kernel's first parameter; custom_kernel gives each of them back as it is afterwards.
    bins, _ = Tensor.zeros(BINS, dtype="int32").contiguous().custom_kernel(x, kernel=kernel)
    share = (bins.cast("float32") / N).numpy()

    counts = bins.numpy()
    for low, count, part in zip(np.arange(BINS) / 3 - 4, counts, share):
        print(f"{low:6.2f} .. {low + 1 / 3:5.2f} {count:6d} {'#' * round(600 * part)}")
    expected, _ = np.histogram(x.numpy(), bins=BINS, range=(-4, 4))
    assert abs(counts - expected).sum() <= 4, "a number on the edge of a bin may fall to either side"
    launch = strata.stats().launches[-2]
    print(
        f"\n{counts.sum()} of {N} numbers; kernel '{kernel.name}', {kernel.grid[0]} blocks of {kernel.block[0]}: "
        f"{launch.time_ms * 1000:.1f} us modelled, {launch.wave_instructions} wave instructions"
    )
    assert launch.name == "histogram"


if __name__ == "__main__":
    main()
