// A histogram in local memory with atomic additions, then added to the one in global memory.
#include "program.h"

__global__ void histogram_local(const uint8_t* text, unsigned n, uint32_t* counts) {
    __shared__ uint32_t bins[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[text[i]], 1u);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        if (bins[i]) atomicAdd(&counts[i], bins[i]);
}

#if HOST
void program(Run& run) {
    auto text = run.buffer(random<uint8_t>(10000));
    auto counts = run.zeros<uint32_t>(256);
    LAUNCH(histogram_local, 5, 192, text, 9999, counts);
    auto values = counts.values();
    run.expect(std::accumulate(values.begin(), values.end(), 0u) == 9999, "every byte is counted");
}
#endif
