// Rays against spheres: structures, divergence, reflections by iteration, square roots and divisions.
#include "program.h"

struct Vector {
    float x, y, z;
};
__device__ Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ Vector operator*(Vector a, float k) { return {a.x * k, a.y * k, a.z * k}; }
__device__ float dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ Vector unit(Vector a) { return a * (1 / sqrtf(dot(a, a))); }

struct Sphere {
    Vector centre;
    float radius, shine;
};
__constant__ Sphere spheres[4] = {
    {{0, 0, 5}, 1, 0.5f}, {{1.5f, 0.5f, 4}, 0.6f, 0.2f}, {{-1.4f, -0.3f, 4}, 0.7f, 0.8f}, {{0, -101, 5}, 100, 0.1f}};

__device__ bool hit(Vector from, Vector along, float& distance, int& which) {
    distance = 1e30f;
    for (int k = 0; k < 4; ++k) {
        Vector to = spheres[k].centre + from * -1;
        float near = dot(to, along), square = near * near - dot(to, to) + spheres[k].radius * spheres[k].radius;
        if (square < 0) continue;
        float t = near - sqrtf(square);
        if (t > 0.001f && t < distance) {
            distance = t;
            which = k;
        }
    }
    return distance < 1e30f;
}

__global__ void trace(float* image, int width, int height) {
    int x = (int)(blockIdx.x * blockDim.x + threadIdx.x), y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= width || y >= height) return;
    Vector from = {0, 0, 0},
           along = unit({(float)(2 * x - width) / (float)width, (float)(height - 2 * y) / (float)height, 1.5f});
    float light = 0, weight = 1, distance;
    int which = 0;
    for (int bounce = 0; bounce < 4; ++bounce) {
        if (!hit(from, along, distance, which)) {
            light += weight * (0.5f + 0.5f * along.y);
            break;
        }
        from = from + along * distance;
        Vector normal = unit(from + spheres[which].centre * -1), sun = unit({1, 1, -1});
        light += weight * (1 - spheres[which].shine) * fmaxf(dot(normal, sun), 0);
        weight *= spheres[which].shine;
        along = along + normal * (-2 * dot(along, normal));
    }
    image[y * width + x] = light;
}

#if HOST
void program(Run& run) {
    auto image = run.zeros<float>(50 * 37);
    LAUNCH(trace, dim3(4, 5), dim3(16, 8), image, 50, 37);
}
#endif
