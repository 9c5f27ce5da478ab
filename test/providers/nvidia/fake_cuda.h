#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// The calls to the library of fake_cuda.cpp, and its answers.
struct FakeCuda {
    struct Failure {
        int code = 0, times = 0;  ///< a CUresult; how many calls in a row
    };
    /// CUDA_KERNEL_NODE_PARAMS_v2 (cuda.h).
    struct Kernel {
        void* function;
        unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
        void **parameters, **extra;
        void *kernel, *context;
    };
    struct Node {
        void* after;
        Kernel kernel;
    };
    int devices = 2;
    size_t memory = size_t{141} << 30;
    std::map<std::string, Failure> fails;       ///< by the name of the call without `_v2`
    std::map<std::string, uint64_t> variables;  ///< of every module
    std::map<std::string, int> calls;
    void* context = nullptr;
    std::string function, arguments;
    std::array<unsigned, 3> grid{}, block{};
    void *waiting = nullptr, *copying = nullptr;   ///< streams of the last such call
    std::vector<std::pair<void*, size_t>> pinned;  ///< memory of the host that it gave out, and bytes
    void* read_to = nullptr;                       ///< of the host, by the last copy there
    unsigned read_threads = 0;                     ///< of the last kernel that read
    bool reads_wrong = false;                      ///< such a kernel writes zeros
    bool reads_late = false;                       ///< such a kernel is not over before somebody waits for the stream
    std::function<void()> while_reading;           ///< once, in the next such copy
    std::vector<Node> nodes;
    unsigned shared = 0;
    int shared_asked = 0;
};

/// State of the library; found by dlsym.
extern "C" FakeCuda* strata_fake_cuda();
