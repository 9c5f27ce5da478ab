// The configuration between <<< and >>> waits here for the kernel's stub, which clang made and which takes it away.
#include <vector>

#include "strata/hip/module/launch.h"
#include "strata/hip/module/registration.h"

namespace strata::hip::library {
namespace {

struct Configuration {
    Dim3 grid, block;
    size_t lds;
    void* stream;
    std::vector<uint8_t> arguments = {};
};
std::vector<Configuration>& waiting() {
    thread_local std::vector<Configuration> own;
    return own;
}

Code push(Dim3 grid, Dim3 block, size_t lds, void* stream) {
    waiting().push_back({grid, block, lds, stream});
    return hipSuccess;
}

Code pop(Configuration& out) {
    if (waiting().empty()) return hipErrorMissingConfiguration;
    out = std::move(waiting().back());
    waiting().pop_back();
    return hipSuccess;
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int __hipPushCallConfiguration(Dim3 grid, Dim3 block, size_t lds, void* stream) {
    return guarded<int>("__hipPushCallConfiguration", hipErrorOutOfMemory,
                        [&] { return push(grid, block, lds, stream); });
}
int __hipPopCallConfiguration(Dim3* grid, Dim3* block, size_t* lds, void** stream) {
    return guarded<int>("__hipPopCallConfiguration", hipErrorUnknown, [&]() -> int {
        Configuration own{};
        const Code code = pop(own);
        if (code != hipSuccess) return finish(code);
        *grid = own.grid;
        *block = own.block;
        *lds = own.lds;
        *stream = own.stream;
        return hipSuccess;
    });
}
int hipConfigureCall(Dim3 grid, Dim3 block, size_t lds, void* stream) {
    return entry("hipConfigureCall", [&] { return push(grid, block, lds, stream); });
}
int hipSetupArgument(const void* argument, size_t bytes, size_t offset) {
    return entry("hipSetupArgument", [&] {
        if (waiting().empty()) return hipErrorMissingConfiguration;
        if (!argument || offset > UINT16_MAX || bytes > UINT16_MAX) return hipErrorInvalidValue;
        std::vector<uint8_t>& own = waiting().back().arguments;
        own.resize(std::max(own.size(), offset + bytes));
        std::copy_n(static_cast<const uint8_t*>(argument), bytes, own.begin() + static_cast<ptrdiff_t>(offset));
        return hipSuccess;
    });
}
int hipLaunchByPtr(const void* host) {
    return entry("hipLaunchByPtr", [&] {
        Configuration own{};
        Code code = pop(own);
        if (code != hipSuccess) return code;
        Function* function = nullptr;
        code = find_kernel(host, function);
        if (code != hipSuccess) return code;
        return run_on(own.stream, {function, own.grid, own.block, static_cast<uint32_t>(own.lds), own.arguments});
    });
}
