// CRC-32 by table and by bits, the table made in local memory; CRC-64 beside it.
#include "program.h"

__global__ void crc32(const uint8_t* text, unsigned length, uint32_t* by_table, uint32_t* by_bits, uint64_t* wide) {
    __shared__ uint32_t table[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) {
        uint32_t entry = i;
        for (int bit = 0; bit < 8; ++bit) entry = entry >> 1 ^ (entry & 1 ? 0xedb88320u : 0);
        table[i] = entry;
    }
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t a = ~0u, b = ~0u;
    uint64_t c = ~0ull;
    for (unsigned k = 0; k < length + i % 3; ++k) {
        uint8_t byte = text[i + k];
        a = a >> 8 ^ table[(a ^ byte) & 255];
        b ^= byte;
        c ^= (uint64_t)byte << 56;
        for (int bit = 0; bit < 8; ++bit) {
            b = b >> 1 ^ (0u - (b & 1) & 0xedb88320u);
            c = c << 1 ^ (c >> 63 ? 0x42f0e1eba9ea3693ull : 0);
        }
    }
    by_table[i] = ~a;
    by_bits[i] = ~b;
    wide[i] = ~c;
}

#if HOST
void program(Run& run) {
    auto bytes = random<uint8_t>(300);
    memcpy(bytes.data(), "123456789", 9);
    auto text = run.buffer(bytes);
    auto a = run.zeros<uint32_t>(200), b = run.zeros<uint32_t>(200);
    auto wide = run.zeros<uint64_t>(200);
    LAUNCH(crc32, 2, 100, text, 9, a, b, wide);
    run.expect(a.values()[0] == 0xcbf43926 && b.values() == a.values(), "the check value is the standard's");
}
#endif
