// A sparse matrix by a vector in compressed rows: a work-item a row, and a group of eight lanes a row.
#include "program.h"

__global__ void by_item(const int* starts, const int* columns, const double* values, const double* x, double* y,
                        int rows) {
    int row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= rows) return;
    double sum = 0;
    for (int k = starts[row]; k < starts[row + 1]; ++k) sum += values[k] * x[columns[k]];
    y[row] = sum;
}

__global__ void by_group(const int* starts, const int* columns, const double* values, const double* x, double* y,
                         int rows) {
    int row = (int)(blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = lane_id() & 7;
    double sum = 0;
    if (row < rows)
        for (int k = starts[row] + lane; k < starts[row + 1]; k += 8) sum += values[k] * x[columns[k]];
    for (int step = 4; step > 0; step /= 2) sum += __shfl_down(sum, (unsigned)step, 8);
    if (row < rows && lane == 0) y[row] = sum;
}

#if HOST
void program(Run& run) {
    std::vector<int> first = {0}, column;
    for (int row = 0; row < 150; ++row) {
        for (int k = 0; k < row * 7 % 23; ++k) column.push_back((row * 31 + k * 17) % 150);
        first.push_back(static_cast<int>(column.size()));
    }
    auto starts = run.buffer(first), columns = run.buffer(column);
    auto values = run.buffer(random<double>(column.size())), x = run.buffer(random<double>(150, 2));
    auto a = run.zeros<double>(150), b = run.zeros<double>(150);
    LAUNCH(by_item, 3, 64, starts, columns, values, x, a, 150);
    LAUNCH(by_group, 5, 256, starts, columns, values, x, b, 150);
}
#endif
