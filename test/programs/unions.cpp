// The bits of floats through unions: classification, next value, an inverse square root, halves of doubles.
#include "program.h"

union Bits {
    float f;
    uint32_t u;
    uint8_t bytes[4];
};
union Wide {
    double d;
    uint64_t u;
    uint32_t halves[2];
    uint16_t quarters[4];
};

__global__ void unions(const float* in, uint32_t* out, uint64_t* wide) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    Bits b, c;
    b.f = in[i];
    c.u = 0x5f3759dfu - (b.u & 0x7fffffffu) / 2;
    float x = fabsf(b.f) * 0.5f;
    c.f = c.f * (1.5f - x * c.f * c.f);
    out[4 * i] = c.u;
    c = b;
    c.bytes[i & 3] ^= 0x81;
    out[4 * i + 1] = c.u;
    out[4 * i + 2] = b.u + (b.f > 0 ? 1u : ~0u);
    out[4 * i + 3] = (b.u >> 23 & 255) == 255 ? 3 : (b.u & 0x7fffffff) == 0 ? 0 : (b.u >> 23 & 255) == 0 ? 1 : 2;
    Wide w;
    w.d = b.f;
    w.halves[i & 1] += 7;
    w.quarters[i % 4] = (uint16_t)~w.quarters[(i + 1) % 4];
    wide[i] = w.u;
}

#if HOST
void program(Run& run) {
    auto values = random<float>(128);
    values[3] = 0, values[4] = -0.0f, values[5] = INFINITY, values[6] = 1e-42f;
    auto in = run.buffer(values);
    auto out = run.zeros<uint32_t>(4 * 128);
    auto wide = run.zeros<uint64_t>(128);
    LAUNCH(unions, 1, 128, in, out, wide);
}
#endif
