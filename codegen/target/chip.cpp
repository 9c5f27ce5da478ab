#include "strata/codegen/target/chip.h"

#include <fmt/ranges.h>

#include "strata/core/support/error.h"

namespace strata::codegen {
namespace {

constexpr std::string_view kNames[] = {
#define ARCH(arch, ...) #arch,
#include "strata/asm/isa/archs.def"
#undef ARCH
#define NVIDIA(chip, ...) #chip,
#include "strata/codegen/target/nvidia.def"
#undef NVIDIA
};

}  // namespace

Result<Chip> Chip::parse(std::string_view name) {
    for (Chip chip : chips())
        if (chip.name() == name) return chip;
    return make_error(ErrorKind::Device, "unknown architecture '{}'; known: {}", name, fmt::join(kNames, ", "));
}

std::string_view Chip::name() const { return kNames[place_]; }
bool Chip::is_amd() const { return place_ < isa::archs().size(); }

Chip::operator isa::Arch() const {
    STRATA_CHECK(is_amd(), "{} is no architecture of AMD", name());
    return isa::archs()[place_].arch;
}

std::vector<Chip> chips() {
    std::vector<Chip> all;
    for (size_t i = 0; i < std::size(kNames); ++i) all.push_back(Chip(i));
    return all;
}

}  // namespace strata::codegen
