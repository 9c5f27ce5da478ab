// Reductions of doubles over a wave by shuffles of both their halves.
#include "program.h"

__global__ void wave_reduce_double(const double* in, double* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = in[i], product = 1 + in[i] * 0x1p-8;
    for (int step = WAVE / 2; step > 0; step /= 2) {
        sum += __shfl_down(sum, (unsigned)step);
        product *= __shfl_xor(product, step);
    }
    out[2 * i] = __shfl(sum, 0);
    out[2 * i + 1] = product;
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<double>(256));
    auto out = run.zeros<double>(512);
    LAUNCH(wave_reduce_double, 2, 128, in, out);
}
#endif
