// Pi by counting points: xorshift and Philox 4x32 generators, one stream for each work-item.
#include "program.h"

__device__ uint32_t xorshift(uint32_t& state) {
    state ^= state << 13;
    state ^= state >> 17;
    return state ^= state << 5;
}

__device__ void philox(const uint32_t* counter, uint32_t key0, uint32_t key1, uint32_t* out) {
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
    for (int round = 0; round < 10; ++round, key0 += 0x9e3779b9u, key1 += 0xbb67ae85u) {
        uint64_t a = (uint64_t)0xd2511f53u * c[0], b = (uint64_t)0xcd9e8d57u * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key0, (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ key1,
                            (uint32_t)a};
        for (int k = 0; k < 4; ++k) c[k] = next[k];
    }
    for (int k = 0; k < 4; ++k) out[k] = c[k];
}

__global__ void monte_carlo(uint32_t* inside, uint32_t* numbers) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, state = i * 2654435761u + 1, hits = 0;
    for (int k = 0; k < 50; ++k) {
        float x = (float)(xorshift(state) >> 8) * 0x1p-24f, y = (float)(xorshift(state) >> 8) * 0x1p-24f;
        hits += x * x + y * y < 1;
    }
    atomicAdd(inside, hits);
    uint32_t counter[4] = {i, 0, i >> 3, 0};
    philox(counter, 0, i & 7, numbers + 4 * i);
}

#if HOST
void program(Run& run) {
    auto inside = run.zeros<uint32_t>(1), numbers = run.zeros<uint32_t>(4 * 256);
    LAUNCH(monte_carlo, 2, 128, inside, numbers);
    run.expect(numbers.values()[0] == 0x6627e8d5, "the first Philox number is the reference's");
    run.expect(std::abs(4.0 * inside.values()[0] / (256 * 50) - 3.14159) < 0.05, "the estimate is near pi");
}
#endif
