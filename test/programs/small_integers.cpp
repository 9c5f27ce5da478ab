// Arithmetic of bytes and 16-bit numbers: promotion, wrapping, saturation, averages, shifts.
#include "program.h"

template <class T>
__device__ void small(T a, T b, int64_t* out) {
    out[0] = (T)(a + b);
    out[1] = (T)(a - b);
    out[2] = (T)((unsigned)a * b);
    out[3] = b ? (T)(a / b) : 0;
    out[4] = b ? (T)(a % b) : 0;
    out[5] = (T)(a << (b & 7));
    out[6] = (T)(a >> (b & 7));
    out[7] = a < b ? a : b;
    out[8] = (T)((a + b + 1) >> 1);
    T c = a;
    c += b;
    c ^= 0x55;
    c = (T)-c;
    out[9] = c > a ? ~c : c;
}

__global__ void small_integers(const int16_t* in, int64_t* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int16_t a = in[2 * i], b = in[2 * i + 1];
    small<int8_t>((int8_t)a, (int8_t)b, out + i * 40);
    small<uint8_t>((uint8_t)a, (uint8_t)b, out + i * 40 + 10);
    small<int16_t>(a, b, out + i * 40 + 20);
    small<uint16_t>((uint16_t)a, (uint16_t)b, out + i * 40 + 30);
}

#if HOST
void program(Run& run) {
    auto values = random<int16_t>(256);
    const int16_t edges[] = {0, -1, 127, -128, 32767, -32768, 255, 1};
    for (size_t i = 0; i < 64; ++i) values[2 * i] = edges[i / 8], values[2 * i + 1] = edges[i % 8];
    auto in = run.buffer(values);
    auto out = run.zeros<int64_t>(128 * 40);
    LAUNCH(small_integers, 2, 64, in, out);
}
#endif
