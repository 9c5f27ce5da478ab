// The length and top of Collatz sequences: loops whose number of turns differs by lane.
#include "program.h"

__global__ void collatz(uint32_t first, uint32_t n, uint32_t* lengths, uint64_t* tops) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint64_t x = first + i, top = x;
    uint32_t length = 0;
    while (x != 1) {
        x = x & 1 ? 3 * x + 1 : x >> 1;
        top = max(top, x);
        ++length;
    }
    lengths[i] = length;
    tops[i] = top;
}

#if HOST
void program(Run& run) {
    auto lengths = run.zeros<uint32_t>(300);
    auto tops = run.zeros<uint64_t>(300);
    LAUNCH(collatz, 5, 64, 1, 300, lengths, tops);
    run.expect(lengths.values()[26] == 111 && tops.values()[26] == 9232, "27 takes 111 steps up to 9232");
}
#endif
