// Conjugate gradients in double precision within one workgroup, dot products by a tree in local memory.
#include "program.h"

__device__ double dot(double a, double b, double* part) {
    unsigned id = threadIdx.x;
    __syncthreads();
    part[id] = a * b;
    for (unsigned half_size = 32; half_size > 0; half_size /= 2) {
        __syncthreads();
        if (id < half_size) part[id] += part[id + half_size];
    }
    __syncthreads();
    return part[0];
}

__global__ void conjugate_gradient(const double* matrix, const double* b, double* x, double* residuals) {
    __shared__ double direction[64], part[64];
    unsigned id = threadIdx.x;
    double solution = 0, r = b[id], p = r, rr = dot(r, r, part);
    for (int step = 0; step < 12; ++step) {
        direction[id] = p;
        __syncthreads();
        double ap = 0;
        for (unsigned k = 0; k < 64; ++k) ap += matrix[id * 64 + k] * direction[k];
        double alpha = rr / dot(p, ap, part);
        solution += alpha * p;
        r -= alpha * ap;
        double next = dot(r, r, part);
        p = r + next / rr * p;
        rr = next;
        if (id == 0) residuals[step] = sqrt(rr);
    }
    x[id] = solution;
}

#if HOST
void program(Run& run) {
    auto matrix = random<double>(64 * 64);
    for (size_t i = 0; i < 64; ++i)
        for (size_t j = 0; j <= i; ++j) matrix[i * 64 + j] = i == j ? 40 + matrix[i * 64 + j] : matrix[j * 64 + i];
    auto a = run.buffer(matrix), b = run.buffer(random<double>(64, 2)), x = run.zeros<double>(64),
         residuals = run.zeros<double>(12);
    LAUNCH(conjugate_gradient, 1, 64, a, b, x, residuals);
    run.expect(residuals.values()[11] < 1e-9, "the residual is small");
}
#endif
