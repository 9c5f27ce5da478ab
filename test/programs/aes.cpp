// AES-128 of one block for each work-item: the S-box computed on the device into local memory, key expansion, rounds.
#include "program.h"

__device__ uint8_t times2(uint8_t x) { return (uint8_t)(x << 1 ^ (x >> 7) * 0x1b); }

__device__ uint8_t substitute(uint8_t x) {
    uint8_t inverse = 0;
    for (int y = 1; y < 256 && x; ++y) {
        uint8_t product = 0, a = x;
        for (int b = y; b; b >>= 1, a = times2(a))
            if (b & 1) product ^= a;
        if (product == 1) inverse = (uint8_t)y;
    }
    uint8_t out = 0x63;
    for (int k = 0; k < 5; ++k) out ^= (uint8_t)(inverse << k | inverse >> (8 - k));
    return out;
}

__global__ void aes(const uint8_t* key, const uint8_t* in, uint8_t* out) {
    __shared__ uint8_t box[256];
    for (unsigned k = threadIdx.x; k < 256; k += blockDim.x) box[k] = substitute((uint8_t)k);
    __syncthreads();
    uint8_t keys[176], state[16], round_constant = 1;
    for (int k = 0; k < 16; ++k) keys[k] = key[k];
    for (int k = 16; k < 176; k += 4) {
        uint8_t word[4] = {keys[k - 4], keys[k - 3], keys[k - 2], keys[k - 1]};
        if (k % 16 == 0) {
            uint8_t first = word[0];
            for (int j = 0; j < 3; ++j) word[j] = box[word[j + 1]];
            word[3] = box[first];
            word[0] ^= round_constant;
            round_constant = times2(round_constant);
        }
        for (int j = 0; j < 4; ++j) keys[k + j] = keys[k + j - 16] ^ word[j];
    }
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 16; ++k) state[k] = in[i * 16 + (unsigned)k] ^ keys[k];
    for (int round = 1; round <= 10; ++round) {
        uint8_t shifted[16];
        for (int k = 0; k < 16; ++k) shifted[k] = box[state[(k + 4 * (k & 3)) & 15]];
        for (int c = 0; c < 16; c += 4) {
            uint8_t all = shifted[c] ^ shifted[c + 1] ^ shifted[c + 2] ^ shifted[c + 3];
            for (int r = 0; r < 4; ++r)
                state[c + r] = (uint8_t)(shifted[c + r] ^
                                         (round < 10 ? all ^ times2(shifted[c + r] ^ shifted[c + ((r + 1) & 3)]) : 0) ^
                                         keys[round * 16 + c + r]);
        }
    }
    for (int k = 0; k < 16; ++k) out[i * 16 + (unsigned)k] = state[k];
}

#if HOST
void program(Run& run) {
    auto text = random<uint8_t>(64 * 16);
    std::vector<uint8_t> first(16);
    for (size_t k = 0; k < 16; ++k) first[k] = static_cast<uint8_t>(k), text[k] = static_cast<uint8_t>(k * 17);
    auto key = run.buffer(first), in = run.buffer(text), out = run.zeros<uint8_t>(64 * 16);
    LAUNCH(aes, 1, 64, key, in, out);
    run.expect(out.values()[0] == 0x69 && out.values()[15] == 0x5a, "the first block is that of FIPS 197");
}
#endif
