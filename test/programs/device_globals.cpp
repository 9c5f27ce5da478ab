// Variables of the device: a constant table, initialised data, zeroed data, pointers to them, counters that last.
#include "program.h"

__device__ uint32_t counter = 5;
__device__ uint64_t sums[4];
__device__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__constant__ uint8_t digits[16] = {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
__device__ const char* const words[] = {"zero", "one", "two", "three"};
__device__ int* const third_prime = &primes[2];

__global__ void use_globals(uint8_t* text) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t ticket = atomicAdd(&counter, 1u);
    atomicAdd(&sums[ticket % 4], (uint64_t)ticket * ticket);
    text[4 * i] = digits[i & 15];
    text[4 * i + 1] = digits[i >> 4 & 15];
    text[4 * i + 2] = (uint8_t)words[i % 4][i % 3];
    text[4 * i + 3] = (uint8_t)(*third_prime + primes[i % 8]);
}

__global__ void change_globals() {
    if (threadIdx.x < 8) primes[threadIdx.x] += (int)counter;
}

#if HOST
void program(Run& run) {
    auto count = GLOBAL(counter);
    GLOBAL(sums);
    auto table = GLOBAL(primes);
    auto text = run.zeros<uint8_t>(4 * 96);
    LAUNCH(use_globals, 2, 48, text);
    run.launch("change_globals", change_globals, 1, 32);
    run.expect(count.values()[0] == 5 + 96, "every work-item took a ticket");
    run.expect(table.values()[0] == 2 + 101, "the second launch sees what the first left");
}
#endif
