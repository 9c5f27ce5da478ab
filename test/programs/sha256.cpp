// SHA-256 of short messages, one for each work-item.
#include "program.h"

__constant__ uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ uint32_t rotate(uint32_t x, int by) { return x >> by | x << (32 - by); }

__global__ void sha256(const uint8_t* text, unsigned length, uint32_t* digests) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint8_t block[64];
    for (unsigned k = 0; k < 64; ++k) block[k] = k < length ? text[i * length + k] : k == length ? 0x80 : 0;
    block[62] = (uint8_t)(length * 8 >> 8);
    block[63] = (uint8_t)(length * 8);
    uint32_t w[64],
        s[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, h[8];
    for (int t = 0; t < 16; ++t)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 | (uint32_t)block[4 * t + 2] << 8 |
               block[4 * t + 3];
    for (int t = 16; t < 64; ++t) {
        uint32_t a = w[t - 15], b = w[t - 2];
        w[t] =
            w[t - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[t - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    for (int k = 0; k < 8; ++k) h[k] = s[k];
    for (int t = 0; t < 64; ++t) {
        uint32_t one = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
                       ((s[4] & s[5]) ^ (~s[4] & s[6])) + rounds[t] + w[t];
        uint32_t two =
            (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (int k = 7; k > 0; --k) s[k] = s[k - 1];
        s[4] += one;
        s[0] = one + two;
    }
    for (int k = 0; k < 8; ++k) digests[i * 8 + (unsigned)k] = h[k] + s[k];
}

#if HOST
void program(Run& run) {
    auto bytes = random<uint8_t>(96 * 3);
    memcpy(bytes.data(), "abc", 3);
    auto text = run.buffer(bytes);
    auto digests = run.zeros<uint32_t>(96 * 8);
    LAUNCH(sha256, 2, 48, text, 3, digests);
    run.expect(digests.values()[0] == 0xba7816bf && digests.values()[7] == 0xf20015ad,
               "the digest of abc is the standard's");
}
#endif
