// The 0-1 knapsack by dynamic programming: two rows in local memory, a barrier for each thing.
#include "program.h"

__global__ void knapsack(const int* weights, const int* values, int things, int* best) {
    __shared__ int rows[2][256];
    int room = (int)threadIdx.x, now = 0;
    rows[0][room] = 0;
    for (int k = 0; k < things; ++k) {
        __syncthreads();
        int without = rows[now][room], w = weights[k];
        rows[1 - now][room] = room >= w ? max(without, rows[now][room - w] + values[k]) : without;
        now = 1 - now;
    }
    best[room] = rows[now][room];
}

#if HOST
void program(Run& run) {
    auto weights = random<int>(30), values = random<int>(30, 2);
    for (size_t i = 0; i < 30; ++i) weights[i] = (weights[i] & 63) + 1, values[i] &= 1023;
    auto w = run.buffer(weights), v = run.buffer(values), best = run.zeros<int>(256);
    LAUNCH(knapsack, 1, 256, w, v, 30, best);
}
#endif
