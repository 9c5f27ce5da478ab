#pragma once
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "strata/asm/isa/family.h"

// Names of instructions, looked up at compile time: one that no family has does not compile.
namespace strata::codegen {

namespace mnemonic_names {

#define INST(mnemonic, ...) {#mnemonic, sizeof(#mnemonic) - 1},
inline constexpr std::string_view kOfRdna3[] = {
#include "strata/asm/isa/rdna3.def"
};
inline constexpr std::string_view kOfOthers[] = {
#include "strata/asm/isa/cdna2.def"
#include "strata/asm/isa/cdna3.def"
#include "strata/asm/isa/rdna4.def"
};
#undef INST
static_assert(isa::kFamilyCount == 4, "the names of a family are missing above");

constexpr bool same(std::string_view a, std::string_view b) {
    return a.size() == b.size() && __builtin_memcmp(a.data(), b.data(), a.size()) == 0;
}

/// Rows of RDNA3 by open addressing: 1 + the row, or 0. A hash of six characters takes half the compile time of one of
/// all.
using Slots = std::array<uint16_t, 4096>;
constexpr size_t slot_of(const Slots& slots, std::string_view name) {
    const auto from_end = [&](size_t i) {
        return static_cast<size_t>(i < name.size() ? name[name.size() - 1 - i] : 0);
    };
    size_t at = name.size() * 1021 + from_end(0) * 7 + from_end(1) * 131 + from_end(4) * 521 + from_end(6) * 2063 +
                from_end(name.size() / 2) * 67;
    for (at %= slots.size(); slots[at] && !same(kOfRdna3[slots[at] - 1], name);) at = (at + 1) % slots.size();
    return at;
}

inline constexpr Slots kSlots = [] {
    static_assert(2 * std::size(kOfRdna3) < std::tuple_size_v<Slots>);
    Slots out{};
    for (size_t i = 0; i < std::size(kOfRdna3); ++i) out[slot_of(out, kOfRdna3[i])] = static_cast<uint16_t>(i + 1);
    return out;
}();

/// Names of other families, and RDNA3's of the same instruction.
struct Respelled {
    std::string_view there, rdna3;
};
inline constexpr Respelled kRespelled[] = {
#define SPELLING(which, there, rdna3) {{#there, sizeof(#there) - 1}, {#rdna3, sizeof(#rdna3) - 1}},
#include "strata/asm/isa/spellings.def"
#include "strata/codegen/machine/spellings.def"
#undef SPELLING
};

/// Code is written with RDNA3's names, and with others only where RDNA3 has no such instruction.
constexpr bool known(std::string_view name) {
    if (kSlots[slot_of(kSlots, name)]) return true;
    for (const Respelled& other : kRespelled)
        if (same(other.there, name) && kSlots[slot_of(kSlots, other.rdna3)]) return false;
    for (const std::string_view other : kOfOthers)
        if (same(other, name)) return true;
    return false;
}

void no_family_has_such_an_instruction();  ///< which constant expressions cannot call

}  // namespace mnemonic_names

/// The name of an instruction, as RDNA3 spells it. Literals become one in calls and in structs; std::pair and
/// std::optional, whose constructors are templates, take Mnemonic("...").
class Mnemonic {
  public:
    consteval Mnemonic(const char* name) : name_(name) {
        if (!mnemonic_names::known(name_)) mnemonic_names::no_family_has_such_an_instruction();
    }
    /// A name that comes from a table at run time: Code::row looks it up.
    static Mnemonic of(std::string_view name) { return {name, 0}; }
    constexpr operator std::string_view() const { return name_; }

  private:
    constexpr Mnemonic(std::string_view name, int) : name_(name) {}

    std::string_view name_;
};

/// One of two instructions.
constexpr Mnemonic pick(bool first, Mnemonic a, Mnemonic b) { return first ? a : b; }

}  // namespace strata::codegen
