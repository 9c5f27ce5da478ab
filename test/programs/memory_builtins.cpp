// memcpy and memset of fixed and of lane-dependent sizes between global, local and private memory.
#include "program.h"

__global__ void copies(const uint8_t* in, uint8_t* out) {
    __shared__ uint8_t shared[64 * 48];
    unsigned i = threadIdx.x;
    uint8_t own[48], *row = shared + i * 48;
    memset(own, (int)i, sizeof own);
    memcpy(own + 3, in + i * 5, 17);
    memcpy(row, own, 48);
    memset(row + 20, 0xab, i % 20);
    __syncthreads();
    uint8_t* to = out + (blockIdx.x * 64 + i) * 48;
    memcpy(to, shared + (i * 7 % 64) * 48, 33);
    for (unsigned k = 33; k < 48; ++k) to[k] = own[k - 13];
    memcpy(to + 40, row + i % 8, i % 8);
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<uint8_t>(512)), out = run.zeros<uint8_t>(2 * 64 * 48);
    LAUNCH(copies, 2, 64, in, out);
}
#endif
