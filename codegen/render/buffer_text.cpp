// buffer_text: accesses through a descriptor as HIP text.
#include <fmt/format.h>

#include "strata/codegen/render/buffer_text_p.h"
#include "strata/codegen/target/buffer_access.h"
#include "strata/codegen/target/cache_policies.h"
#include "strata/core/uop/kernel.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

bool through_descriptor(UOp index, const Target& target) {
    if (!target.arch.is_amd() || !is_checked_by_descriptor(index)) return false;
    const UOp memory = memory_of(index);
    return memory.as<ParamArg>().size * memory.dtype().bytes() <= kMostBufferBytes;
}

/// The memory, its size and an offset in bytes: one beyond the memory for lanes that a predicate masks.
std::string place(UOp index, const ValueText& value) {
    const UOp memory = memory_of(index);
    const int64_t element = memory.dtype().bytes();
    const std::optional<BufferAccess> known = buffer_access(index);
    std::string offset = fmt::format("(unsigned){} * {}u", value(index.src(1)).within(kPrefix), element), predicate;
    for (UOp part : known->is_exact ? known->others : std::vector{index.src(2)})
        predicate += (predicate.empty() ? "" : " && ") + value(part).within(kOr + 1);
    if (!predicate.empty()) offset = fmt::format("{} ? {} : {:#x}u", predicate, offset, kBeyondBuffer);
    return fmt::format("{}, {}u, {}", value(memory).text, memory.as<ParamArg>().size * element, offset);
}

/// The builtins' last operand, where the access has a cache policy.
std::string cache(UOp index, bool stores, const Target& target) {
    const std::optional<CachePolicy> policy = uop::cache_of(index);
    if (!policy) return "";
    const isa::Family family = isa::info(target.arch).family;
    return fmt::format(", {}", cache_bits(family, *policy, stores).value_or(CacheBits{}).operand(family));
}

}  // namespace

bool loads_through_descriptor(UOp load, const Target& target) {
    return through_descriptor(load.src(0), target) && gives_zero(load.src(1));
}

bool stores_through_descriptor(UOp statement, const Target& target) {
    return statement.is(Op::store) && through_descriptor(statement.src(0), target);
}

std::string buffer_load(UOp load, const ValueText& value, const Target& target) {
    return fmt::format("strata_buffer_load<{}{}>({})", hip_type(load.dtype()), cache(load.src(0), false, target),
                       place(load.src(0), value));
}

std::string buffer_store(UOp store, const ValueText& value, const Target& target) {
    return fmt::format("strata_buffer_store<{}{}>({}, {})", hip_type(store.src(1).dtype()),
                       cache(store.src(0), true, target), place(store.src(0), value), value(store.src(1)).text);
}

}  // namespace strata::codegen
