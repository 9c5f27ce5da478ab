// Floats and doubles at their edges: division, square root, remainder, fused multiplication, rounding, comparisons.
#include "program.h"

template <class T>
__device__ void operate(T a, T b, T c, T* out, unsigned char* flags) {
    out[0] = a + b;
    out[1] = a * b;
    out[2] = a / b;
    out[3] = sqrt(fabs(a));
    out[4] = fma(a, b, c);
    out[5] = a - b * c;
    out[6] = floor(a * 3) + ceil(b) - trunc(c);
    out[7] = rint(a * 1000);
    out[8] = fmin(a, b) + T(0);  // of two zeros, either may be the lesser
    out[9] = fmax(b, c) + T(0);
    out[10] = a < b ? -c : fabs(c);
    *flags = (unsigned char)((a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 |
                             __builtin_isunordered(a, b) << 4 | (a > c) << 5 | (a >= c) << 6);
}

__global__ void corner_cases(const float* floats, const double* doubles, int n, float* out, double* wide,
                             unsigned char* flags) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), j = i / n % n, k = i % n;
    if (i >= n * n) return;
    operate(floats[j], floats[k], floats[(j + k) % n], out + i * 11, flags + 2 * i);
    operate(doubles[j], doubles[k], doubles[(j + k) % n], wide + i * 11, flags + 2 * i + 1);
}

#if HOST
void program(Run& run) {
    auto f = random<float>(24);
    auto d = random<double>(24);
    const double edges[] = {0, -0.0, 1, -1.5, INFINITY, -INFINITY, NAN, 3, 1e30, -1e-30, 0x1p-126, 0x1p127};
    for (size_t i = 0; i < 12; ++i) f[i] = static_cast<float>(edges[i]), d[i] = edges[i];
    f[12] = 0x1p-149f, f[13] = -0x1.8p-130f, f[14] = 0x1.fffffep127f, f[15] = 0x1.fffffep-1f;
    d[12] = 0x1p-1074, d[13] = -0x1.8p-1030, d[14] = 0x1.fffffffffffffp1023, d[15] = 0x1p-1022, d[16] = 0x1p1000,
    d[17] = 0x1.1p-600;
    auto floats = run.buffer(f), out = run.zeros<float>(24 * 24 * 11);
    auto doubles = run.buffer(d), wide = run.zeros<double>(24 * 24 * 11);
    auto flags = run.zeros<unsigned char>(2 * 24 * 24);
    LAUNCH(corner_cases, 9, 64, floats, doubles, 24, out, wide, flags);
}
#endif
