#pragma once
#include <hip/hip_runtime.h>

#include <cstdio>
#include <numeric>
#include <vector>

static int checks = 0, failures = 0;
#define EXPECT(condition)                                          \
    do {                                                           \
        ++checks;                                                  \
        if (!(condition)) {                                        \
            ++failures;                                            \
            printf("line %d: not so: %s\n", __LINE__, #condition); \
        }                                                          \
    } while (0)
#define CODE(call, expected)                                                                                        \
    do {                                                                                                            \
        ++checks;                                                                                                   \
        if (const hipError_t code = (call); code != (expected)) {                                                   \
            ++failures;                                                                                             \
            printf("line %d: %s: %s, not %s\n", __LINE__, #call, hipGetErrorName(code), hipGetErrorName(expected)); \
        }                                                                                                           \
        (void)hipGetLastError();                                                                                    \
    } while (0)
#define OK(call) CODE(call, hipSuccess)

__global__ void bump(int* out, int by) { out[blockIdx.x * blockDim.x + threadIdx.x] += by; }

static std::vector<int> numbers(int n, int first = 0) {
    std::vector<int> out(n);
    std::iota(out.begin(), out.end(), first);
    return out;
}
static std::vector<int> read(const int* memory, int n) {
    std::vector<int> out(n);
    OK(hipMemcpy(out.data(), memory, n * 4, hipMemcpyDeviceToHost));
    return out;
}

static int tell() {
    printf("%d of %d checks failed\n", failures, checks);
    return failures != 0;
}
