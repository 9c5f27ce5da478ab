// Mistakes of programs, and many threads at once: prints how many of the checks fail.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

static int checks = 0, failed = 0;
#define IS(call, code)                                                                                          \
    do {                                                                                                        \
        const hipError_t is = (call);                                                                           \
        ++checks;                                                                                               \
        if (is != (code)) ++failed, printf("%d: %s is %s, not %s\n", __LINE__, #call, hipGetErrorName(is), hipGetErrorName(code)); \
    } while (0)

__global__ void add(int* out, int x) { atomicAdd(out + threadIdx.x, x); }

hipError_t launch(dim3 grid, dim3 block, int* memory) {
    add<<<grid, block>>>(memory, 0);
    return hipGetLastError();
}

void shapes(int* memory) {
    IS(launch(0, 1, memory), hipErrorInvalidConfiguration);
    IS(launch(1, 0, memory), hipErrorInvalidConfiguration);
    IS(launch(dim3(1, 0, 1), 1, memory), hipErrorInvalidConfiguration);
    IS(launch(1, 1025, memory), hipErrorInvalidConfiguration);
    IS(launch(1, dim3(32, 32, 2), memory), hipErrorInvalidConfiguration);
    IS(launch(1, dim3(1u << 16, 1u << 16, 1), memory), hipErrorInvalidConfiguration);
    IS(launch(1, 64, memory), hipSuccess);
}

void memory_of(int* memory) {
    void* other = nullptr;
    IS(hipFree(memory + 1), hipErrorInvalidValue);
    IS(hipFree(&other), hipErrorInvalidValue);
    IS(hipMalloc(&other, SIZE_MAX), hipErrorOutOfMemory);
    IS(hipMemset(memory, 0, SIZE_MAX), hipErrorInvalidValue);
    IS(hipMemset(memory, 0, 0), hipSuccess);
    IS(hipMemcpy(memory, &other, 0, hipMemcpyHostToDevice), hipSuccess);
    IS(hipMemcpy(&other, memory, SIZE_MAX, hipMemcpyDeviceToHost), hipErrorInvalidValue);
    IS(hipMalloc(&other, 4), hipSuccess);
    IS(hipFree(other), hipSuccess);
    IS(hipFree(other), hipErrorInvalidValue);
    IS(hipMemset(other, 0, 4), hipErrorInvalidValue);
}

void events_and_streams(int* memory) {
    hipEvent_t first, second;
    float ms = 0;
    IS(hipEventCreate(&first), hipSuccess);
    IS(hipEventCreate(&second), hipSuccess);
    IS(hipEventQuery(first), hipSuccess);
    IS(hipEventSynchronize(first), hipSuccess);
    IS(hipEventElapsedTime(&ms, first, second), hipErrorInvalidHandle);
    IS(hipStreamWaitEvent(nullptr, first, 0), hipSuccess);
    IS(hipEventDestroy(first), hipSuccess);
    IS(hipEventDestroy(second), hipSuccess);
    hipStream_t stream;
    IS(hipStreamCreate(&stream), hipSuccess);
    add<<<1, 64, 0, stream>>>(memory, 1);
    IS(hipStreamDestroy(stream), hipSuccess);
    int first_word = 0;
    IS(hipMemcpy(&first_word, memory, sizeof first_word, hipMemcpyDeviceToHost), hipSuccess);
    ++checks, failed += first_word != 1;
}

void many_threads(int* memory) {
    constexpr int kThreads = 8, kTurns = 50;
    std::vector<std::thread> threads;
    std::vector<int> wrong(kThreads);
    for (int thread = 0; thread < kThreads; ++thread)
        threads.emplace_back([&, thread] {
            for (int turn = 0; turn < kTurns; ++turn) {
                hipStream_t stream;
                void* own = nullptr;
                wrong[thread] += hipStreamCreate(&stream) != hipSuccess || hipMalloc(&own, 256) != hipSuccess;
                add<<<1, 64, 0, stream>>>(memory, 1);
                wrong[thread] += hipGetLastError() != hipSuccess || hipMemsetAsync(own, 1, 256, stream) != hipSuccess;
                wrong[thread] += hipStreamDestroy(stream) != hipSuccess || hipFree(own) != hipSuccess;
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (const int one : wrong) ++checks, failed += one != 0;
    int sums[64];
    IS(hipMemcpy(sums, memory, sizeof sums, hipMemcpyDeviceToHost), hipSuccess);
    for (const int sum : sums) ++checks, failed += sum != 1 + kThreads * kTurns;
}

int main() {
    int* memory = nullptr;
    IS(hipMalloc(&memory, 256), hipSuccess);
    IS(hipMemset(memory, 0, 256), hipSuccess);
    shapes(memory);
    memory_of(memory);
    events_and_streams(memory);
    many_threads(memory);
    IS(hipDeviceReset(), hipSuccess);
    IS(hipFree(memory), hipErrorInvalidValue);
    printf("%d checks, %d of them failed\n", checks, failed);
    return failed != 0;
}
