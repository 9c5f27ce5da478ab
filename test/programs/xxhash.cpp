// xxHash64 and MurmurHash3 of overlapping strings: rotations and 64-bit multiplications, unaligned reads.
#include "program.h"

__device__ uint64_t rotate(uint64_t x, int by) { return x << by | x >> (64 - by); }

template <class T>
__device__ T read(const uint8_t* at) {
    T value;
    memcpy(&value, at, sizeof value);
    return value;
}

constexpr uint64_t p1 = 0x9e3779b185ebca87u, p2 = 0xc2b2ae3d27d4eb4fu, p3 = 0x165667b19e3779f9u,
                   p4 = 0x85ebca77c2b2ae63u, p5 = 0x27d4eb2f165667c5u;

__device__ uint64_t xxhash(const uint8_t* at, uint64_t length, uint64_t seed) {
    const uint8_t* end = at + length;
    uint64_t h = seed + p5;
    if (length >= 32) {
        uint64_t v[4] = {seed + p1 + p2, seed + p2, seed, seed - p1};
        for (; at + 32 <= end; at += 32)
            for (int i = 0; i < 4; ++i) v[i] = rotate(v[i] + read<uint64_t>(at + 8 * i) * p2, 31) * p1;
        h = rotate(v[0], 1) + rotate(v[1], 7) + rotate(v[2], 12) + rotate(v[3], 18);
        for (int i = 0; i < 4; ++i) h = (h ^ rotate(v[i] * p2, 31) * p1) * p1 + p4;
    }
    h += length;
    for (; at + 8 <= end; at += 8) h = rotate(h ^ rotate(read<uint64_t>(at) * p2, 31) * p1, 27) * p1 + p4;
    if (at + 4 <= end) {
        h = rotate(h ^ read<uint32_t>(at) * p1, 23) * p2 + p3;
        at += 4;
    }
    for (; at < end; ++at) h = rotate(h ^ *at * p5, 11) * p1;
    h = (h ^ h >> 33) * p2;
    h = (h ^ h >> 29) * p3;
    return h ^ h >> 32;
}

__device__ uint32_t murmur(const uint8_t* at, uint32_t length, uint32_t h) {
    for (uint32_t i = 0; i + 4 <= length; i += 4) {
        uint32_t k = read<uint32_t>(at + i) * 0xcc9e2d51u;
        k = (k << 15 | k >> 17) * 0x1b873593u;
        h ^= k;
        h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
    }
    h ^= length;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

__global__ void hashes(const uint8_t* text, uint64_t* wide, uint32_t* narrow) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    wide[i] = xxhash(text + i % 13, i, i % 2);
    narrow[i] = murmur(text + i % 7, i & ~3u, 7);
}

#if HOST
void program(Run& run) {
    auto text = run.buffer(random<uint8_t>(256));
    auto wide = run.zeros<uint64_t>(180);
    auto narrow = run.zeros<uint32_t>(180);
    LAUNCH(hashes, 3, 60, text, wide, narrow);
    run.expect(wide.values()[0] == 0xef46db3751d8e999u, "the hash of nothing is the reference's");
}
#endif
