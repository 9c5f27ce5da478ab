// Lloyd's algorithm: nearest centres, sums by atomic addition in fixed point, so that their order does not matter.
#include "program.h"

constexpr int clusters = 5;

__global__ void assign(const float* points, int n, const float* centres, long long* sums, int* counts,
                       uint8_t* nearest) {
    __shared__ float local[clusters * 2];
    if (threadIdx.x < clusters * 2) local[threadIdx.x] = centres[threadIdx.x];
    __syncthreads();
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    float x = points[2 * i], y = points[2 * i + 1], best = 1e30f;
    int own = 0;
    for (int k = 0; k < clusters; ++k) {
        float dx = x - local[2 * k], dy = y - local[2 * k + 1], distance = dx * dx + dy * dy;
        if (distance < best) best = distance, own = k;
    }
    nearest[i] = (uint8_t)own;
    atomicAdd(&sums[2 * own], (long long)(x * 0x1p30f));
    atomicAdd(&sums[2 * own + 1], (long long)(y * 0x1p30f));
    atomicAdd(&counts[own], 1);
}

__global__ void move_centres(float* centres, long long* sums, int* counts) {
    int k = (int)threadIdx.x;
    if (counts[k / 2]) centres[k] = (float)((double)sums[k] / counts[k / 2] * 0x1p-30);
    __syncthreads();
    sums[k] = 0;
    counts[k / 2] = 0;
}

#if HOST
void program(Run& run) {
    auto points = run.buffer(random<float>(2 * 500)), centres = run.buffer(random<float>(2 * clusters, 2));
    auto sums = run.zeros<long long>(2 * clusters);
    auto counts = run.zeros<int>(clusters);
    auto nearest = run.zeros<uint8_t>(500);
    for (int step = 0; step < 4; ++step) {
        LAUNCH(assign, 4, 128, points, 500, centres, sums, counts, nearest);
        LAUNCH(move_centres, 1, 2 * clusters, centres, sums, counts);
    }
}
#endif
