#include "strata/asm/isa/card.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "strata/core/support/error.h"

namespace strata::isa {
namespace {

#define CARD(...)
constexpr Unit kUnits[] = {
#define UNIT(arch, ...) {#arch, __VA_ARGS__},
#include "strata/asm/isa/cards.def"
#undef UNIT
};
#undef CARD

#define UNIT(...)
constexpr Card kCards[] = {
#define CARD(name, arch, ...) {name, #arch, __VA_ARGS__},
#include "strata/asm/isa/cards.def"
#undef CARD
};
#undef UNIT

}  // namespace

const Unit& Card::unit() const {
    const Unit* const found = std::ranges::find(kUnits, arch, &Unit::arch);
    STRATA_CHECK(found != std::end(kUnits), "cards.def has no row UNIT of {}", arch);
    return *found;
}

std::span<const Card> cards() { return kCards; }

Result<const Card*> find_card(std::string_view arch, std::string_view name) {
    std::vector<std::string_view> known;
    for (const Card& card : kCards) {
        if (card.arch != arch) continue;
        if (name.empty() || card.name == name) return &card;
        known.push_back(card.name);
    }
    if (known.empty()) return make_error(ErrorKind::Unsupported, "the card table has no GPU of {} yet", arch);
    return make_error(ErrorKind::Device, "unknown GPU model '{}' for {}; known: {}", name, arch,
                      fmt::join(known, ", "));
}

}  // namespace strata::isa
