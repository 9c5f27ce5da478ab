// A matrix product of doubles that loads the next tile while it works on this one.
#include "program.h"

__global__ void matmul_double_buffer(const double* a, const double* b, double* c, int n) {
    __shared__ double tiles[2][2][8][8];
    int x = (int)threadIdx.x, y = (int)threadIdx.y, row = (int)blockIdx.y * 8 + y, column = (int)blockIdx.x * 8 + x;
    double sum = 0;
    int now = 0;
    tiles[0][0][y][x] = a[row * n + x];
    tiles[0][1][y][x] = b[y * n + column];
    __syncthreads();
    for (int tile = 0; tile < n; tile += 8, now ^= 1) {
        if (tile + 8 < n) {
            tiles[now ^ 1][0][y][x] = a[row * n + tile + 8 + x];
            tiles[now ^ 1][1][y][x] = b[(tile + 8 + y) * n + column];
        }
        for (int k = 0; k < 8; ++k) sum = fma(tiles[now][0][y][k], tiles[now][1][k][x], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}

#if HOST
void program(Run& run) {
    const int n = 32;
    auto a = run.buffer(random<double>(n * n)), b = run.buffer(random<double>(n * n, 2)), c = run.zeros<double>(n * n);
    LAUNCH(matmul_double_buffer, dim3(4, 4), dim3(8, 8), a, b, c, n);
}
#endif
