// 512-bit integers: schoolbook products, sums with carry, and the remainder by a 64-bit number.
#include "program.h"

constexpr int words = 16;

__global__ void big_multiply(const uint32_t* a, const uint32_t* b, uint32_t* products, uint32_t* sums,
                             uint64_t* remainders) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t out[2 * words] = {};
    const uint32_t *x = a + i * words, *y = b + i * words;
    uint64_t carry_of_sum = 0;
    for (int j = 0; j < words; ++j) {
        uint64_t carry = 0;
        for (int k = 0; k < words; ++k) {
            carry += (uint64_t)x[j] * y[k] + out[j + k];
            out[j + k] = (uint32_t)carry;
            carry >>= 32;
        }
        out[j + words] = (uint32_t)carry;
        carry_of_sum += (uint64_t)x[j] + y[j];
        sums[i * words + (unsigned)j] = (uint32_t)carry_of_sum;
        carry_of_sum >>= 32;
    }
    uint64_t remainder = 0;
    for (int j = 2 * words; j-- > 0;) {
        products[i * 2 * words + (unsigned)j] = out[j];
        remainder = (remainder << 32 | out[j]) % 0xfffffffbu;
    }
    remainders[i] = remainder;
}

#if HOST
void program(Run& run) {
    auto a = run.buffer(random<uint32_t>(70 * words)), b = run.buffer(random<uint32_t>(70 * words, 2));
    auto products = run.zeros<uint32_t>(70 * 2 * words), sums = run.zeros<uint32_t>(70 * words);
    auto remainders = run.zeros<uint64_t>(70);
    LAUNCH(big_multiply, 2, 35, a, b, products, sums, remainders);
}
#endif
