// Conversions between every pair of integer and floating types, of values within range.
#include "program.h"

template <class To, class From>
__device__ void convert(From x, To* out) {
    *out = (To)x;
}

__global__ void conversions(const double* in, const int64_t* integers, double* from_real, float* from_float,
                            int64_t* to_integer, uint64_t* to_unsigned, half* halves) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    double d = in[i];
    float f = (float)d;
    int64_t n = integers[i] >> (i % 60);
    to_integer[6 * i] = (int64_t)d;
    to_integer[6 * i + 1] = (int32_t)(d * 0x1p-32);
    to_integer[6 * i + 2] = (int16_t)(int)(d * 0x1p-48);
    to_integer[6 * i + 3] = (int64_t)f;
    to_integer[6 * i + 4] = (int8_t)(d * 0x1p-56);
    to_integer[6 * i + 5] = (int)(half)(float)(d * 0x1p-50);
    to_unsigned[3 * i] = (uint64_t)fabs(d);
    to_unsigned[3 * i + 1] = (uint32_t)fabsf(f * 0x1p-32f);
    to_unsigned[3 * i + 2] = (uint8_t)fabs(d * 0x1p-56);
    from_real[4 * i] = (double)n;
    from_real[4 * i + 1] = (double)(uint64_t)n;
    from_real[4 * i + 2] = (double)(int32_t)n + (double)(uint32_t)n * 0x1p-40;
    from_real[4 * i + 3] = (double)f;
    from_float[4 * i] = (float)n;
    from_float[4 * i + 1] = (float)(uint64_t)n;
    from_float[4 * i + 2] = (float)(int32_t)n;
    from_float[4 * i + 3] = (float)(uint32_t)n * (float)(uint8_t)n;
    halves[3 * i] = (half)(int16_t)(n % 2049);
    halves[3 * i + 1] = (half)(float)(d * 0x1p-49);
    halves[3 * i + 2] = (half)(d * 0x1p-64);
}

#if HOST
void program(Run& run) {
    auto reals = random<double>(128);
    for (size_t i = 0; i < 128; ++i)
        reals[i] = std::ldexp(reals[i] + 0x1p-30 * reals[(i + 1) % 128], static_cast<int>(62 - (i % 3 ? i / 2 : 0)));
    auto in = run.buffer(reals), from_real = run.zeros<double>(4 * 128);
    auto integers = run.buffer(random<int64_t>(128)), to_integer = run.zeros<int64_t>(6 * 128);
    auto from_float = run.zeros<float>(4 * 128);
    auto to_unsigned = run.zeros<uint64_t>(3 * 128);
    auto halves = run.zeros<half>(3 * 128);
    LAUNCH(conversions, 2, 64, in, integers, from_real, from_float, to_integer, to_unsigned, halves);
}
#endif
