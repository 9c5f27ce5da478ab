#include "strata/asm/isa/names.h"

namespace strata::isa {
namespace {

using namespace families;

constexpr ImmediateName kMessages[] = {
#define MESSAGE(families, number, name) {families, number, #name},
#include "strata/asm/isa/names.def"
};
constexpr ImmediateName kHardwareRegisters[] = {
#define HWREG(families, number, name) {families, number, #name},
#include "strata/asm/isa/names.def"
};

}  // namespace

std::span<const ImmediateName> message_names() { return kMessages; }
std::span<const ImmediateName> hardware_register_names() { return kHardwareRegisters; }

std::string_view name_of(std::span<const ImmediateName> names, Family family, uint32_t number) {
    for (const ImmediateName& row : names)
        if (row.number == number && row.families.has(family)) return row.name;
    return {};
}

std::string_view name_at(NameList names, uint32_t number) {
    return number < names.size() ? names[number] : std::string_view();
}

std::optional<uint8_t> number_of(NameList names, std::string_view name) {
    for (size_t i = 0; i < names.size(); ++i)
        if (!name.empty() && names[i] == name) return static_cast<uint8_t>(i);
    return {};
}

}  // namespace strata::isa
