// Mandelbrot iteration counts in floats and doubles; the last point too.
#include "program.h"

__global__ void mandelbrot(uint16_t* counts, double* last) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, at = y * 48 + x;
    if (x >= 48 || y >= 40) return;
    float cr = (float)x * (3.0f / 48) - 2.2f, ci = (float)y * (2.4f / 40) - 1.2f, zr = 0, zi = 0;
    uint16_t count = 0;
    for (; count < 100 && zr * zr + zi * zi <= 4; ++count) {
        float next = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = next;
    }
    counts[at] = count;
    double a = 0, b = 0;
    for (int k = 0; k < 30 && a * a + b * b < 16; ++k) {
        double next = a * a - b * b + cr;
        b = 2 * a * b + ci;
        a = next;
    }
    last[at] = a + b;
}

#if HOST
void program(Run& run) {
    auto counts = run.zeros<uint16_t>(48 * 40);
    auto last = run.zeros<double>(48 * 40);
    LAUNCH(mandelbrot, dim3(6, 5), dim3(9, 9), counts, last);
}
#endif
