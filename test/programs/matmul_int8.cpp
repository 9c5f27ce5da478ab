// A matrix product of signed bytes into 32 bits, four at a time from packed words.
#include "program.h"

__global__ void matmul_int8(const int8_t* a, const int8_t* b, int* c, int n) {
    int row = (int)blockIdx.x, column = (int)threadIdx.x, sum = 0;
    for (int k = 0; k < n; k += 4) {
        int8_t left[4], right[4];
        memcpy(left, a + row * n + k, 4);
        memcpy(right, b + column * n + k, 4);
        for (int i = 0; i < 4; ++i) sum += left[i] * right[i];
    }
    c[row * n + column] = sum;
}

#if HOST
void program(Run& run) {
    auto a = run.buffer(random<int8_t>(40 * 40)), b = run.buffer(random<int8_t>(40 * 40, 2));
    auto c = run.zeros<int>(40 * 40);
    LAUNCH(matmul_int8, 40, 40, a, b, c, 40);
}
#endif
