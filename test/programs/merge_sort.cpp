// Merge sort in global memory: one launch a level, each work-item merges two runs.
#include "program.h"

__global__ void merge_runs(const int64_t* from, int64_t* to, uint32_t n, uint32_t width) {
    uint32_t left = (blockIdx.x * blockDim.x + threadIdx.x) * 2 * width;
    if (left >= n) return;
    uint32_t middle = min(left + width, n), right = min(left + 2 * width, n), a = left, b = middle;
    for (uint32_t i = left; i < right; ++i) {
        bool first = a < middle && (b >= right || from[a] <= from[b]);
        to[i] = first ? from[a++] : from[b++];
    }
}

#if HOST
void program(Run& run) {
    const uint32_t n = 777;
    auto a = run.buffer(random<int64_t>(n)), b = run.zeros<int64_t>(n);
    for (uint32_t width = 1; width < n; width *= 2) {
        LAUNCH(merge_runs, (n + 63) / 64, 64, a, b, n, width);
        std::swap(a, b);
    }
    auto sorted = a.values();
    run.expect(std::is_sorted(sorted.begin(), sorted.end()), "the numbers are sorted");
}
#endif
