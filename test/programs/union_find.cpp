// Connected components with lock-free union by compare-and-swap; every vertex ends at the least of its component.
#include "program.h"

__device__ uint32_t find(uint32_t* parent, uint32_t v) {
    uint32_t up = atomic_load(&parent[v]);
    while (up != v) {
        v = up;
        up = atomic_load(&parent[v]);
    }
    return v;
}

__global__ void unite(const uint32_t* edges, uint32_t count, uint32_t* parent) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    uint32_t a = find(parent, edges[2 * i]), b = find(parent, edges[2 * i + 1]);
    while (a != b) {
        uint32_t high = max(a, b), low = min(a, b), old = atomicCAS(&parent[high], high, low);
        if (old == high) break;
        a = find(parent, old);
        b = find(parent, low);
    }
}

__global__ void flatten(uint32_t* parent, uint32_t n) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomic_store(&parent[i], find(parent, i));
}

#if HOST
void program(Run& run) {
    auto ends = random<uint32_t>(2 * 350);
    for (uint32_t& end : ends) end %= 500;
    std::vector<uint32_t> own(500);
    std::iota(own.begin(), own.end(), 0u);
    auto edges = run.buffer(ends), parent = run.buffer(own);
    LAUNCH(unite, 6, 64, edges, 350, parent);
    LAUNCH(flatten, 4, 128, parent, 500);
}
#endif
