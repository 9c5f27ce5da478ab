// Calls through a constant table of function pointers, a different one in each lane, and through a parameter.
#include "program.h"

using Operation = int (*)(int, int);
__device__ NOINLINE int plus(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
__device__ NOINLINE int minus(int a, int b) { return (int)((unsigned)a - (unsigned)b); }
__device__ NOINLINE int times(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
__device__ NOINLINE int smaller(int a, int b) { return a < b ? a : b; }
__device__ NOINLINE int mix(int a, int b) { return times(plus(a, 3), minus(b, 5)); }
__device__ const Operation table[] = {plus, minus, times, smaller, mix};

__device__ NOINLINE int fold(const int* values, int count, Operation operation) {
    int result = values[0];
    for (int i = 1; i < count; ++i) result = operation(result, values[i]);
    return result;
}

__global__ void calls(const int* in, int* out, int* folded) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = table[i % 5](in[i], in[i + 1]);
    int own[6];
    for (unsigned k = 0; k < 6; ++k) own[k] = in[i + k] >> 8;
    folded[i] = fold(own, 2 + (int)(i % 5), table[(i / 3) % 5]);
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<int>(110));
    auto out = run.zeros<int>(100), folded = run.zeros<int>(100);
    LAUNCH(calls, 2, 50, in, out, folded);
}
#endif
