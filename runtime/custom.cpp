#include "strata/runtime/custom.h"

#include <mutex>
#include <unordered_map>

#include "strata/runtime/memory_p.h"

namespace strata::runtime {
namespace {

std::mutex custom_mutex;
std::unordered_map<uint64_t, std::shared_ptr<const CustomKernel>>& kernels() {
    static auto* all = new std::unordered_map<uint64_t, std::shared_ptr<const CustomKernel>>;
    return *all;
}
uint64_t next_id = 1;

}  // namespace

uint64_t register_custom(std::shared_ptr<const CustomKernel> kernel) {
    std::lock_guard lock(custom_mutex);
    kernels().emplace(next_id, std::move(kernel));
    return next_id++;
}

std::shared_ptr<const CustomKernel> find_custom(uint64_t id) {
    std::lock_guard lock(custom_mutex);
    auto found = kernels().find(id);
    STRATA_CHECK(found != kernels().end(), "user kernel {} is gone", id);
    return found->second;
}

void forget_custom(uint64_t id) {
    std::lock_guard lock(custom_mutex);
    kernels().erase(id);
}

}  // namespace strata::runtime
