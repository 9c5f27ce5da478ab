// Conway's life on a torus of cells in bytes and of cells in the bits of 64-bit words, which must agree.
#include "program.h"

__global__ void live_bytes(const uint8_t* in, uint8_t* out) {
    unsigned x = threadIdx.x, y = blockIdx.x;
    int neighbours = 0;
    for (unsigned dy = 63; dy <= 65; ++dy)
        for (unsigned dx = 63; dx <= 65; ++dx)
            if (dx != 64 || dy != 64) neighbours += in[(y + dy) % 64 * 64 + (x + dx) % 64];
    out[y * 64 + x] = neighbours == 3 || (neighbours == 2 && in[y * 64 + x]);
}

__global__ void live_bits(const uint64_t* in, uint64_t* out) {
    unsigned y = threadIdx.x;
    uint64_t ones = 0, twos = 0, fours = 0, own = in[y];
    auto add = [&](uint64_t cells) {
        uint64_t carry = ones & cells;
        ones ^= cells;
        fours |= twos & carry;
        twos ^= carry;
    };
    for (unsigned dy = 63; dy <= 65; ++dy) {
        uint64_t row = in[(y + dy) % 64];
        add(row << 1 | row >> 63);
        add(row >> 1 | row << 63);
        if (dy != 64) add(row);
    }
    out[y] = twos & ~fours & (ones | own);
}

#if HOST
void program(Run& run) {
    auto rows = random<uint64_t>(64);
    std::vector<uint8_t> cells(64 * 64);
    for (size_t i = 0; i < cells.size(); ++i) cells[i] = rows[i / 64] >> i % 64 & 1;
    auto bytes = run.buffer(cells), bytes_next = run.buffer(cells);
    auto bits = run.buffer(rows), bits_next = run.buffer(rows);
    for (int generation = 0; generation < 6; ++generation) {
        LAUNCH(live_bytes, 64, 64, bytes, bytes_next);
        LAUNCH(live_bits, 1, 64, bits, bits_next);
        std::swap(bytes, bytes_next);
        std::swap(bits, bits_next);
    }
    cells = bytes.values();
    rows = bits.values();
    bool same = true;
    for (size_t i = 0; i < cells.size(); ++i) same = same && cells[i] == (rows[i / 64] >> i % 64 & 1);
    run.expect(same, "bytes and bits agree");
}
#endif
