// Local memory whose size the launch decides, in two parts of different types.
#include "program.h"

__global__ void rotate_and_sum(const uint16_t* in, uint32_t* out, int n) {
    DYNAMIC_SHARED(uint32_t, words);
    uint16_t* halves = (uint16_t*)(words + n);
    int id = (int)threadIdx.x;
    words[id] = in[id] * 3u;
    halves[n - 1 - id] = in[id];
    __syncthreads();
    out[blockIdx.x * (unsigned)n + (unsigned)id] = words[(id + (int)blockIdx.x) % n] + halves[(id * 5) % n];
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<uint16_t>(250));
    auto out = run.zeros<uint32_t>(3 * 250);
    run.dynamic_lds = 250 * 6;
    LAUNCH(rotate_and_sum, 3, 250, in, out, 250);
}
#endif
