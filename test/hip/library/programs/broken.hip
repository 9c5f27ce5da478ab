// Mistakes that strict mode and the emulator's memory find, and kernels that depend on an order or do not end:
// broken race | between | alias | apart | bound | freed | assert | print | order | endless | handled.
#include <hip/hip_runtime.h>

#include <unistd.h>

#include <cassert>
#include <csignal>
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

__global__ void same(int* out) { *out = blockIdx.x; }

__global__ void shifted(const int* __restrict__ in, int* __restrict__ out) { out[threadIdx.x] = in[threadIdx.x] + 1; }

__global__ void order(int* tickets) {
    if (threadIdx.x % 64 == 0) tickets[1 + threadIdx.x / 64] = atomicAdd(tickets, 1);
}

__global__ void endless(volatile int* value) {
    while (*value == 0) {
    }
}

__global__ void print(int n) {
    if (threadIdx.x < n) printf("thread %d of block %d\n", int(threadIdx.x), int(blockIdx.x));
}

void leave(int) {
    const char text[] = "handled\n";
    _exit(write(1, text, sizeof text - 1) > 0 ? 130 : 1);
}

void print_order(int* memory) {
    order<<<4, 512>>>(memory);
    int tickets[9];
    if (hipMemcpy(tickets, memory, sizeof tickets, hipMemcpyDeviceToHost) != hipSuccess) return;
    for (int wave = 1; wave <= 8; ++wave) printf("%d ", tickets[wave]);
}

int main(int, char** arguments) {
    const char* const what = arguments[1];
    int* memory;
    if (hipMalloc(&memory, 256 * sizeof(int)) != hipSuccess) return 1;
    if (hipMemset(memory, 0, 256 * sizeof(int)) != hipSuccess) return 1;
    if (!strcmp(what, "race")) neighbours<<<1, 256>>>(memory);
    if (!strcmp(what, "between")) same<<<2, 1>>>(memory);
    if (!strcmp(what, "alias")) shifted<<<1, 64>>>(memory, memory + 1);
    if (!strcmp(what, "apart")) shifted<<<1, 64>>>(memory, memory + 64);
    if (!strcmp(what, "order")) print_order(memory);
    if (!strcmp(what, "handled")) signal(SIGINT, leave);
    if (!strcmp(what, "endless") || !strcmp(what, "handled")) {
        printf("before\n");
        fflush(stdout);
        endless<<<1, 64>>>(memory);
    }
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
