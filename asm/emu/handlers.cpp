#include <cstdlib>
#include <string_view>

#include "strata/asm/emu/wave_p.h"

namespace strata::emu {
namespace {

#if defined(STRATA_EMU_ONLY)
constexpr HandlerSet kOnly = {"only", STRATA_EMU_ONLY::choose_valu, STRATA_EMU_ONLY::choose_memory, choose_scalar};
const HandlerSet& pick() { return kOnly; }
#else
constexpr HandlerSet kPortable = {"portable", portable::choose_valu, portable::choose_memory, choose_scalar};
#if defined(__x86_64__)
constexpr HandlerSet kAvx2 = {"avx2", avx2::choose_valu, avx2::choose_memory, choose_scalar};
constexpr HandlerSet kAvx512 = {"avx512", avx512::choose_valu, avx512::choose_memory, choose_scalar};

/// The feature sets of x86-64-v3 and x86-64-v4, as far as compilers make use of them here.
bool runs_v3() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
}
bool runs_v4() {
    return runs_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

const HandlerSet& pick() {
    const char* wanted = std::getenv("STRATA_EMU_SIMD");
    std::string_view name = wanted ? wanted : "";
#if defined(__x86_64__)
    if (runs_v4() && (name.empty() || name == kAvx512.name)) return kAvx512;
    if (runs_v3() && name != kPortable.name) return kAvx2;
#endif
    return kPortable;
}
#endif

}  // namespace

const HandlerSet& handlers() {
    static const HandlerSet& set = pick();
    return set;
}

}  // namespace strata::emu
