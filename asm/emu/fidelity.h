#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "strata/asm/isa/inst.h"
#include "strata/core/support/result.h"

namespace strata::isa {
class CodeObject;
}

namespace strata::emu {

/// How near an instruction's results are to silicon's.
struct Fidelity {
    enum class Level : uint8_t {
        exact,       ///< the ISA document fixes every bit
        silicon,     ///< the bits that chips were seen to give
        ulp,         ///< within the document's error band
        approximate  ///< the document says too little
    };
    Level level = Level::exact;
    double documented_ulp = 0;     ///< the document's band, of Level::ulp
    std::string_view source = {};  ///< of the band or of silicon's bits; or that there is none
    std::string_view here = {};    ///< what the emulator does where it is free to choose
};

Fidelity fidelity(isa::Family family, const isa::Row& row);

std::string_view name(Fidelity::Level level);

/// One instruction of a kernel, however often its code has it.
struct InstructionUse {
    std::string_view mnemonic;
    int count = 0;                          ///< in the code
    std::optional<uint64_t> executed = {};  ///< by the waves of a launch; none: nobody counted
    Fidelity fidelity;
};

/// The instructions that a kernel's code can reach, by mnemonic, with how near their results are to silicon's.
/// LaunchStats::instructions counts the instructions that ran.
/// Errors: Usage (no such kernel), Unsupported (an instruction that cannot be executed).
Result<std::vector<InstructionUse>> kernel_fidelity(const isa::CodeObject& object, std::string_view kernel);

/// The rows of fidelity.def in order: for reports and tests.
struct FidelityRow {
    isa::FamilySet families;
    std::string_view pattern;
    Fidelity fidelity;
};
std::span<const FidelityRow> fidelity_rows();
/// The row that counts for an instruction; nullptr: it is exact.
const FidelityRow* fidelity_row(isa::Family family, const isa::Row& row);
/// True if `name` fits a pattern in which * stands for any letters.
bool fits(std::string_view name, std::string_view pattern);

}  // namespace strata::emu
