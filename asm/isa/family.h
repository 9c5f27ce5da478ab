#pragma once
#include <cstddef>
#include <cstdint>

namespace strata::isa {

/// The rows of families.def.
enum class Family : uint8_t {
#define FAMILY(name, ...) name,
#include "strata/asm/isa/families.def"
#undef FAMILY
};

enum class FamilyLine : uint8_t { rdna, cdna };

inline constexpr FamilyLine kFamilyLines[] = {
#define FAMILY(name, line, ...) FamilyLine::line,
#include "strata/asm/isa/families.def"
#undef FAMILY
};
inline constexpr size_t kFamilyCount = sizeof kFamilyLines / sizeof *kFamilyLines;
constexpr bool is_cdna(Family family) { return kFamilyLines[static_cast<size_t>(family)] == FamilyLine::cdna; }

/// Some of the families: a column of tables whose rows are not for all.
class FamilySet {
  public:
    constexpr FamilySet() = default;
    constexpr FamilySet(Family family) : bits_(1u << static_cast<uint32_t>(family)) {}
    constexpr bool has(Family family) const { return bits_ >> static_cast<uint32_t>(family) & 1; }
    friend constexpr FamilySet operator|(FamilySet a, FamilySet b) {
        a.bits_ |= b.bits_;
        return a;
    }

  private:
    uint32_t bits_ = 0;
};

/// How tables spell sets of families: each family by its name, `rdna`, `cdna`, `all`.
namespace families {
#define FAMILY(name, ...) inline constexpr FamilySet name = Family::name;
#include "strata/asm/isa/families.def"
#undef FAMILY
constexpr FamilySet of(FamilyLine line) {
    FamilySet set;
    for (size_t i = 0; i < kFamilyCount; ++i)
        if (kFamilyLines[i] == line) set = set | static_cast<Family>(i);
    return set;
}
inline constexpr FamilySet rdna = of(FamilyLine::rdna), cdna = of(FamilyLine::cdna), all = rdna | cdna;
}  // namespace families

}  // namespace strata::isa
