// Clang's vectors: loads of 8 and 16 bytes, arithmetic by element, swizzles, comparisons into masks, misaligned rows.
#include "program.h"

typedef float Float4 __attribute__((vector_size(16)));
typedef int Int4 __attribute__((vector_size(16)));
typedef short Short8 __attribute__((vector_size(16)));
typedef double Double2 __attribute__((vector_size(16)));

__global__ void vector_types(const float* in, const int* integers, float* out, int* out_integers, double* doubles) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    Float4 a, b = *(const Float4*)(in + 4 * i);
    memcpy(&a, in + i, sizeof a);
    Float4 sum = a * b + 2.0f;
    Int4 less = a < b, x = *(const Int4*)(integers + 4 * i), y = (x >> 3 & less) | (~less & x * 5);
    *(Float4*)(out + 4 * i) = sum - a;
    *(Int4*)(out_integers + 4 * i) = y;
    Short8 s, t;
    memcpy(&s, &x, sizeof s);
    memcpy(&t, &y, sizeof t);
    t = s * t - (s ^ t);
    Int4 back;
    memcpy(&back, &t, sizeof back);
    out_integers[4 * i + i % 4] ^= back[0] ^ back[1] ^ back[2] ^ back[3];
    Double2 d = {a[0], b[1]};
    d = d * d - d;
    doubles[i] = d[0] + d[1];
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<float>(4 * 128)), out = run.zeros<float>(4 * 128);
    auto integers = run.buffer(random<int>(4 * 128)), out_integers = run.zeros<int>(4 * 128);
    auto doubles = run.zeros<double>(128);
    LAUNCH(vector_types, 2, 64, in, integers, out, out_integers, doubles);
}
#endif
