// The device library's functions of doubles, against the host's.
#include "program.h"

__global__ void special_functions_double(const double* in, double* close, double* sixteen) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = in[i];
    close[5 * i] = exp(x * 300);
    close[5 * i + 1] = log(fabs(x) * 100 + 1e-5);
    close[5 * i + 2] = sin(x * 10);
    close[5 * i + 3] = cos(x * 1e6);
    close[5 * i + 4] = exp2(x * 500);
    sixteen[3 * i] = tanh(x * 3);
    sixteen[3 * i + 1] = pow(fabs(x) * 10 + 0.1, x * 40);
    sixteen[3 * i + 2] = erf(x * 2);
}

#if HOST
void program(Run& run) {
    auto in = run.buffer(random<double>(256));
    auto close = run.zeros<double>(5 * 256, 4), sixteen = run.zeros<double>(3 * 256, 16);
    LAUNCH(special_functions_double, 2, 128, in, close, sixteen);
}
#endif
