#include <algorithm>

#include "strata/hip/module/launch.h"
#include "strata/hip/module/registration.h"

namespace strata::hip::library {
namespace {

/// The block that fills a unit best, the largest of those, and the grid that fills the device with it.
Code best_block(const Function& function, size_t lds, int limit, int* grid, int* block) {
    const int wave = static_cast<int>(function.kernel.wave_size), most = static_cast<int>(function.kernel.max_block);
    const int largest = limit > 0 ? std::min(limit, most) : most;
    int best = 0, blocks = 0;
    for (int items = largest / wave * wave; items > 0; items -= wave) {
        int now = 0;
        const Code code = blocks_per_unit(function, items, lds, now);
        if (code != hipSuccess) return code;
        if (now * items > best * blocks) best = items, blocks = now;
    }
    if (best == 0 && largest > 0) {  // less than a wave
        const Code code = blocks_per_unit(function, best = largest, lds, blocks);
        if (code != hipSuccess) return code;
    }
    *block = best;
    *grid = blocks * function.units;
    return hipSuccess;
}

template <class F>
Code with_kernel(const void* host, F&& ask) {
    Function* function = nullptr;
    const Code code = find_kernel(host, function);
    return code == hipSuccess ? ask(*function) : code;
}
template <class F>
Code with_function(void* handle, F&& ask) {
    if (!handle) return hipErrorInvalidValue;
    const Function* const function = function_at(handle);
    const Code code = function ? ask(*function) : hipErrorInvalidHandle;
    return code == hipErrorInvalidHandle ? hipErrorInvalidDeviceFunction : code;
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

constexpr unsigned kMostFlag = 1;  // hipOccupancyDisableCachingOverride; default is 0

int hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int block, size_t lds) {
    return entry("hipOccupancyMaxActiveBlocksPerMultiprocessor", [&] {
        if (!blocks) return hipErrorInvalidValue;
        return with_kernel(host, [&](const Function& own) { return blocks_per_unit(own, block, lds, *blocks); });
    });
}
int hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host, int block, size_t lds,
                                                          unsigned flags) {
    if (flags > kMostFlag) return finish(hipErrorInvalidValue);
    return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, host, block, lds);
}
int hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* host, size_t lds, int limit) {
    return entry("hipOccupancyMaxPotentialBlockSize", [&] {
        if (!grid || !block) return hipErrorInvalidValue;
        return with_kernel(host, [&](const Function& own) { return best_block(own, lds, limit, grid, block); });
    });
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int block, size_t lds) {
    return entry("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", [&] {
        if (!blocks) return hipErrorInvalidValue;
        return with_function(function, [&](const Function& own) { return blocks_per_unit(own, block, lds, *blocks); });
    });
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void* function, int block, size_t lds,
                                                                unsigned flags) {
    if (flags > kMostFlag) return finish(hipErrorInvalidValue);
    return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block, lds);
}
int hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block, void* function, size_t lds, int limit) {
    return entry("hipModuleOccupancyMaxPotentialBlockSize", [&] {
        if (!grid || !block) return hipErrorInvalidValue;
        return with_function(function, [&](const Function& own) { return best_block(own, lds, limit, grid, block); });
    });
}
int hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, void* function, size_t lds, int limit,
                                                     unsigned flags) {
    if (flags > kMostFlag) return finish(hipErrorInvalidValue);
    return hipModuleOccupancyMaxPotentialBlockSize(grid, block, function, lds, limit);
}
