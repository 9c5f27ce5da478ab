// MD5 of one block for each work-item, its constants and shifts in tables.
#include "program.h"

__constant__ uint8_t turns[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

__global__ void md5(const uint32_t* sines, const uint8_t* text, unsigned length, uint32_t* digests) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t m[16] = {};
    for (unsigned k = 0; k < length; ++k) m[k / 4] |= (uint32_t)text[i * length + k] << k % 4 * 8;
    m[length / 4] |= 0x80u << length % 4 * 8;
    m[14] = length * 8;
    uint32_t a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
    for (unsigned t = 0; t < 64; ++t) {
        uint32_t f = 0;
        unsigned g = 0;
        switch (t / 16) {
            case 0: f = (b & c) | (~b & d), g = t; break;
            case 1: f = (d & b) | (~d & c), g = 5 * t + 1; break;
            case 2: f = b ^ c ^ d, g = 3 * t + 5; break;
            case 3: f = c ^ (b | ~d), g = 7 * t; break;
        }
        f += a + sines[t] + m[g & 15];
        unsigned turn = turns[t / 16 * 4 + t % 4];
        a = d;
        d = c;
        c = b;
        b += f << turn | f >> (32 - turn);
    }
    digests[i * 4] = a + 0x67452301;
    digests[i * 4 + 1] = b + 0xefcdab89;
    digests[i * 4 + 2] = c + 0x98badcfe;
    digests[i * 4 + 3] = d + 0x10325476;
}

#if HOST
void program(Run& run) {
    std::vector<uint32_t> table(64);
    for (size_t i = 0; i < 64; ++i)
        table[i] = static_cast<uint32_t>(std::floor(std::abs(std::sin(static_cast<double>(i + 1))) * 0x1p32));
    auto bytes = random<uint8_t>(64 * 3);
    memcpy(bytes.data(), "abc", 3);
    auto sines = run.buffer(table), digests = run.zeros<uint32_t>(64 * 4);
    auto text = run.buffer(bytes);
    LAUNCH(md5, 1, 64, sines, text, 3, digests);
    run.expect(digests.values()[0] == 0x98500190, "the digest of abc is the standard's");
}
#endif
