// Two programs that use the same memory: this one starts itself again with the handles as words. Plain HIP.
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

constexpr int kCount = 1000;
constexpr unsigned kLazyPeers = 1;  // hipIpcMemLazyEnablePeerAccess as headers after 5.2 have it

__global__ void add(int* values, int n, int what) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] += what;
}

template <class T>
std::string words_of(const T& handle) {
    std::string out;
    char word[3];
    for (const char byte : handle.reserved) out += (snprintf(word, sizeof word, "%02x", byte & 0xff), word);
    return out;
}
template <class T>
T handle_of(const char* words) {
    T out{};
    for (size_t i = 0; i < sizeof out.reserved; ++i) {
        unsigned byte = 0;
        sscanf(words + 2 * i, "%2x", &byte);
        out.reserved[i] = static_cast<char>(byte);
    }
    return out;
}

#define CHECK(call)                                                                   \
    if (const hipError_t error = call; error != hipSuccess) {                         \
        fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, hipGetErrorName(error)); \
        return 1;                                                                     \
    }

int second(const char* memory_words, const char* event_words) {
    int *values = nullptr, first = 0;
    hipEvent_t event;
    CHECK(hipIpcOpenEventHandle(&event, handle_of<hipIpcEventHandle_t>(event_words)));
    CHECK(hipIpcOpenMemHandle(reinterpret_cast<void**>(&values), handle_of<hipIpcMemHandle_t>(memory_words),
                              kLazyPeers));
    CHECK(hipEventSynchronize(event));
    CHECK(hipMemcpy(&first, values, sizeof first, hipMemcpyDeviceToHost));
    add<<<4, 256>>>(values, kCount, 100);
    CHECK(hipDeviceSynchronize());
    CHECK(hipIpcCloseMemHandle(values));
    printf("second: %d\n", first);
    return 0;
}

int main(int count, char** arguments) {
    if (count == 3) return second(arguments[1], arguments[2]);
    int *values = nullptr, last = 0, status = 0;
    hipEvent_t event;
    hipIpcMemHandle_t memory_handle;
    hipIpcEventHandle_t event_handle;
    CHECK(hipMalloc(reinterpret_cast<void**>(&values), kCount * sizeof(int)));
    CHECK(hipMemset(values, 0, kCount * sizeof(int)));
    CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming | hipEventInterprocess));
    add<<<4, 256>>>(values, kCount, 7);
    CHECK(hipEventRecord(event));
    CHECK(hipIpcGetMemHandle(&memory_handle, values));
    CHECK(hipIpcGetEventHandle(&event_handle, event));
    const std::string memory_words = words_of(memory_handle), event_words = words_of(event_handle);
    if (fork() == 0) {
        execl(arguments[0], arguments[0], memory_words.c_str(), event_words.c_str(), nullptr);
        _exit(1);
    }
    wait(&status);
    CHECK(hipMemcpy(&last, values + kCount - 1, sizeof last, hipMemcpyDeviceToHost));
    printf("first: %d, the second ended with %d\n", last, status);
    return status != 0;
}
