// hipRAND over Debian's rocRAND, whose kernels are AMD's build: Philox and Sobol numbers are those of their definitions, and
// what the other generators draw is spread as it is to be.
#include <hiprand/hiprand.h>

#include <cmath>
#include <cstring>

#include "checks.h"

template <class T, class Call>
static std::vector<T> draw(hiprandRngType_t type, int n, Call&& call, unsigned long long seed = 7) {
    hiprandGenerator_t generator;
    T* memory;
    OK(hipMalloc(&memory, n * sizeof(T)));
    EXPECT(hiprandCreateGenerator(&generator, type) == HIPRAND_STATUS_SUCCESS);
    if (type < HIPRAND_RNG_QUASI_DEFAULT) EXPECT(hiprandSetPseudoRandomGeneratorSeed(generator, seed) == HIPRAND_STATUS_SUCCESS);
    EXPECT(call(generator, memory, n) == HIPRAND_STATUS_SUCCESS);
    std::vector<T> out(n);
    OK(hipMemcpy(out.data(), memory, n * sizeof(T), hipMemcpyDeviceToHost));
    EXPECT(hiprandDestroyGenerator(generator) == HIPRAND_STATUS_SUCCESS);
    OK(hipFree(memory));
    return out;
}
static std::vector<unsigned> draw_words(hiprandRngType_t type, int n, unsigned long long seed = 7) {
    return draw<unsigned>(type, n, hiprandGenerate, seed);
}

/// Philox4x32-10 (Salmon et al., 2011) of the counters {i, 0, 0, 0}.
static std::vector<unsigned> philox(unsigned seed, int n) {
    std::vector<unsigned> out;
    for (unsigned i = 0; static_cast<int>(out.size()) < n; ++i) {
        unsigned x[4] = {i, 0, 0, 0}, key[2] = {seed, 0};
        for (int round = 0; round < 10; ++round) {
            const unsigned long long a = 0xD2511F53ull * x[0], b = 0xCD9E8D57ull * x[2];
            const unsigned next[4] = {unsigned(b >> 32) ^ x[1] ^ key[0], unsigned(b), unsigned(a >> 32) ^ x[3] ^ key[1], unsigned(a)};
            std::memcpy(x, next, sizeof x);
            key[0] += 0x9E3779B9u, key[1] += 0xBB67AE85u;
        }
        out.insert(out.end(), x, x + 4);
    }
    return out;
}

/// The first dimension of Sobol's sequence: the bits of i's Gray code, turned around.
static unsigned sobol(unsigned i) {
    unsigned out = 0;
    for (int bit = 0; bit < 32; ++bit) out |= (((i ^ i >> 1) >> bit) & 1u) << (31 - bit);
    return out;
}

static void is_even(const std::vector<unsigned>& values) {
    int counts[16] = {};
    for (const unsigned value : values) ++counts[value >> 28];
    double chi = 0;  // of 15 degrees of freedom: beyond 44 once in 10000
    for (const int count : counts) chi += std::pow(count - values.size() / 16.0, 2) / (values.size() / 16.0);
    EXPECT(chi < 44);
}

int main() {
    constexpr int n = 1 << 14;
    const std::vector<unsigned> one = draw_words(HIPRAND_RNG_PSEUDO_PHILOX4_32_10, n);
    EXPECT(one == philox(7, n));
    EXPECT(draw_words(HIPRAND_RNG_PSEUDO_PHILOX4_32_10, n, 8) == philox(8, n));
    const auto floats = draw<float>(HIPRAND_RNG_PSEUDO_PHILOX4_32_10, n, hiprandGenerateUniform);
    for (int i = 0; i < n; ++i) EXPECT(std::abs(floats[i] - std::ldexp(one[i] + 0.5, -32)) < 1e-6);
    const auto quasi = draw_words(HIPRAND_RNG_QUASI_SOBOL32, n);
    for (int i = 0; i < n; ++i) EXPECT(quasi[i] == sobol(i));
    for (const hiprandRngType_t type : {HIPRAND_RNG_PSEUDO_XORWOW, HIPRAND_RNG_PSEUDO_MRG32K3A, HIPRAND_RNG_PSEUDO_MTGP32}) {
        const auto values = draw_words(type, n);
        is_even(values);
        EXPECT(values == draw_words(type, n));
        EXPECT(values != draw_words(type, n, 8));
    }
    const auto normals = draw<float>(HIPRAND_RNG_PSEUDO_XORWOW, n, [](auto... all) { return hiprandGenerateNormal(all..., 3.f, 2.f); });
    double sum = 0, squares = 0;
    for (const float value : normals) sum += value, squares += (value - 3.0) * (value - 3.0);
    EXPECT(std::abs(sum / n - 3) < 4 * 2 / std::sqrt(double(n)));  // four of its standard deviations
    EXPECT(std::abs(squares / n - 4) < 4 * 4 * std::sqrt(2.0 / n));
    return tell();
}
