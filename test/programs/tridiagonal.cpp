// Tridiagonal systems by cyclic reduction in local memory, doubles, and by the Thomas algorithm for comparison.
#include "program.h"

__global__ void tridiagonal(const double* below, const double* middle, const double* above, const double* right,
                            double* x, double* y) {
    __shared__ double a[2][64], b[2][64], c[2][64], d[2][64];
    unsigned i = threadIdx.x, base = blockIdx.x * 64, now = 0;
    a[0][i] = i ? below[base + i] : 0;
    b[0][i] = middle[base + i] + 4;
    c[0][i] = i < 63 ? above[base + i] : 0;
    d[0][i] = right[base + i];
    for (unsigned step = 1; step < 64; step *= 2, now ^= 1) {
        __syncthreads();
        double k1 = i >= step ? a[now][i] / b[now][i - step] : 0, k2 = i + step < 64 ? c[now][i] / b[now][i + step] : 0;
        unsigned low = i >= step ? i - step : i, high = i + step < 64 ? i + step : i;
        a[now ^ 1][i] = -a[now][low] * k1;
        b[now ^ 1][i] = b[now][i] - c[now][low] * k1 - a[now][high] * k2;
        c[now ^ 1][i] = -c[now][high] * k2;
        d[now ^ 1][i] = d[now][i] - d[now][low] * k1 - d[now][high] * k2;
    }
    x[base + i] = d[now][i] / b[now][i];
    if (i == 0) {
        double upper[64], carry[64];
        for (unsigned k = 0; k < 64; ++k) {
            double pivot = middle[base + k] + 4 - (k ? below[base + k] * upper[k - 1] : 0);
            upper[k] = above[base + k] / pivot;
            carry[k] = (right[base + k] - (k ? below[base + k] * carry[k - 1] : 0)) / pivot;
        }
        for (unsigned k = 64; k-- > 0;) y[base + k] = carry[k] - (k < 63 ? upper[k] * y[base + k + 1] : 0);
    }
}

#if HOST
void program(Run& run) {
    auto a = run.buffer(random<double>(128)), b = run.buffer(random<double>(128, 2)),
         c = run.buffer(random<double>(128, 3));
    auto d = run.buffer(random<double>(128, 4)), x = run.zeros<double>(128), y = run.zeros<double>(128);
    LAUNCH(tridiagonal, 2, 64, a, b, c, d, x, y);
    run.expect(std::abs(x.values()[100] - y.values()[100]) < 1e-12, "both methods agree");
}
#endif
