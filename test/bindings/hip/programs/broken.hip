// Mistakes that strict mode and the emulator's memory find: broken race | bound | freed | assert | empty.
#include <hip/hip_runtime.h>

#include <cassert>
#include <cstdio>
#include <cstring>

__global__ void neighbours(int* out) {
    __shared__ int values[256];
    values[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = values[255 - threadIdx.x];  // no barrier before it
}

__global__ void one_more(int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = i;  // i == n is one too many
}

__global__ void insist(const int* value) { assert(*value == 7); }

__global__ void print(int n) {
    if (threadIdx.x < n) printf("thread %d of block %d\n", int(threadIdx.x), int(blockIdx.x));
}

int main(int, char** arguments) {
    const char* const what = arguments[1];
    int* memory;
    if (hipMalloc(&memory, 256 * sizeof(int)) != hipSuccess) return 1;
    if (hipMemset(memory, 0, 256 * sizeof(int)) != hipSuccess) return 1;
    if (!strcmp(what, "race")) neighbours<<<1, 256>>>(memory);
    if (!strcmp(what, "bound")) one_more<<<2, 256>>>(memory, 256);
    if (!strcmp(what, "assert")) insist<<<1, 1>>>(memory);
    if (!strcmp(what, "print")) {
        printf("before\n");
        print<<<2, 64>>>(2);
        (void)hipDeviceSynchronize();
        printf("behind\n");
    }
    if (!strcmp(what, "freed")) {
        if (hipFree(memory) != hipSuccess) return 1;
        one_more<<<1, 64>>>(memory, 256);
    }
    const hipError_t launched = hipGetLastError(), done = hipDeviceSynchronize();
    printf("launch: %s, behind it: %s\n", hipGetErrorName(launched), hipGetErrorName(done));
}
