// Odd-even transposition of 16-bit numbers, a pair for each work-item.
#include "program.h"

__global__ void odd_even_sort(int16_t* data, int n) {
    int16_t* row = data + blockIdx.x * n;
    for (int step = 0; step < n; ++step) {
        int i = 2 * (int)threadIdx.x + (step & 1);
        if (i + 1 < n && row[i] > row[i + 1]) {
            int16_t t = row[i];
            row[i] = row[i + 1];
            row[i + 1] = t;
        }
        __syncthreads();
    }
}

#if HOST
void program(Run& run) {
    auto data = run.buffer(random<int16_t>(3 * 101));
    LAUNCH(odd_even_sort, 3, 64, data, 101);
    auto sorted = data.values();
    run.expect(std::is_sorted(sorted.begin(), sorted.begin() + 101), "the first row is sorted");
}
#endif
