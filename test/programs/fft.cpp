// A radix-2 FFT of 256 points in local memory, doubles, the roots of unity made on the host.
#include "program.h"

struct Complex {
    double re, im;
};

__device__ Complex times(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

__global__ __launch_bounds__(128) void fft(Complex* data, const Complex* roots) {
    __shared__ Complex line[256];
    unsigned id = threadIdx.x;
    Complex* own = data + blockIdx.x * 256;
    for (unsigned i = id; i < 256; i += 128) {
        unsigned reversed = 0;
        for (unsigned bit = 0; bit < 8; ++bit) reversed |= (i >> bit & 1) << (7 - bit);
        line[reversed] = own[i];
    }
    for (unsigned half_size = 1; half_size < 256; half_size *= 2) {
        __syncthreads();
        unsigned k = id & (half_size - 1), low = (id - k) * 2 + k;
        Complex a = line[low], b = times(line[low + half_size], roots[k * (128 / half_size)]);
        line[low] = {a.re + b.re, a.im + b.im};
        line[low + half_size] = {a.re - b.re, a.im - b.im};
    }
    __syncthreads();
    own[id] = line[id];
    own[id + 128] = line[id + 128];
}

#if HOST
void program(Run& run) {
    auto values = random<double>(3 * 512);
    std::vector<double> roots(256);
    for (size_t k = 0; k < 128; ++k) {
        roots[2 * k] = std::cos(3.14159265358979323846 * static_cast<double>(k) / 128);
        roots[2 * k + 1] = -std::sin(3.14159265358979323846 * static_cast<double>(k) / 128);
    }
    auto data = run.buffer(values), unit = run.buffer(roots);
    LAUNCH(fft, 3, 128, reinterpret_cast<Complex*>(static_cast<double*>(data)),
           reinterpret_cast<Complex*>(static_cast<double*>(unit)));
    double sum = 0;
    for (size_t i = 0; i < 512; i += 2) sum += values[i];
    run.expect(std::abs(data.values()[0] - sum) < 1e-12, "the first coefficient is the sum");
}
#endif
