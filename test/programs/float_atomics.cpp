// Additions of floats and doubles by atomics, of values whose sums are exact in any order; maxima by bit patterns.
#include "program.h"

__global__ void float_atomics(const int* in, float* sums, double* wide, int* highest) {
    __shared__ float local;
    __shared__ double local_wide;
    if (threadIdx.x == 0) {
        local = 0;
        local_wide = 0;
    }
    __syncthreads();
    int x = in[blockIdx.x * blockDim.x + threadIdx.x] >> 20;
    float f = (float)x * 0.125f;
    atomicAdd(&sums[x & 3], f);
    atomicAdd(&wide[x & 3], (double)f * 0x1p-40);
    atomicAdd(&local, f);
    atomicAdd(&local_wide, (double)x);
    if (f > 0) atomicMax(highest, bits_as<int>(f));
    __syncthreads();
    if (threadIdx.x == 0) {
        sums[4 + blockIdx.x] = local;
        wide[4 + blockIdx.x] = local_wide;
    }
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<int>(4 * 100)), highest = run.zeros<int>(1);
    auto sums = run.zeros<float>(8);
    auto wide = run.zeros<double>(8);
    LAUNCH(float_atomics, 4, 100, in, sums, wide, highest);
}
#endif
