// Inclusive sums of an array longer than a workgroup: scan each block, scan the blocks' totals, add them back.
#include "program.h"

__global__ void scan_block(uint32_t* data, uint32_t* totals, uint32_t n) {
    __shared__ uint32_t part[2][128];
    uint32_t i = blockIdx.x * 128 + threadIdx.x, from = 0;
    part[0][threadIdx.x] = i < n ? data[i] : 0;
    for (uint32_t step = 1; step < 128; step *= 2) {
        __syncthreads();
        uint32_t sum = part[from][threadIdx.x];
        if (threadIdx.x >= step) sum += part[from][threadIdx.x - step];
        part[1 - from][threadIdx.x] = sum;
        from = 1 - from;
    }
    __syncthreads();
    if (i < n) data[i] = part[from][threadIdx.x];
    if (threadIdx.x == 127) totals[blockIdx.x] = part[from][127];
}

__global__ void add_totals(uint32_t* data, const uint32_t* totals, uint32_t n) {
    uint32_t i = blockIdx.x * 128 + threadIdx.x;
    if (blockIdx.x > 0 && i < n) data[i] += totals[blockIdx.x - 1];
}

#if HOST
void program(Run& run) {
    const uint32_t n = 1900, blocks = (n + 127) / 128;
    auto values = random<uint32_t>(n);
    auto data = run.buffer(values), totals = run.zeros<uint32_t>(blocks), unused = run.zeros<uint32_t>(1);
    LAUNCH(scan_block, blocks, 128, data, totals, n);
    LAUNCH(scan_block, 1, 128, totals, unused, blocks);
    LAUNCH(add_totals, blocks, 128, data, totals, n);
    run.expect(data.values().back() == std::accumulate(values.begin(), values.end(), 0u), "the last sum is the total");
}
#endif
