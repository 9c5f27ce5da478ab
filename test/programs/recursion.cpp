// Fibonacci, Ackermann, the towers of Hanoi and mutual recursion, to a depth that differs by lane.
#include "program.h"

__device__ NOINLINE int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ NOINLINE int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__device__ NOINLINE bool is_odd(int n);
__device__ NOINLINE bool is_even(int n) { return n == 0 || is_odd(n - 1); }
__device__ NOINLINE bool is_odd(int n) { return n != 0 && is_even(n - 1); }
__device__ NOINLINE uint32_t hanoi(int discs, int from, int to, uint32_t moves) {
    if (discs == 0) return moves;
    moves = hanoi(discs - 1, from, 3 - from - to, moves);
    moves = moves * 31 + (uint32_t)(from * 3 + to);
    return hanoi(discs - 1, 3 - from - to, to, moves);
}

__global__ void recursion(int* out) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), *own = out + i * 4;
    own[0] = fibonacci(i % 13);
    own[1] = ackermann(i % 3, i % 5);
    own[2] = is_even(i % 20);
    own[3] = (int)hanoi(i % 6, 0, 2, 7);
}

#if HOST
void program(Run& run) {
    auto out = run.zeros<int>(80 * 4);
    LAUNCH(recursion, 2, 40, out);
    run.expect(out.values()[12 * 4] == 144 && out.values()[14 * 4 + 1] == 11, "fibonacci(12) and ackermann(2, 4)");
}
#endif
