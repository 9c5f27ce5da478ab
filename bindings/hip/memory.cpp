#include <map>
#include <mutex>
#include <vector>

#include "strata/bindings/hip/exports_p.h"
#include "strata/bindings/hip/state_p.h"
#include "strata/core/support/mutex.h"

using namespace strata;
using namespace strata::hip::library;

namespace {

struct Block {
    int device;
    size_t bytes;
};

/// What hipMalloc gave out.
class Blocks {
  public:
    void add(hip::DevicePtr memory, Block block) {
        std::lock_guard lock(mutex_);
        all_[memory] = block;
        used_[block.device] += block.bytes;
    }
    /// The device of a block that was there and is no more; -1: there was none.
    int remove(hip::DevicePtr memory) {
        std::lock_guard lock(mutex_);
        const auto found = all_.find(memory);
        if (found == all_.end()) return -1;
        const Block block = found->second;
        used_[block.device] -= block.bytes;
        all_.erase(found);
        return block.device;
    }
    int device_of(hip::DevicePtr memory) {
        std::lock_guard lock(mutex_);
        const auto after = all_.upper_bound(memory);
        return after == all_.begin() ? current() : std::prev(after)->second.device;
    }
    size_t used(int device) {
        std::lock_guard lock(mutex_);
        return used_[device];
    }

  private:
    Mutex mutex_;
    std::map<hip::DevicePtr, Block> all_;
    std::map<int, size_t> used_;
};
Blocks& blocks() {
    static auto* all = new Blocks;
    return *all;
}

Code copy_on_device(void* to, const void* from, size_t bytes) {
    const int there = device_of(to), here = device_of(from);
    if (there == here)
        return code_of(emulator().memcpy_on_device(there, address(to), address(from), bytes), hipErrorInvalidValue);
    std::vector<uint8_t> between(bytes);
    const Code read =
        code_of(emulator().memcpy_to_host(here, between.data(), address(from), bytes), hipErrorInvalidValue);
    if (read != hipSuccess) return read;
    return code_of(emulator().memcpy_to_device(there, address(to), between.data(), bytes), hipErrorInvalidValue);
}

}  // namespace

int strata::hip::library::device_of(const void* memory) { return blocks().device_of(address(memory)); }

int hipMemGetInfo(size_t* free, size_t* total) {
    return entry("hipMemGetInfo", [&] {
        if (!free || !total) return hipErrorInvalidValue;
        *total = emulator().device_properties(current()).value().memory_bytes;
        *free = *total - blocks().used(current());
        return hipSuccess;
    });
}
int hipMalloc(void** memory, size_t bytes) {
    return entry("hipMalloc", [&] {
        if (!memory) return hipErrorInvalidValue;
        *memory = nullptr;
        if (bytes == 0) return hipSuccess;
        hip::DevicePtr at = 0;
        const Code code = give(emulator().malloc(current(), bytes), &at, hipErrorOutOfMemory);
        if (code != hipSuccess) return code;
        blocks().add(at, {current(), bytes});
        *memory = reinterpret_cast<void*>(at);
        return hipSuccess;
    });
}
int hipFree(void* memory) {
    return entry("hipFree", [&] {
        if (!memory) return hipSuccess;
        const int device = blocks().remove(address(memory));
        if (device < 0) return hipErrorInvalidValue;
        return code_of(emulator().free(device, address(memory)), hipErrorInvalidValue);
    });
}
int hipMemcpyHtoD(void* to, void* from, size_t bytes) {
    return entry("hipMemcpyHtoD", [&] {
        if (bytes == 0) return hipSuccess;
        if (!to || !from) return hipErrorInvalidValue;
        return code_of(emulator().memcpy_to_device(device_of(to), address(to), from, bytes), hipErrorInvalidValue);
    });
}
int hipMemcpyDtoH(void* to, void* from, size_t bytes) {
    return entry("hipMemcpyDtoH", [&] {
        if (bytes == 0) return hipSuccess;
        if (!to || !from) return hipErrorInvalidValue;
        return code_of(emulator().memcpy_to_host(device_of(from), to, address(from), bytes), hipErrorInvalidValue);
    });
}
int hipMemcpyDtoD(void* to, void* from, size_t bytes) {
    return entry("hipMemcpyDtoD", [&] { return bytes == 0 ? hipSuccess : copy_on_device(to, from, bytes); });
}
int hipMemsetD8(void* to, unsigned char value, size_t bytes) {
    return entry("hipMemsetD8", [&] {
        if (bytes == 0) return hipSuccess;
        return code_of(emulator().memset(device_of(to), address(to), value, bytes), hipErrorInvalidValue);
    });
}
