// A segmented sieve of Eratosthenes: a bit map in local memory with atomic or, counted by population counts.
#include "program.h"

__global__ void sieve(uint32_t* bits, uint32_t* total) {
    __shared__ uint32_t composite[64];
    uint32_t first = blockIdx.x * 2048;
    composite[threadIdx.x] = 0;
    __syncthreads();
    uint32_t d = threadIdx.x + 2;
    bool prime = true;
    for (uint32_t k = 2; k * k <= d; ++k)
        if (d % k == 0) prime = false;
    if (prime)
        for (uint32_t m = max(d * d, (first + d - 1) / d * d); m < first + 2048; m += d)
            atomicOr(&composite[(m - first) / 32], 1u << m % 32);
    __syncthreads();
    uint32_t primes = ~composite[threadIdx.x];
    if (first == 0 && threadIdx.x == 0) primes &= ~3u;
    bits[blockIdx.x * 64 + threadIdx.x] = primes;
    atomicAdd(total, (uint32_t)__builtin_popcount(primes));
}

#if HOST
void program(Run& run) {
    auto bits = run.zeros<uint32_t>(2 * 64), total = run.zeros<uint32_t>(1);
    LAUNCH(sieve, 2, 64, bits, total);
    run.expect(total.values()[0] == 564, "there are 564 primes below 4096");
}
#endif
