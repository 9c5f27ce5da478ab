// Sliding attacks on 64-bit boards by fills, knights by shifts, and a count of moves to depth two.
#include "program.h"

__device__ uint64_t slide(uint64_t from, uint64_t occupied, int shift, uint64_t wrap) {
    uint64_t attacks = 0;
    for (uint64_t at = from;;) {
        at = shift > 0 ? at << shift : at >> -shift;
        at &= wrap;
        if (!at) return attacks;
        attacks |= at;
        at &= ~occupied;
    }
}

__device__ uint64_t queen(uint64_t from, uint64_t occupied) {
    constexpr uint64_t not_a = 0xfefefefefefefefeu, not_h = 0x7f7f7f7f7f7f7f7fu, all = ~0ull;
    return slide(from, occupied, 8, all) | slide(from, occupied, -8, all) | slide(from, occupied, 1, not_a) |
           slide(from, occupied, -1, not_h) | slide(from, occupied, 9, not_a) | slide(from, occupied, -9, not_h) |
           slide(from, occupied, 7, not_h) | slide(from, occupied, -7, not_a);
}

__device__ uint64_t knight(uint64_t b) {
    uint64_t one = (b >> 1 & 0x7f7f7f7f7f7f7f7fu) | (b << 1 & 0xfefefefefefefefeu);
    uint64_t two = (b >> 2 & 0x3f3f3f3f3f3f3f3fu) | (b << 2 & 0xfcfcfcfcfcfcfcfcu);
    return one << 16 | one >> 16 | two << 8 | two >> 8;
}

__global__ void attacks(const uint64_t* boards, uint64_t* out, uint32_t* counts) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t from = 1ull << (i & 63), occupied = boards[i] & boards[i + 1], reached = queen(from, occupied);
    out[2 * i] = reached;
    out[2 * i + 1] = knight(from);
    uint32_t count = 0;
    for (uint64_t left = reached & ~occupied; left; left &= left - 1)
        count += (uint32_t)__builtin_popcountll(queen(left & -left, occupied)) + (uint32_t)__builtin_ctzll(left);
    counts[i] = count;
}

#if HOST
void program(Run& run) {
    auto boards = run.buffer(random<uint64_t>(129)), out = run.zeros<uint64_t>(256);
    auto counts = run.zeros<uint32_t>(128);
    LAUNCH(attacks, 2, 64, boards, out, counts);
    run.expect(out.values()[1] == 0x20400, "a knight in the corner has two squares");
}
#endif
