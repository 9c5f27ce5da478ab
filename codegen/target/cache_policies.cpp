// cache_policies: rows of cache_policies.def by chip.
#include "strata/codegen/target/cache_policies.h"

namespace strata::codegen {
namespace {

enum Bit : unsigned { glc = 1, slc = 2, dlc = 4, sc1 = 8, th_nt = 16, dev = 32, sys = 64, sc0 = glc, nt = slc };
constexpr uint8_t kScopeDev = 2, kScopeSys = 3, kNonTemporal = 1;

struct PolicyRow {
    isa::Family family;
    CachePolicy policy;
    unsigned load, store;
};
constexpr PolicyRow kPolicies[] = {
#define CACHE_POLICY(family, policy, load, store) {isa::Family::family, CachePolicy::policy, load, store},
#define PTX_POLICY(...)
#include "strata/codegen/target/cache_policies.def"
#undef CACHE_POLICY
#undef PTX_POLICY
};
struct PtxRow {
    CachePolicy policy;
    std::string_view load, store;
};
constexpr PtxRow kPtx[] = {
#define CACHE_POLICY(...)
#define PTX_POLICY(policy, load, store) {CachePolicy::policy, load, store},
#include "strata/codegen/target/cache_policies.def"
#undef CACHE_POLICY
#undef PTX_POLICY
};

}  // namespace

/// LLVM's SIDefines.h, "CPol": GLC, SLC, DLC and SCC are bits 0, 1, 2 and 4. Of gfx12 TH has bits 0 to 2, the scope 3
/// and 4.
int CacheBits::operand(isa::Family family) const {
    if (family == isa::Family::rdna4) return th | scope << 3;
    return (glc ? 1 : 0) | (slc ? 2 : 0) | (dlc ? 4 : 0) | (sc1 ? 16 : 0);
}

std::optional<CacheBits> cache_bits(isa::Family family, CachePolicy policy, bool stores) {
    if (policy == CachePolicy::all) return CacheBits{};
    for (const PolicyRow& row : kPolicies) {
        if (row.family != family || row.policy != policy) continue;
        const unsigned bits = stores ? row.store : row.load;
        return CacheBits{.glc = (bits & glc) != 0,
                         .slc = (bits & slc) != 0,
                         .dlc = (bits & dlc) != 0,
                         .sc1 = (bits & sc1) != 0,
                         .th = bits & th_nt ? kNonTemporal : uint8_t{0},
                         .scope = bits & dev   ? kScopeDev
                                  : bits & sys ? kScopeSys
                                               : uint8_t{0}};
    }
    return {};
}

std::string_view ptx_modifier(CachePolicy policy, bool stores) {
    for (const PtxRow& row : kPtx)
        if (row.policy == policy) return stores ? row.store : row.load;
    return {};
}

bool has_policy(const Target& target, CachePolicy policy) {
    if (!target.arch.is_amd()) return !ptx_modifier(policy, false).empty();
    return cache_bits(isa::info(target.arch).family, policy, false).has_value();
}

std::string policies_of(const Target& target) {
    std::string names;
    for (size_t i = 0; i < cache_names().size(); ++i)
        if (has_policy(target, static_cast<CachePolicy>(i)))
            names += (names.empty() ? "" : ", ") + std::string(cache_names()[i]);
    return names;
}

}  // namespace strata::codegen
