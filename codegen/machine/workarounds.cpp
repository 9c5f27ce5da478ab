#include "strata/codegen/machine/workarounds.h"

#include <algorithm>

namespace strata::codegen {
namespace {

/// Families and archs.
struct Chips {
    isa::FamilySet families;
    uint64_t archs = 0;
    bool has(const isa::ArchInfo& arch) const {
        return families.has(arch.family) || archs >> static_cast<unsigned>(arch.arch) & 1;
    }
};
constexpr Chips operator|(Chips a, Chips b) { return {a.families | b.families, a.archs | b.archs}; }
namespace chips {
#define ARCH(name, ...) constexpr Chips name{{}, uint64_t{1} << static_cast<unsigned>(isa::Arch::name)};
#include "strata/asm/isa/archs.def"
#undef ARCH
#define FAMILY(name, ...) constexpr Chips name{isa::families::name};
#include "strata/asm/isa/families.def"
#undef FAMILY
constexpr Chips rdna{isa::families::rdna}, cdna{isa::families::cdna};
}  // namespace chips

struct Row {
    Chips chips;
    int wave, value;
    std::string_view source;
};
const Row& row_of(Workaround workaround) {
    using namespace chips;
    static constexpr Row kRows[] = {
#define WORKAROUND(name, which, wave, value, source) {which, wave, value, source},
#include "strata/codegen/machine/workarounds.def"
#undef WORKAROUND
    };
    return kRows[static_cast<size_t>(workaround)];
}

}  // namespace

int value_of(Workaround workaround, const Target& target) {
    const Row& row = row_of(workaround);
    return row.chips.has(isa::info(target.arch)) && row.wave == target.wave_size ? row.value : 0;
}

std::string_view source_of(Workaround workaround) { return row_of(workaround).source; }

std::string_view must_keep_sources(const Target& target, const isa::Row& row) {
    const int dwords = value_of(Workaround::loads_keep_address, target);
    if (row.format == isa::Format::SMEM && dwords && isa::span_of(row.dst[0]) >= dwords)
        return source_of(Workaround::loads_keep_address);
    const bool product = row.mnemonic == "v_mad_u64_u32" || row.mnemonic == "v_mad_i64_i32";
    if (product && value_of(Workaround::products_keep_sources, target))
        return source_of(Workaround::products_keep_sources);
    return "";
}

int user_scalars(const Target& target, int workgroup_ids) {
    constexpr int kArgumentPointer = 2;
    return std::max(kArgumentPointer, value_of(Workaround::initialised_scalars, target) - workgroup_ids);
}

}  // namespace strata::codegen
