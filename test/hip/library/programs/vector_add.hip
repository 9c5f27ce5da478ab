// As people write their first one: every call is checked, the result too.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

int main() {
    constexpr int n = 100000;
    std::vector<float> a(n), b(n), out(n);
    for (int i = 0; i < n; ++i) a[i] = float(i), b[i] = float(2 * i);
    float* on_device[3];
    for (float*& memory : on_device)
        if (hipMalloc(&memory, n * sizeof(float)) != hipSuccess) return 1;
    if (hipMemcpy(on_device[0], a.data(), n * sizeof(float), hipMemcpyHostToDevice) != hipSuccess) return 2;
    if (hipMemcpy(on_device[1], b.data(), n * sizeof(float), hipMemcpyHostToDevice) != hipSuccess) return 3;
    add<<<(n + 255) / 256, 256>>>(on_device[0], on_device[1], on_device[2], n);
    if (const hipError_t error = hipGetLastError(); error != hipSuccess) {
        printf("%s\n", hipGetErrorString(error));
        return 4;
    }
    if (hipMemcpy(out.data(), on_device[2], n * sizeof(float), hipMemcpyDeviceToHost) != hipSuccess) return 5;
    for (int i = 0; i < n; ++i)
        if (out[i] != float(3 * i)) return 6;
    hipDeviceProp_t properties;
    if (hipGetDeviceProperties(&properties, 0) != hipSuccess) return 7;
    printf("%d sums on %s\n", n, properties.gcnArchName);
}
