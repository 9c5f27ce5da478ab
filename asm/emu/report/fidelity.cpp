#include "strata/asm/emu/fidelity.h"

#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {
namespace {

using namespace isa::families;

constexpr FidelityRow kRows[] = {
#define FIDELITY(families, pattern, level, ulp, source, here) \
    {families, pattern, {Fidelity::Level::level, ulp, source, here}},
#include "strata/asm/emu/report/fidelity.def"
#undef FIDELITY
};

}  // namespace

std::span<const FidelityRow> fidelity_rows() { return kRows; }

bool fits(std::string_view name, std::string_view pattern) {
    const size_t star = pattern.find('*');
    if (star == std::string_view::npos) return name == pattern;
    if (name.substr(0, star) != pattern.substr(0, star)) return false;
    const std::string_view rest = pattern.substr(star + 1);
    for (size_t at = star; at <= name.size(); ++at)
        if (fits(name.substr(at), rest)) return true;
    return false;
}

const FidelityRow* fidelity_row(isa::Family family, const isa::Row& row) {
    const std::string_view handler = handler_name(family, row.mnemonic);
    for (const FidelityRow& known : kRows)
        if (known.families.has(family) && (fits(row.mnemonic, known.pattern) || fits(handler, known.pattern)))
            return &known;
    return nullptr;
}

Fidelity fidelity(isa::Family family, const isa::Row& row) {
    const FidelityRow* known = fidelity_row(family, row);
    return known ? known->fidelity : Fidelity{};
}

std::string_view name(Fidelity::Level level) {
    constexpr std::string_view kNames[] = {"exact", "silicon", "ulp", "approximate"};
    return kNames[static_cast<int>(level)];
}

}  // namespace strata::emu
