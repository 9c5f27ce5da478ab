// Values moved between lanes: by index, up, down, by exclusive or, in parts of a wave, of types of several sizes.
#include "program.h"

__global__ void shuffles(const int* in, int* out, double* doubles) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), x = in[i], *own = out + i * 8;
    own[0] = __shfl(x, i * 7 % 32, 32);
    own[1] = __shfl_up(x, 3u, 16);
    own[2] = __shfl_down(x, 5u, 8);
    own[3] = __shfl_xor(x, 21, 32);
    own[4] = __shfl(x, x & (WAVE - 1));
    own[5] = (int)__shfl((unsigned)x >> 3, 1, 4);
    float f = __shfl_xor((float)x, 1, 2);
    own[6] = bits_as<int>(f);
    int most = x;
    for (int step = 1; step < 32; step *= 2) most = max(most, __shfl_xor(most, step, 32));
    own[7] = most;
    doubles[i] = __shfl_down(x * 0.5, 1u, 32);
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<int>(256));
    auto out = run.zeros<int>(256 * 8);
    auto doubles = run.zeros<double>(256);
    LAUNCH(shuffles, 2, 128, in, out, doubles);
}
#endif
