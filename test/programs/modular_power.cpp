// Modular powers with 128-bit products and a Miller-Rabin test of 64-bit numbers.
#include "program.h"

__device__ uint64_t multiply(uint64_t a, uint64_t b, uint64_t modulus) {
    uint64_t result = 0;
    for (; b; b >>= 1) {
        if (b & 1) result = result >= modulus - a ? result - (modulus - a) : result + a;
        a = a >= modulus - a ? a - (modulus - a) : a + a;
    }
    return result;
}

__device__ NOINLINE uint64_t power(uint64_t base, uint64_t exponent, uint64_t modulus) {
    uint64_t result = 1 % modulus;
    for (base %= modulus; exponent; exponent >>= 1) {
        if (exponent & 1) result = multiply(result, base, modulus);
        base = multiply(base, base, modulus);
    }
    return result;
}

__device__ bool is_prime(uint64_t n) {
    if (n < 2 || n % 2 == 0) return n == 2;
    uint64_t d = n - 1;
    int twos = 0;
    while (d % 2 == 0) d /= 2, ++twos;
    for (uint64_t base = 2; base <= 7; base += base == 2 ? 1 : 2) {
        if (n % base == 0) return n == base;
        uint64_t x = power(base, d, n);
        bool passes = x == 1 || x == n - 1;
        for (int i = 1; i < twos && !passes; ++i) {
            x = multiply(x, x, n);
            passes = x == n - 1;
        }
        if (!passes) return false;
    }
    return true;
}

__global__ void primes(uint64_t first, uint8_t* prime, uint64_t* powers) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    prime[i] = is_prime(first + i);
    powers[i] = power(first ^ i, 1000 + 3 * i, 0xffffffffffffffc5u);
}

#if HOST
void program(Run& run) {
    auto prime = run.zeros<uint8_t>(64);
    auto powers = run.zeros<uint64_t>(64);
    LAUNCH(primes, 2, 32, 1000000007u, prime, powers);
    run.expect(prime.values()[0] == 1, "10^9 + 7 is prime");
}
#endif
