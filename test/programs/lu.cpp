// LU decomposition with partial pivoting of small double matrices, one for each workgroup, and its solution.
#include "program.h"

constexpr int n = 16;

__global__ void lu(double* matrices, double* vectors) {
    __shared__ double a[n][n + 1];
    __shared__ int pivot;
    int row = (int)threadIdx.x;
    for (int k = 0; k < n; ++k) a[row][k] = matrices[((int)blockIdx.x * n + row) * n + k];
    a[row][n] = vectors[(int)blockIdx.x * n + row];
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        if (row == k) {
            pivot = k;
            for (int i = k + 1; i < n; ++i)
                if (fabs(a[i][k]) > fabs(a[pivot][k])) pivot = i;
            if (pivot != k)
                for (int j = k; j <= n; ++j) {
                    double t = a[k][j];
                    a[k][j] = a[pivot][j];
                    a[pivot][j] = t;
                }
        }
        __syncthreads();
        if (row > k) {
            double factor = a[row][k] / a[k][k];
            for (int j = k; j <= n; ++j) a[row][j] -= factor * a[k][j];
        }
        __syncthreads();
    }
    for (int k = n - 1; k >= 0; --k) {
        if (row == k) a[k][n] /= a[k][k];
        __syncthreads();
        if (row < k) a[row][n] -= a[row][k] * a[k][n];
        __syncthreads();
    }
    vectors[(int)blockIdx.x * n + row] = a[row][n];
}

#if HOST
void program(Run& run) {
    auto matrices = run.buffer(random<double>(5 * n * n)), vectors = run.buffer(random<double>(5 * n, 2));
    LAUNCH(lu, 5, n, matrices, vectors);
}
#endif
