#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "strata/asm/isa/arch.h"
#include "strata/core/support/result.h"

namespace strata::codegen {

/// The chip that kernels are compiled for: an architecture of AMD, a row of asm/isa/archs.def, or one of NVIDIA, of
/// nvidia.def. Of NVIDIA's there is no machine level: direct lowering, assembly and the emulator take AMD's alone.
class Chip {
  public:
    constexpr Chip(isa::Arch arch) : place_(static_cast<uint8_t>(arch)) {}

    /// "gfx1100", "sm_90"; the error lists the known ones.
    static Result<Chip> parse(std::string_view name);

    std::string_view name() const;
    bool is_amd() const;
    size_t place() const { return place_; }  ///< among the rows of archs.def, then nvidia.def
    /// Only for one that is_amd().
    operator isa::Arch() const;

    friend bool operator==(Chip, Chip) = default;
    friend bool operator==(Chip chip, isa::Arch arch) { return chip == Chip(arch); }

  private:
    friend std::vector<Chip> chips();
    constexpr explicit Chip(size_t place) : place_(static_cast<uint8_t>(place)) {}

    uint8_t place_;
};

/// AMD's, then NVIDIA's.
std::vector<Chip> chips();

}  // namespace strata::codegen
