// Base64 there and back, bytes read and written one by one, with padding at the end of each row.
#include "program.h"

__constant__ char alphabet[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

__device__ int value_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : 0;
}

__global__ void base64(const uint8_t* in, char* text, uint8_t* back) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, length = i % 30;
    const uint8_t* row = in + i * 30;
    char* out = text + i * 40;
    for (unsigned k = 0; k < length; k += 3) {
        uint32_t bits =
            (uint32_t)row[k] << 16 | (k + 1 < length ? row[k + 1] << 8 : 0) | (k + 2 < length ? row[k + 2] : 0);
        for (unsigned j = 0; j < 4; ++j) *out++ = k + j > length ? '=' : alphabet[bits >> (18 - 6 * j) & 63];
    }
    out = text + i * 40;
    for (unsigned k = 0; k < length; k += 3, out += 4) {
        int bits = value_of(out[0]) << 18 | value_of(out[1]) << 12 | value_of(out[2]) << 6 | value_of(out[3]);
        for (unsigned j = 0; j < 3 && k + j < length; ++j) back[i * 30 + k + j] = (uint8_t)(bits >> (16 - 8 * j));
    }
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<uint8_t>(90 * 30)), back = run.zeros<uint8_t>(90 * 30);
    auto text = run.zeros<char>(90 * 40);
    LAUNCH(base64, 2, 45, in, text, back);
}
#endif
