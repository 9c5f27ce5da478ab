// order_text: statements that have no value, and names by cache policies.
#include "strata/codegen/render/order_text_p.h"

#include <fmt/format.h>

#include "strata/codegen/linear/async_groups.h"
#include "strata/codegen/render/launch_p.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

/// Where some instructions may pass, LLVM 19 takes what orders others by way of the barrier for undone. It then reads
/// local memory before it is filled. Such hints, and groups, are left out.
std::string schedule_text(const ScheduleArg& arg) {
    return arg.size || arg.mask ? "" : "__builtin_amdgcn_sched_barrier(0);";
}

}  // namespace

std::string order_text(UOp u, const LinearProgram& program, const Target& target) {
    const bool amd = target.arch.is_amd();
    switch (u.op()) {
        case Op::fence: return fmt::format("strata_fence<{}>();", scope_name(u.as<ScopeArg>().scope));
        case Op::wave_barrier: return "strata_wave_barrier();";
        case Op::async_commit: return amd ? "" : "strata_copies_of_step_end();";
        case Op::async_wait:
            return fmt::format("strata_copies_done<{}>();",
                               amd ? copies_left_by(program.ops, u) : u.as<IndexArg>().index);
        case Op::schedule: return amd ? schedule_text(u.as<ScheduleArg>()) : "";
        case Op::priority: return amd ? fmt::format("__builtin_amdgcn_s_setprio({});", u.as<IndexArg>().index) : "";
        default: return "";
    }
}

std::string cache_function(UOp index, const Target& target) {
    const std::optional<CachePolicy> policy = uop::cache_of(index);
    if (!policy || (*policy == CachePolicy::all && target.arch.is_amd())) return "";
    return std::string(cache_names()[static_cast<size_t>(*policy)]);
}

}  // namespace strata::codegen
