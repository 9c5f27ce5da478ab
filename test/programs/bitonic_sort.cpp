// Bitonic sorting network: one workgroup sorts 1024 numbers in local memory, a barrier between steps.
#include "program.h"

__global__ __launch_bounds__(512) void bitonic_sort(uint32_t* data) {
    __shared__ uint32_t tile[1024];
    unsigned id = threadIdx.x;
    data += blockIdx.x * 1024;
    tile[id] = data[id];
    tile[id + 512] = data[id + 512];
    for (unsigned size = 2; size <= 1024; size *= 2) {
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            unsigned low = (id & ~(stride - 1)) * 2 + (id & (stride - 1)), high = low + stride;
            uint32_t a = tile[low], b = tile[high];
            if ((a > b) == ((low & size) == 0)) {
                tile[low] = b;
                tile[high] = a;
            }
        }
    }
    __syncthreads();
    data[id] = tile[id];
    data[id + 512] = tile[id + 512];
}

#if HOST
void program(Run& run) {
    auto data = run.buffer(random<uint32_t>(2 * 1024));
    LAUNCH(bitonic_sort, 2, 512, data);
    auto sorted = data.values();
    run.expect(std::is_sorted(sorted.begin(), sorted.begin() + 1024), "the first block is sorted");
    run.expect(std::is_sorted(sorted.begin() + 1024, sorted.end()), "the second block is sorted");
}
#endif
