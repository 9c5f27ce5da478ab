// A 7-point stencil on a 3-D grid of doubles whose sides do not divide by the block's.
#include "program.h"

__global__ void diffuse(const double* in, double* out, unsigned nx, unsigned ny, unsigned nz) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
             z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    unsigned at = (z * ny + y) * nx + x;
    double sum = 0, here = in[at];
    if (x > 0) sum += in[at - 1] - here;
    if (x + 1 < nx) sum += in[at + 1] - here;
    if (y > 0) sum += in[at - nx] - here;
    if (y + 1 < ny) sum += in[at + nx] - here;
    if (z > 0) sum += in[at - nx * ny] - here;
    if (z + 1 < nz) sum += in[at + nx * ny] - here;
    out[at] = here + 0.1 * sum;
}

#if HOST
void program(Run& run) {
    auto a = run.buffer(random<double>(13 * 9 * 7)), b = run.zeros<double>(13 * 9 * 7);
    for (int step = 0; step < 4; ++step) {
        LAUNCH(diffuse, dim3(4, 3, 3), dim3(4, 4, 3), a, b, 13, 9, 7);
        std::swap(a, b);
    }
}
#endif
