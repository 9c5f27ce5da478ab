#include <fmt/format.h>

#include "strata/asm/emu/machine/device_memory.h"
#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/object/code_object.h"
#include "strata/core/support/wrong_index.h"

namespace strata::emu {
namespace {

constexpr std::string_view kConst =
    "; every parameter of this launch that points there is const: take const away from the one that is written";

std::string who(int lane, uint32_t bytes, Access access) {
    constexpr std::string_view verbs[] = {"reads", "writes", "updates"};
    std::string lanes = lane < 0 ? "the wave" : fmt::format("lane {}", lane);
    return fmt::format("{} {} {} bytes", lanes, verbs[static_cast<int>(access)], bytes);
}

/// Which of a workgroup's local memory the kernel declares, and which its launch adds. Empty: there is no kernel.
std::string whose(const Wave& wave) {
    const Launch& launch = *wave.group->launch;
    const isa::KernelInfo* const kernel = launch.object ? launch.object->find(launch.kernel) : nullptr;
    if (!kernel) return "";
    const uint32_t declared = kernel->descriptor.group_segment_fixed_size, given = wave.lds_size - declared;
    return fmt::format(
        ": {} that the kernel declares and {} that the launch gave (lds= in Python, sharedMemBytes in HIP)", declared,
        given ? std::to_string(given) : "none");
}

}  // namespace

const Op* fail(Wave* wave, const Op* op, std::string text) {
    wave->stop = Stop::fault;
    wave->last = op;
    wave->pc = op;
    if (wave->run_start) end_run(wave, op, op);
    if (wave->fault) *wave->fault = std::move(text);
    return nullptr;
}

const Op* fail_global(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, Access access) {
    if (auto wrong = wrong_index(address))
        return fail(wave, op, fmt::format("lane {}: index {} is outside of axis {}", lane, wrong->index, wrong->axis));
    const DeviceMemory& memory = *wave->group->launch->memory;
    const Allocation* at = memory.find(address, bytes);
    if (at)
        return fail(wave, op,
                    fmt::format("{} at {:#x}, which is read-only: {}{}", who(lane, bytes, access), address,
                                memory.describe(address, bytes), at->read_by_launch ? kConst : ""));
    return fail(wave, op,
                fmt::format("{} at {:#x}: {}", who(lane, bytes, access), address, memory.describe(address, bytes)));
}

const Op* fail_local(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, Access access) {
    return fail(wave, op,
                fmt::format("{} at byte {} of local memory (LDS), of which the workgroup has {} bytes{}",
                            who(lane, bytes, access), address, wave->lds_size, whose(*wave)));
}

const Op* fail_scratch(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, Access access) {
    return fail(wave, op,
                fmt::format("{} at byte {} of private memory (scratch), of which a lane has {} bytes",
                            who(lane, bytes, access), address, wave->scratch_size));
}

const Op* fail_alignment(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes) {
    return fail(
        wave, op,
        fmt::format("{} at {:#x}, which is not aligned to {}", who(lane, bytes, Access::atomic), address, bytes));
}

bool find_memory(const Wave* wave, uint64_t address, uint64_t bytes, bool store, Wave::Hit& hit) {
    for (int i = store ? Wave::kStoreHits : 0; i < Wave::kHits; ++i) {  // where another instruction met memory
        const Wave::Hit& other = wave->hits[i];
        if (address >= other.low && other.high >= bytes && address <= other.high - bytes) {
            hit = other;
            return true;
        }
    }
    const Allocation* at = wave->group->launch->memory->find(address, bytes);
    if (!at || (store && !at->writable)) return false;
    hit = {at->low, at->high, at->bias};
    return true;
}

}  // namespace strata::emu
