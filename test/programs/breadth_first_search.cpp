// Distances in a graph, a frontier kept in a queue with atomic appends; claims by compare-and-swap.
#include "program.h"

__global__ void expand(const int* starts, const int* neighbours, int* distance, const int* frontier, const int* count,
                       int* next, int* next_count, int depth) {
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < *count; i += (int)(gridDim.x * blockDim.x)) {
        int v = frontier[i];
        for (int k = starts[v]; k < starts[v + 1]; ++k) {
            int w = neighbours[k];
            if (atomicCAS(&distance[w], -1, depth) == -1) next[atomicAdd(next_count, 1)] = w;
        }
    }
}

#if HOST
void program(Run& run) {
    const int n = 400;
    std::vector<int> first = {0}, neighbour, start(n, -1), queue(n);
    for (int v = 0; v < n; ++v) {
        for (int k = 0; k < 1 + v % 4; ++k)
            neighbour.push_back(static_cast<int>(programs::random_bits(9, static_cast<uint64_t>(v * 8 + k)) % n));
        first.push_back(static_cast<int>(neighbour.size()));
    }
    start[0] = 0;
    auto starts = run.buffer(first), neighbours = run.buffer(neighbour), distance = run.buffer(start);
    auto frontier = run.buffer(queue), next = run.buffer(queue), count = run.buffer(std::vector<int>{1});
    for (int depth = 1; count.values()[0] > 0 && depth < 50; ++depth) {
        auto found = run.zeros<int>(1);
        LAUNCH(expand, 2, 64, starts, neighbours, distance, frontier, count, next, found, depth);
        auto sorted = next.values();
        std::sort(sorted.begin(), sorted.begin() + found.values()[0]);
        frontier.set(sorted);
        next.set(queue);
        count.set(found.values());
    }
}
#endif
