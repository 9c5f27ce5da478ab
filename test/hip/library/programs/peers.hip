// Several devices: kernels that use each other's memory, streams of each, threads that have one each.
#include <thread>

#include "checks.h"

__global__ void add(int* out, const int* other) { out[threadIdx.x] += other[threadIdx.x]; }
__global__ void take(int* tickets) { atomicAdd_system(tickets, 1); }

int main() {
    int count = 0;
    const hipError_t counted = hipGetDeviceCount(&count);
    if (counted != hipSuccess) return 1;
    printf("%d devices\n", count);
    std::vector<int*> memory(count);
    int* tickets;
    OK(hipHostMalloc(reinterpret_cast<void**>(&tickets), 4));
    *tickets = 0;
    for (int i = 0; i < count; ++i) {
        OK(hipSetDevice(i));
        OK(hipMalloc(&memory[i], 256));
        OK(hipMemcpy(memory[i], numbers(64, i).data(), 256, hipMemcpyHostToDevice));
    }
    for (int i = 0; i < count; ++i) {
        OK(hipSetDevice(i));
        const int peer = (i + 1) % count;
        OK(hipDeviceEnablePeerAccess(peer, 0));
        add<<<1, 64>>>(memory[i], memory[peer]);
        OK(hipDeviceSynchronize());
    }
    for (int i = 0; i < count; ++i) {  // the last one added what the first had by then
        const int from = i + 1 < count ? i + 1 : 1;
        std::vector<int> expected(64);
        for (int k = 0; k < 64; ++k) expected[k] = 2 * k + i + from + (i + 1 < count ? 0 : k);
        EXPECT(read(memory[i], 64) == expected);
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([=] {
            if (hipSetDevice(i) != hipSuccess) return;
            for (int k = 0; k < 5; ++k) take<<<4, 64>>>(tickets);
            (void)hipDeviceSynchronize();
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT(*tickets == count * 5 * 256);
    OK(hipHostFree(tickets));
    return tell();
}
