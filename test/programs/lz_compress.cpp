// LZ77 of small blocks with a window search, then decompression, which must give the block back.
#include "program.h"

constexpr int block = 128;

__device__ int compress(const uint8_t* in, uint8_t* out) {
    int at = 0, size = 0;
    while (at < block) {
        int best = 0, distance = 0;
        for (int back = 1; back <= at && back < 64; ++back) {
            int length = 0;
            while (at + length < block && length < 30 && in[at + length] == in[at - back + length]) ++length;
            if (length > best) best = length, distance = back;
        }
        if (best >= 3) {
            out[size++] = (uint8_t)(0x80 | best);
            out[size++] = (uint8_t)distance;
            at += best;
        } else {
            out[size++] = in[at++];
        }
    }
    return size;
}

__global__ void lz(const uint8_t* text, uint8_t* packed, int* sizes, uint8_t* unpacked) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    uint8_t *out = packed + i * block, *again = unpacked + i * block;
    int size = compress(text + i * block, out), to = 0;
    sizes[i] = size;
    for (int at = 0; at < size; ++at) {
        if (out[at] < 0x80) {
            again[to++] = out[at];
            continue;
        }
        int length = out[at] & 0x7f, distance = out[++at];
        for (int k = 0; k < length; ++k, ++to) again[to] = again[to - distance];
    }
}

#if HOST
void program(Run& run) {
    auto letters = random<uint8_t>(20 * block);
    for (size_t i = 0; i < letters.size(); ++i)
        letters[i] = static_cast<uint8_t>('a' + (letters[i] % 7 < 5 && i > 20 ? letters[i - 9] % 3 : letters[i] % 4));
    auto text = run.buffer(letters), packed = run.zeros<uint8_t>(20 * block), unpacked = run.zeros<uint8_t>(20 * block);
    auto sizes = run.zeros<int>(20);
    LAUNCH(lz, 1, 20, text, packed, sizes, unpacked);
    run.expect(unpacked.values() == letters, "decompression gives the text back");
}
#endif
