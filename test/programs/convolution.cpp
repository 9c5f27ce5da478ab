// A 2-D convolution with a 5 by 5 mask in constant memory, a tile with its border in local memory.
#include "program.h"

__constant__ float mask[25];

__global__ void convolve(const float* in, float* out, int width, int height) {
    __shared__ float tile[20][20];
    int left = (int)blockIdx.x * 16 - 2, top = (int)blockIdx.y * 16 - 2;
    for (int i = (int)threadIdx.y * 16 + (int)threadIdx.x; i < 400; i += 256) {
        int x = left + i % 20, y = top + i / 20;
        tile[i / 20][i % 20] = x >= 0 && y >= 0 && x < width && y < height ? in[y * width + x] : 0.0f;
    }
    __syncthreads();
    int x = left + 2 + (int)threadIdx.x, y = top + 2 + (int)threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int i = 0; i < 25; ++i) sum += mask[i] * tile[threadIdx.y + i / 5][threadIdx.x + i % 5];
    out[y * width + x] = sum;
}

#if HOST
void program(Run& run) {
    auto weights = GLOBAL(mask);
    weights.set(random<float>(25, 3));
    auto in = run.buffer(random<float>(39 * 30)), out = run.zeros<float>(39 * 30);
    LAUNCH(convolve, dim3(3, 2), dim3(16, 16), in, out, 39, 30);
}
#endif
