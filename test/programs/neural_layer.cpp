// A layer of a network in half and float: a product with a bias, a rectifier, a softmax with exponentials.
#include "program.h"

__global__ void neural_layer(const half* weights, const half* bias, const float* in, float* hidden, float* out) {
    __shared__ float scores[64];
    unsigned id = threadIdx.x;
    const float* x = in + blockIdx.x * 32;
    float sum = (float)bias[id];
    for (unsigned k = 0; k < 32; ++k) sum += (float)weights[id * 32 + k] * x[k];
    hidden[blockIdx.x * 64 + id] = fmaxf(sum, 0);
    scores[id] = sum;
    __syncthreads();
    float most = scores[0], total = 0;
    for (unsigned k = 1; k < 64; ++k) most = fmaxf(most, scores[k]);
    for (unsigned k = 0; k < 64; ++k) total += expf(scores[k] - most);
    out[blockIdx.x * 64 + id] = expf(sum - most) / total;
}

#if HOST
void program(Run& run) {
    auto weights = run.buffer(random<half>(64 * 32)), bias = run.buffer(random<half>(64, 2));
    auto in = run.buffer(random<float>(6 * 32, 3)), hidden = run.zeros<float>(6 * 64),
         out = run.zeros<float>(6 * 64, 8);
    LAUNCH(neural_layer, 6, 64, weights, bias, in, hidden, out);
}
#endif
