// Least significant digit radix sort of one workgroup's keys, 4 bits a pass, with a scan of counts in local memory.
#include "program.h"

__global__ __launch_bounds__(256) void radix_sort(uint32_t* keys) {
    __shared__ uint32_t in[256], counts[16 * 256], sums[256];
    unsigned id = threadIdx.x;
    uint32_t* block = keys + blockIdx.x * 256;
    in[id] = block[id];
    for (unsigned shift = 0; shift < 32; shift += 4) {
        __syncthreads();
        uint32_t key = in[id], digit = key >> shift & 15;
        for (unsigned d = 0; d < 16; ++d) counts[d * 256 + id] = d == digit;
        __syncthreads();
        // An exclusive scan of 4096 counts: 16 by each work-item, then over their sums.
        uint32_t own = 0;
        for (unsigned k = 0; k < 16; ++k) own += counts[id * 16 + k];
        sums[id] = own;
        for (unsigned step = 1; step < 256; step *= 2) {
            __syncthreads();
            uint32_t before = id >= step ? sums[id - step] : 0;
            __syncthreads();
            sums[id] += before;
        }
        __syncthreads();
        uint32_t at = sums[id] - own;
        for (unsigned k = 0; k < 16; ++k) {
            uint32_t count = counts[id * 16 + k];
            counts[id * 16 + k] = at;
            at += count;
        }
        __syncthreads();
        in[counts[digit * 256 + id]] = key;
    }
    __syncthreads();
    block[id] = in[id];
}

#if HOST
void program(Run& run) {
    auto keys = run.buffer(random<uint32_t>(2 * 256));
    LAUNCH(radix_sort, 2, 256, keys);
    auto sorted = keys.values();
    run.expect(std::is_sorted(sorted.begin() + 256, sorted.end()), "the keys are sorted");
}
#endif
