#include "strata/asm/emu/fidelity.h"

#include "strata/asm/emu/wave_p.h"

namespace strata::emu {
namespace {

constexpr FidelityRow kRows[] = {
#define FIDELITY(pattern, level, ulp, here) {pattern, {Fidelity::Level::level, ulp, here}},
#include "strata/asm/emu/fidelity.def"
#undef FIDELITY
};

}  // namespace

std::span<const FidelityRow> fidelity_rows() { return kRows; }

bool fits(std::string_view name, std::string_view pattern) {
    const size_t star = pattern.find('*');
    if (star == std::string_view::npos) return name == pattern;
    if (name.substr(0, star) != pattern.substr(0, star)) return false;
    const std::string_view rest = pattern.substr(star + 1);
    for (size_t at = star; at <= name.size(); at++)
        if (fits(name.substr(at), rest)) return true;
    return false;
}

Fidelity fidelity(isa::Family family, const isa::Row& row) {
    const std::string_view name = handler_name(family, row.mnemonic);
    for (const FidelityRow& known : kRows)
        if (fits(name, known.pattern)) return known.fidelity;
    return {};
}

std::string_view name(Fidelity::Level level) {
    constexpr std::string_view kNames[] = {"exact", "ulp", "approximate"};
    return kNames[static_cast<int>(level)];
}

}  // namespace strata::emu
