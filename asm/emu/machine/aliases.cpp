#include <algorithm>
#include <vector>

#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {
namespace {

struct Alias {
    uint32_t families;  ///< bit i: isa::Family i
    std::string_view mnemonic, name;
};

constexpr uint32_t bit(isa::Family family) { return 1u << static_cast<int>(family); }
[[maybe_unused]] constexpr uint32_t rdna4 = bit(isa::Family::rdna4), cdna3 = bit(isa::Family::cdna3),
                                    cdna2 = bit(isa::Family::cdna2), cdna = cdna2 | cdna3;

std::vector<Alias> sorted() {
    std::vector<Alias> all = {
#define ALIAS(families, mnemonic, name) {families, #mnemonic, #name},
#include "strata/asm/emu/machine/aliases.def"
#include "strata/asm/emu/machine/aliases_memory.def"
#undef ALIAS
    };
    std::ranges::sort(all, {}, &Alias::mnemonic);
    return all;
}

}  // namespace

std::string_view handler_name(isa::Family family, std::string_view mnemonic) {
    static const std::vector<Alias> aliases = sorted();
    for (auto it = std::ranges::lower_bound(aliases, mnemonic, {}, &Alias::mnemonic);
         it != aliases.end() && it->mnemonic == mnemonic; ++it)
        if (it->families & bit(family)) return it->name;
    return mnemonic;
}

}  // namespace strata::emu
