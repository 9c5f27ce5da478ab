#include "strata/providers/amd/memory_pool.h"

#include <algorithm>
#include <mutex>

namespace strata::providers {
namespace {

constexpr size_t kUnit = 512, kPage = 2 << 20, kPagesFrom = 1 << 20;

/// A kept block serves requests down to this part of its size.
constexpr size_t kWaste = 8;

}  // namespace

size_t MemoryPool::rounded(size_t bytes) {
    const size_t unit = bytes >= kPagesFrom ? kPage : kUnit;
    return bytes > SIZE_MAX - unit ? bytes : std::max(unit, (bytes + unit - 1) / unit * unit);
}

Result<DevicePtr> MemoryPool::malloc(size_t bytes) {
    const size_t size = rounded(bytes);
    std::lock_guard lock(mutex_);
    if (const auto found = kept_.lower_bound(size); found != kept_.end() && found->first <= size + size / kWaste) {
        const auto [kept, memory] = *found;
        kept_.erase(found);
        kept_bytes_ -= kept;
        live_bytes_ += live_[memory] = kept;
        return memory;
    }
    STRATA_TRY(std::optional<DevicePtr> got, driver_.malloc(size));
    if (!got) {
        const size_t kept = kept_bytes_;
        STRATA_TRY_VOID(trim());
        STRATA_TRY(got, driver_.malloc(size));
        if (!got) return out_of_memory(bytes, kept);
    }
    live_bytes_ += live_[*got] = size;
    return *got;
}

Result<void> MemoryPool::free(DevicePtr memory) {
    std::lock_guard lock(mutex_);
    const auto found = live_.find(memory);
    if (found == live_.end())
        return make_error(ErrorKind::Usage, "free of {:#x}, which is no allocation of {}", memory, device_);
    kept_.emplace(found->second, memory);
    kept_bytes_ += found->second;
    live_bytes_ -= found->second;
    live_.erase(found);
    return {};
}

size_t MemoryPool::pooled_bytes() {
    std::lock_guard lock(mutex_);
    return kept_bytes_;
}

Result<void> MemoryPool::trim() {
    STRATA_TRY_VOID(driver_.synchronize());
    for (auto block = kept_.begin(); block != kept_.end(); block = kept_.erase(block)) {
        STRATA_TRY_VOID(driver_.free(block->second));
        kept_bytes_ -= block->first;
    }
    return {};
}

Error MemoryPool::out_of_memory(size_t bytes, size_t kept) const {
    const MemoryDriver::Info info = driver_.info();
    return make_error(
        ErrorKind::Device,
        "{} is out of memory: {} bytes asked for, {} of {} free, {} in use here; the pool held {} and gave "
        "them back; free tensors or use smaller ones",
        device_, bytes, info.free, info.total, live_bytes_, kept);
}

}  // namespace strata::providers
