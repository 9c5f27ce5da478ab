#include "strata/providers/nvidia/allocator_bins.h"

#include <algorithm>
#include <mutex>

namespace strata::providers {
namespace {

constexpr size_t kUnit = 512, kSmall = 64 << 10, kMostKept = 16 << 20;

}  // namespace

size_t AllocatorBins::rounded(size_t bytes) {
    return bytes > kSmall ? bytes : std::max(kUnit, (bytes + kUnit - 1) / kUnit * kUnit);
}

std::optional<DevicePtr> AllocatorBins::take(size_t bytes) {
    const size_t size = rounded(bytes);
    std::lock_guard lock(mutex_);
    const auto found = kept_.find(size);
    if (found == kept_.end() || found->second.empty()) return {};
    const DevicePtr memory = found->second.back();
    found->second.pop_back();
    kept_bytes_ -= size;
    in_use_[memory] = size;
    return memory;
}

void AllocatorBins::add(DevicePtr memory, size_t bytes) {
    if (bytes > kSmall) return;
    std::lock_guard lock(mutex_);
    in_use_[memory] = rounded(bytes);
}

bool AllocatorBins::keep(DevicePtr memory) {
    std::lock_guard lock(mutex_);
    const auto found = in_use_.find(memory);
    if (found == in_use_.end()) return false;
    const size_t size = found->second;
    in_use_.erase(found);
    if (kept_bytes_ + size > kMostKept) return false;
    kept_[size].push_back(memory);
    kept_bytes_ += size;
    return true;
}

std::vector<DevicePtr> AllocatorBins::give_back() {
    std::lock_guard lock(mutex_);
    std::vector<DevicePtr> all;
    for (auto& [size, blocks] : kept_) all.insert(all.end(), blocks.begin(), blocks.end());
    kept_.clear();
    kept_bytes_ = 0;
    return all;
}

size_t AllocatorBins::kept_bytes() {
    std::lock_guard lock(mutex_);
    return kept_bytes_;
}

}  // namespace strata::providers
