// The device library's functions of floats, against the host's, within the bands that OpenCL allows.
#include "program.h"

__global__ void special_functions(const float* in, float* four, float* eight, float* sixteen) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    four[5 * i] = expf(x * 20);
    four[5 * i + 1] = logf(fabsf(x) * 100 + 0.001f);
    four[5 * i + 2] = sinf(x * 10);
    four[5 * i + 3] = cosf(x * 1000);
    four[5 * i + 4] = exp2f(x * 30);
    eight[2 * i] = tanhf(x * 3);
    eight[2 * i + 1] = log2f(fabsf(x) * 50 + 0.01f);
    sixteen[2 * i] = powf(fabsf(x) * 10 + 0.1f, x * 7);
    sixteen[2 * i + 1] = erff(x * 2);
}

#if HOST
void program(Run& run) {
    auto values = random<float>(256);
    auto in = run.buffer(values), four = run.zeros<float>(5 * 256, 4);
    auto eight = run.zeros<float>(2 * 256, 8), sixteen = run.zeros<float>(2 * 256, 16);
    LAUNCH(special_functions, 2, 128, in, four, eight, sixteen);
}
#endif
