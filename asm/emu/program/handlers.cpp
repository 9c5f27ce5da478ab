#include "strata/asm/emu/program/handlers.h"

#include <vector>

#include "strata/asm/emu/matrix/choose.h"
#include "strata/asm/emu/memory/choose.h"
#include "strata/asm/emu/memory/image.h"
#include "strata/asm/emu/scalar/choose.h"
#include "strata/asm/emu/vector/choose.h"
#include "strata/core/support/error.h"
#include "strata/core/support/settings.h"

namespace strata::emu {
namespace {

// clang-format off
#define SET(variant) HandlerSet{#variant, variant::choose_valu, variant::choose_matrix, variant::choose_memory, \
                                variant::group_memory, variant::plain_handler}
#define SET_OF(variant) SET(variant)  // with what the argument stands for
// clang-format on

#if defined(__x86_64__)
/// The feature sets of x86-64-v3 and x86-64-v4, as far as compilers make use of them here.
bool runs_v3() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
}
[[maybe_unused]] bool runs_v4() {
    return runs_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

std::vector<HandlerSet> find_sets() {
#if defined(STRATA_EMU_ONLY)
    return {SET_OF(STRATA_EMU_ONLY)};
#else
    std::vector<HandlerSet> sets = {SET(portable)};
#if defined(__x86_64__)
    if (runs_v3()) sets.push_back(SET(avx2));
    if (runs_v4()) sets.push_back(SET(avx512));
#endif
    return sets;
#endif
}

const HandlerSet& pick() {
    const std::string& wanted = settings().emu_simd;
    if (wanted == "widest") return host_handlers().back();
    std::string known;
    for (const HandlerSet& set : host_handlers()) {
        if (set.name == wanted) return set;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", set.name);
    }
    user_error(ErrorKind::Unsupported, "emu_simd={}: this build and this host have {}", wanted, known);
}

}  // namespace

std::span<const HandlerSet> host_handlers() {
    static const std::vector<HandlerSet> sets = find_sets();
    return sets;
}

const HandlerSet& handlers() {
    static const HandlerSet& set = pick();
    return set;
}

std::optional<Op> make_op(const HandlerSet& set, const Decoded& decoded) {
    using isa::Format;
    const Format format = decoded.inst.row->format;
    if (format == Format::SMEM)
        if (std::optional<Op> op = choose_smem(decoded)) return op;
    if (format <= Format::SMEM) return choose_scalar(decoded);
    if (format == Format::MIMG) return choose_image(decoded);
    if (format >= Format::DS && format <= Format::GLOBAL && format != Format::MIMG) return set.memory(decoded);
    return decoded.inst.row->flags & isa::kMatrix ? set.matrix(decoded) : set.valu(decoded);
}

}  // namespace strata::emu
