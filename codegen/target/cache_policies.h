#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "strata/codegen/target/target.h"
#include "strata/core/uop/args.h"

namespace strata::codegen {

/// Bits of AMD's memory instructions, as isa::Inst has them.
struct CacheBits {
    bool glc = false, slc = false, dlc = false, sc1 = false;
    uint8_t th = 0, scope = 0;
    /// The last operand of clang's builtins of buffers.
    int operand(isa::Family family) const;
};

/// Of a chip; none: it does not have the policy.
std::optional<CacheBits> cache_bits(isa::Family family, CachePolicy policy, bool stores);
std::string_view ptx_modifier(CachePolicy policy, bool stores);
bool has_policy(const Target& target, CachePolicy policy);
/// Those of a chip, with commas.
std::string policies_of(const Target& target);

}  // namespace strata::codegen
