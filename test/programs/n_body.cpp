// Gravity between bodies in float3 structures: divisions and square roots rounded correctly.
#include "program.h"

struct Body {
    float x, y, z, mass;
};

__global__ void accelerate(const Body* bodies, float* out, unsigned n) {
    __shared__ Body tile[32];
    unsigned i = blockIdx.x * 32 + threadIdx.x;
    Body own = bodies[i];
    float ax = 0, ay = 0, az = 0;
    for (unsigned first = 0; first < n; first += 32) {
        __syncthreads();
        tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 32; ++k) {
            float dx = tile[k].x - own.x, dy = tile[k].y - own.y, dz = tile[k].z - own.z;
            float squared = dx * dx + dy * dy + dz * dz + 0.01f;
            float pull = tile[k].mass / (squared * sqrtf(squared));
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
        }
    }
    out[3 * i] = ax;
    out[3 * i + 1] = ay;
    out[3 * i + 2] = az;
}

#if HOST
void program(Run& run) {
    auto bodies = run.buffer(random<float>(96 * 4)), out = run.zeros<float>(96 * 3);
    LAUNCH(accelerate, 3, 32, reinterpret_cast<Body*>(static_cast<float*>(bodies)), out, 96);
}
#endif
