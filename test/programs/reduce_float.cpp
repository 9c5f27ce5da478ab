// Float sums, minima and maxima in a fixed order, so that the host's are the same bits.
#include "program.h"

__global__ void reduce_float(const float* in, float* out) {
    __shared__ float sum[128], low[128], high[128];
    unsigned id = threadIdx.x;
    float x = in[blockIdx.x * 128 + id];
    sum[id] = x;
    low[id] = x;
    high[id] = x;
    for (unsigned half_size = 64; half_size > 0; half_size /= 2) {
        __syncthreads();
        if (id < half_size) {
            sum[id] += sum[id + half_size];
            low[id] = fminf(low[id], low[id + half_size]);
            high[id] = fmaxf(high[id], high[id + half_size]);
        }
    }
    if (id == 0) {
        out[blockIdx.x * 3] = sum[0];
        out[blockIdx.x * 3 + 1] = low[0];
        out[blockIdx.x * 3 + 2] = high[0];
    }
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<float>(16 * 128));
    auto out = run.zeros<float>(16 * 3);
    LAUNCH(reduce_float, 16, 128, in, out);
}
#endif
