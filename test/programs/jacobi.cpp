// Jacobi iteration for a Laplace equation in double precision; the largest change by an atomic maximum on its bits.
#include "program.h"

__global__ void jacobi(const double* in, double* out, int n, unsigned long long* change) {
    int x = (int)(blockIdx.x * blockDim.x + threadIdx.x), y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= n || y >= n) return;
    double value = in[y * n + x];
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1) {
        double next = 0.25 * (in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] + in[(y + 1) * n + x]);
        atomicMax(change, bits_as<unsigned long long>(fabs(next - value)));
        value = next;
    }
    out[y * n + x] = value;
}

#if HOST
void program(Run& run) {
    const int n = 30;
    std::vector<double> border(n * n);
    for (size_t i = 0; i < n; ++i) border[i] = 1, border[i * n] = 0.5;
    auto a = run.buffer(border), b = run.zeros<double>(n * n);
    auto change = run.zeros<unsigned long long>(8);
    for (int step = 0; step < 8; ++step) {
        LAUNCH(jacobi, dim3(2, 4), dim3(16, 8), a, b, n, change + step);
        std::swap(a, b);
    }
}
#endif
