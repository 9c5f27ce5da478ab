// hipRAND over Debian's rocRAND, whose kernels are AMD's build: numbers of a seed are the same each time, and spread evenly.
#include <hiprand/hiprand.h>

#include "checks.h"

static std::vector<int> draw(unsigned long long seed, int n) {
    hiprandGenerator_t generator;
    unsigned* memory;
    OK(hipMalloc(&memory, n * 4));
    EXPECT(hiprandCreateGenerator(&generator, HIPRAND_RNG_PSEUDO_PHILOX4_32_10) == HIPRAND_STATUS_SUCCESS);
    EXPECT(hiprandSetPseudoRandomGeneratorSeed(generator, seed) == HIPRAND_STATUS_SUCCESS);
    EXPECT(hiprandGenerate(generator, memory, n) == HIPRAND_STATUS_SUCCESS);
    const std::vector<int> out = read(reinterpret_cast<int*>(memory), n);
    EXPECT(hiprandDestroyGenerator(generator) == HIPRAND_STATUS_SUCCESS);
    OK(hipFree(memory));
    return out;
}

int main() {
    constexpr int n = 1 << 14;
    const std::vector<int> one = draw(7, n);
    EXPECT(one == draw(7, n));
    EXPECT(one != draw(8, n));
    int counts[16] = {};
    for (const int value : one) ++counts[static_cast<unsigned>(value) >> 28];
    double chi = 0;  // of 15 degrees of freedom: beyond 44 once in 10000
    for (const int count : counts) chi += (count - n / 16.0) * (count - n / 16.0) / (n / 16.0);
    EXPECT(chi < 44);
    return tell();
}
