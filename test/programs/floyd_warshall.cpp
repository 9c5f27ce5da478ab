// All shortest paths and the way there, one launch for each middle vertex.
#include "program.h"

__global__ void relax(uint32_t* distance, uint8_t* via, unsigned n, unsigned k) {
    unsigned j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n || i == k || j == k) return;
    uint32_t through = distance[i * n + k] + distance[k * n + j];
    if (through < distance[i * n + j]) {
        distance[i * n + j] = through;
        via[i * n + j] = (uint8_t)k;
    }
}

#if HOST
void program(Run& run) {
    const unsigned n = 27;
    auto weights = random<uint32_t>(n * n);
    for (size_t i = 0; i < n * n; ++i) weights[i] = i / n == i % n ? 0 : weights[i] % 4 ? 1u << 29 : weights[i] % 1000;
    auto distance = run.buffer(weights);
    auto via = run.buffer(std::vector<uint8_t>(n * n, 255));
    for (unsigned k = 0; k < n; ++k) LAUNCH(relax, dim3(2, 7), dim3(16, 4), distance, via, n, k);
}
#endif
