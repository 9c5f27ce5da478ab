// Population counts, leading and trailing zeros, reversal, rotation, bit fields, Morton codes and Gray codes.
#include "program.h"

__device__ uint32_t spread(uint32_t x) {
    x = (x | x << 8) & 0x00ff00ffu;
    x = (x | x << 4) & 0x0f0f0f0fu;
    x = (x | x << 2) & 0x33333333u;
    return (x | x << 1) & 0x55555555u;
}

__global__ void bit_tricks(const uint64_t* in, uint64_t* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t x = in[i] >> (i % 64), *own = out + i * 12;
    uint32_t low = (uint32_t)x, high = (uint32_t)(x >> 32);
    own[0] = (uint64_t)__builtin_popcountll(x) << 32 | (uint32_t)__builtin_popcount(low);
    own[1] = (uint64_t)(x ? __builtin_clzll(x) : 64) << 32 | (uint32_t)(low ? __builtin_clz(low) : 32);
    own[2] = (uint64_t)(x ? __builtin_ctzll(x) : 64) << 32 | (uint32_t)(low ? __builtin_ctz(low) : 32);
    uint64_t reversed = 0;
    for (int bit = 0; bit < 64; ++bit) reversed = reversed << 1 | (x >> bit & 1);
    own[3] = reversed;
    own[4] = __builtin_bswap64(x) ^ __builtin_bswap32(high);
    own[5] = x << (low & 63) | x >> (-low & 63);
    own[6] = x >> (high & 31) & ((1ull << (low & 31)) - 1);
    own[7] = spread(low & 0xffff) | spread(high & 0xffff) << 1;
    own[8] = x ^ x >> 1;
    own[9] = (uint64_t)((int64_t)(x << 20) >> 37);
    own[10] = (uint64_t)__builtin_parityll(x) | (x & -x);
    own[11] = (uint64_t)(((unsigned __int128)x * (x ^ 0x9e3779b97f4a7c15u)) >> 64);
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<uint64_t>(128)), out = run.zeros<uint64_t>(128 * 12);
    LAUNCH(bit_tricks, 2, 64, in, out);
}
#endif
