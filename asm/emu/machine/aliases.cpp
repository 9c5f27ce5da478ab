#include <algorithm>
#include <vector>

#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {
namespace {

struct Alias {
    isa::FamilySet families;
    std::string_view mnemonic, name;
};

std::vector<Alias> sorted() {
    std::vector<Alias> all = {
#define ALIAS(which, mnemonic, name) {isa::families::which, #mnemonic, #name},
#include "strata/asm/emu/machine/aliases.def"
#undef ALIAS
#define SPELLING(which, mnemonic, name) {isa::families::which, #mnemonic, #name},
#include "strata/asm/isa/spellings.def"
#undef SPELLING
    };
    std::ranges::sort(all, {}, &Alias::mnemonic);
    return all;
}

}  // namespace

std::string_view handler_name(isa::Family family, std::string_view mnemonic) {
    static const std::vector<Alias> aliases = sorted();
    for (auto it = std::ranges::lower_bound(aliases, mnemonic, {}, &Alias::mnemonic);
         it != aliases.end() && it->mnemonic == mnemonic; ++it)
        if (it->families.has(family)) return it->name;
    return mnemonic;
}

}  // namespace strata::emu
