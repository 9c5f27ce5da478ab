// 64-bit and 32-bit quotients and remainders, signed and not, among them the extremes.
#include "program.h"

__global__ void divide(const int64_t* a, const int64_t* b, int64_t* out, int n) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    int64_t x = a[i], y = b[i];
    uint64_t ux = (uint64_t)x, uy = (uint64_t)y;
    int64_t* own = out + i * 8;
    own[0] = (int64_t)(ux / uy);
    own[1] = (int64_t)(ux % uy);
    bool overflows = x == (int64_t)(1ull << 63) && y == -1;
    own[2] = overflows ? x : x / y;
    own[3] = overflows ? 0 : x % y;
    uint32_t nx = (uint32_t)ux, ny = (uint32_t)uy | 1;
    own[4] = nx / ny;
    own[5] = nx % ny;
    own[6] = (int32_t)nx / (int32_t)(ny >> 1 | 1);
    own[7] = x / 1000003 + x % -77;
}

#if HOST
void program(Run& run) {
    auto a = random<int64_t>(160), b = random<int64_t>(160, 2);
    const int64_t edges[] = {1, -1, 2, INT64_MAX, INT64_MIN, 0xffffffff, 0x100000000, 10};
    for (size_t i = 0; i < 64; ++i) a[i] = edges[i / 8], b[i] = edges[i % 8];
    for (size_t i = 64; i < 160; ++i) b[i] = (b[i] >> (i % 60)) | 1, a[i] >>= i * 7 % 40;
    auto x = run.buffer(a), y = run.buffer(b), out = run.zeros<int64_t>(160 * 8);
    LAUNCH(divide, 3, 64, x, y, out, 160);
}
#endif
