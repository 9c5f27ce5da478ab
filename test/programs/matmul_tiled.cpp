// A matrix product through tiles in local memory, each work-item making 2 by 2 elements.
#include "program.h"

__global__ __launch_bounds__(64) void matmul_tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float left[16][17], right[16][17];
    int x = (int)threadIdx.x, y = (int)threadIdx.y, row = (int)blockIdx.y * 16, column = (int)blockIdx.x * 16;
    float sum[2][2] = {};
    for (int tile = 0; tile < n; tile += 16) {
        for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 2; ++j) {
                left[y + 8 * i][x + 8 * j] = a[(row + y + 8 * i) * n + tile + x + 8 * j];
                right[y + 8 * i][x + 8 * j] = b[(tile + y + 8 * i) * n + column + x + 8 * j];
            }
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j) sum[i][j] = sum[i][j] + left[y + 8 * i][k] * right[k][x + 8 * j];
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) c[(row + y + 8 * i) * n + column + x + 8 * j] = sum[i][j];
}

#if HOST
void program(Run& run) {
    const int n = 48;
    auto a = run.buffer(random<float>(n * n)), b = run.buffer(random<float>(n * n, 2)), c = run.zeros<float>(n * n);
    LAUNCH(matmul_tiled, dim3(3, 3), dim3(8, 8), a, b, c, n);
}
#endif
