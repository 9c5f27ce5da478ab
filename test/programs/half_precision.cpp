// _Float16: every operation rounded, conversions both ways, comparisons, a dot product and subnormals.
// No negative zero: clang 19 makes a product rounded to half a fused addition of +0.
#include "program.h"

__global__ void half_precision(const half* a, const half* b, half* out, float* sums, int* conversions) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    half x = a[i], y = b[i], *own = out + i * 8;
    own[0] = x + y;
    own[1] = x * y;
    own[2] = x - y;
    own[3] = x / y;
    own[4] = x < y ? -x : y;
    own[5] = (half)((float)x * 0.3333333f);
    own[6] = (half)((double)x * 1e-5);
    own[7] = (half)(int)(i * 97);
    half dot = 0;
    for (unsigned k = 0; k < 8; ++k) {
        half product = a[(i + k) % 128] * b[k];
        dot = dot + product;
    }
    sums[i] = (float)dot;
    conversions[2 * i] = x < (half)-600 ? -1 : (int)(x * (half)100);  // an infinity has no int
    conversions[2 * i + 1] = (x == y) | (x <= y) << 1 | (x != x) << 2 | (y > (half)0) << 3;
}

#if HOST
void program(Run& run) {
    auto a = random<half>(128), b = random<half>(128, 2);
    for (size_t i = 0; i < 32; ++i)
        a[i] = static_cast<half>(static_cast<float>(a[i]) * 0x1p-14f),
        b[2 * i] = static_cast<half>(static_cast<float>(b[2 * i]) * 3000);
    a[40] = static_cast<half>(-65504.0f), a[41] = static_cast<half>(3.0f), a[42] = static_cast<half>(0x1p-24f);
    b[40] = static_cast<half>(INFINITY), b[41] = static_cast<half>(0.0f), b[42] = static_cast<half>(-1.0f);
    auto x = run.buffer(a), y = run.buffer(b), out = run.zeros<half>(128 * 8);
    auto sums = run.zeros<float>(128);
    auto conversions = run.zeros<int>(256);
    LAUNCH(half_precision, 2, 64, x, y, out, sums, conversions);
}
#endif
