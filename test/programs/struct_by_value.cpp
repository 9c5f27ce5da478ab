// Structures as kernel arguments, function arguments and results: padding, arrays, bit fields, nesting.
#include "program.h"

struct Point {
    int8_t tag;
    double x;
    int16_t counts[3];
};
struct Packed {
    unsigned low : 5, middle : 11, high : 16;
    int sign : 7;
    bool flag : 1;
};
struct Settings {
    Point point;
    float scale[4];
    Packed bits;
    uint64_t mask;
};

__device__ NOINLINE Point moved(Point p, double by) {
    p.x += by;
    p.tag = (int8_t)(p.tag * 2);
    p.counts[p.tag & 1] += 100;
    return p;
}
__device__ NOINLINE Packed repacked(Packed p, unsigned i) {
    p.low += i;
    p.middle ^= i * 77;
    p.high -= p.low;
    p.sign = (int)i - 60;
    p.flag = !p.flag;
    return p;
}

__global__ void use_settings(Settings s, uint8_t first, int64_t* integers, double* reals) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    Point p = moved(moved(s.point, i * 0.25), -1.5);
    Packed b = repacked(s.bits, i);
    integers[4 * i] = p.tag + p.counts[0] * 3 + p.counts[1] * 5 + p.counts[2] * 7;
    integers[4 * i + 1] = (int64_t)(b.low | b.middle << 5) + ((int64_t)b.high << 32);
    integers[4 * i + 2] = b.sign * 2 + b.flag;
    integers[4 * i + 3] = (int64_t)(s.mask >> (i & 63)) + first;
    reals[i] = p.x * (double)s.scale[i & 3];
}

#if HOST
void program(Run& run) {
    Settings s = {
        {-3, 0.125, {1, -2, 300}}, {1.5f, -2.25f, 3e10f, 4}, {17, 1000, 65000, -5, true}, 0xfedcba9876543210u};
    auto integers = run.zeros<int64_t>(4 * 128);
    auto reals = run.zeros<double>(128);
    LAUNCH(use_settings, 2, 64, s, 200, integers, reals);
}
#endif
