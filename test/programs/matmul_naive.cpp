// A matrix product with one work-item an element, sizes that do not divide by the block.
#include "program.h"

__global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    int row = (int)(blockIdx.y * blockDim.y + threadIdx.y), column = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= m || column >= n) return;
    float sum = 0;
    for (int i = 0; i < k; ++i) sum = fmaf(a[row * k + i], b[i * n + column], sum);
    c[row * n + column] = sum;
}

#if HOST
void program(Run& run) {
    const int m = 37, n = 45, k = 29;
    auto a = run.buffer(random<float>(m * k)), b = run.buffer(random<float>(k * n, 2)), c = run.zeros<float>(m * n);
    LAUNCH(matmul, dim3(3, 5), dim3(16, 8), a, b, c, m, n, k);
}
#endif
