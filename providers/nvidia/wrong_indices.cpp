#include "strata/providers/nvidia/wrong_indices.h"

#include <algorithm>
#include <iterator>
#include <mutex>

#include "strata/core/support/wrong_index.h"

namespace strata::providers {

void WrongIndices::expect(DevicePtr where, const std::string& kernel, void* stream) {
    if (!where) return;
    std::lock_guard lock(mutex_);
    const auto known = std::ranges::any_of(
        expected_, [&](const Expected& each) { return each.where == where && each.stream == stream; });
    if (!known) expected_.push_back({where, kernel, stream});
}

Result<void> WrongIndices::look(const NvidiaDriver& driver, Readback& readback, void* stream) {
    std::vector<Expected> done;
    {
        std::lock_guard lock(mutex_);
        const auto is_done = [&](const Expected& each) { return each.stream == stream; };
        std::ranges::copy_if(expected_, std::back_inserter(done), is_done);
        std::erase_if(expected_, is_done);
    }
    Result<void> first;
    for (const Expected& each : done) {
        uint64_t left = 0;
        STRATA_TRY_VOID(read_back(driver, readback, &left, each.where, sizeof left));
        const auto wrong = wrong_index(left);
        if (!wrong) continue;
        STRATA_TRY_VOID(driver.check("cuMemsetD8", driver.cuMemsetD8_v2(each.where, 0, sizeof left)));
        if (first)
            first = make_error(ErrorKind::MemoryFault, "kernel '{}': index {} is outside of axis {}", each.kernel,
                               wrong->index, wrong->axis);
    }
    return first;
}

void WrongIndices::forget(DevicePtr where) {
    std::lock_guard lock(mutex_);
    std::erase_if(expected_, [&](const Expected& each) { return each.where == where; });
}

}  // namespace strata::providers
