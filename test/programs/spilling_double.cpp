// Doubles and wide integers spilled around calls: a function with many arguments, some of them on the stack.
#include "program.h"

struct Big {
    double d[12];
    int64_t n[6];
};

__device__ NOINLINE double many(double a, double b, int64_t c, float d, Big big, int e, double f, int64_t g, uint8_t h,
                                double i) {
    double sum = a + b * 2 + (double)c + d + e + f * 3 + (double)g + h + i;
    for (int k = 0; k < 12; ++k) sum += big.d[k] * (k + 1);
    for (int k = 0; k < 6; ++k) sum += (double)(big.n[k] >> 3);
    return sum;
}

__global__ void spilling_double(const double* in, double* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    double live[24], total = 0;
    for (unsigned k = 0; k < 24; ++k) live[k] = in[(i + k) % 128];
    Big big;
    for (unsigned k = 0; k < 12; ++k) big.d[k] = in[(i * 3 + k) % 128];
    for (unsigned k = 0; k < 6; ++k) big.n[k] = (int64_t)(in[(i + 5 * k) % 128] * 1e6);
    for (unsigned k = 0; k < 8; ++k)
        total += many(live[k], live[k + 1], (int64_t)k << 33, (float)live[k + 2], big, (int)k - 4, live[k + 3],
                      -(int64_t)i, (uint8_t)(i * 7), live[k + 4]);
    for (unsigned k = 0; k < 24; ++k) total = total * 0.5 + live[k];
    out[i] = total;
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<double>(128)), out = run.zeros<double>(96);
    LAUNCH(spilling_double, 1, 96, in, out);
}
#endif
