// N queens by bit masks: the first two rows by work-item, the rest by a stack in private memory; and by recursion.
#include "program.h"

__device__ NOINLINE int place(uint32_t all, uint32_t columns, uint32_t left, uint32_t right) {
    if (columns == all) return 1;
    int count = 0;
    for (uint32_t free = all & ~(columns | left | right); free; free &= free - 1) {
        uint32_t bit = free & -free;
        count += place(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return count;
}

__global__ void n_queens(int n, uint32_t* recursive, uint32_t* total) {
    int a = (int)threadIdx.x % n, b = (int)threadIdx.x / n;
    uint32_t all = (1u << n) - 1, x = 1u << a, y = 1u << b;
    if (b >= n || ((x | x << 1 | x >> 1) & y)) return;
    atomicAdd(recursive, (uint32_t)place(all, x | y, ((x << 1) | y) << 1, ((x >> 1) | y) >> 1));
    uint32_t columns[9], left[9], right[9], free[9];
    int row = 2;
    uint32_t count = 0;
    columns[2] = x | y;
    left[2] = (x << 1 | y) << 1;
    right[2] = (x >> 1 | y) >> 1;
    free[2] = all & ~(columns[2] | left[2] | right[2]);
    while (row >= 2) {
        if (!free[row]) {
            --row;
            continue;
        }
        uint32_t bit = free[row] & -free[row];
        free[row] ^= bit;
        if (row == n - 1) {
            ++count;
            continue;
        }
        columns[row + 1] = columns[row] | bit;
        left[row + 1] = (left[row] | bit) << 1;
        right[row + 1] = (right[row] | bit) >> 1;
        ++row;
        free[row] = all & ~(columns[row] | left[row] | right[row]);
    }
    atomicAdd(total, count);
}

#if HOST
void program(Run& run) {
    auto recursive = run.zeros<uint32_t>(1), total = run.zeros<uint32_t>(1);
    LAUNCH(n_queens, 1, 64, 7, recursive, total);
    run.expect(total.values()[0] == 40 && recursive.values()[0] == 40, "seven queens have 40 places");
}
#endif
