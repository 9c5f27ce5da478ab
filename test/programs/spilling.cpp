// More live values than registers: sums of products over big private arrays that the compiler unrolls.
#include "program.h"

__global__ __launch_bounds__(1024) void spilling(const uint32_t* in, uint32_t* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t a[160], b[64];
#pragma unroll
    for (unsigned k = 0; k < 160; ++k) a[k] = in[(i + k * 7) & 1023] * (k + 1);
    for (unsigned round = 0; round < 3; ++round) {
#pragma unroll
        for (unsigned k = 0; k < 160; ++k) a[k] = a[k] * 33 + (a[(k + 53) % 160] ^ a[(k * 7 + 11) % 160] >> 3);
    }
    for (unsigned k = 0; k < 64; ++k) b[(k * 5 + i) % 64] = a[k] + a[k + 64];
    uint32_t sum = 0;
    for (unsigned k = 0; k < 64; ++k) sum = sum * 31 + b[k] + a[96 + k];
    out[i] = sum;
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<uint32_t>(1024)), out = run.zeros<uint32_t>(200);
    LAUNCH(spilling, 2, 100, in, out);
}
#endif
