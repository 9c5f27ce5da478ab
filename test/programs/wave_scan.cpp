// Prefix sums in a wave by shuffles, of 32- and 64-bit numbers, and a sum over the wave by butterflies.
#include "program.h"

__global__ void wave_scan(const uint32_t* in, uint32_t* sums, uint64_t* wide, uint32_t* totals) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i], total = value;
    uint64_t long_value = (uint64_t)value * value;
    for (int step = 1; step < 32; step *= 2) {
        uint32_t before = __shfl_up(value, step, 32);
        uint64_t long_before = __shfl_up(long_value, step, 32);
        if ((lane_id() & 31) >= step) {
            value += before;
            long_value += long_before;
        }
        total += __shfl_xor(total, step);
    }
    sums[i] = value;
    wide[i] = long_value;
    totals[i] = total;
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<uint32_t>(3 * 128));
    auto sums = run.zeros<uint32_t>(in.size()), totals = run.zeros<uint32_t>(in.size());
    auto wide = run.zeros<uint64_t>(in.size());
    LAUNCH(wave_scan, 3, 128, in, sums, wide, totals);
    run.expect(sums.values()[31] == totals.values()[0], "the last sum is the total");
}
#endif
