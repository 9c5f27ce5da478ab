#pragma once
#include <string_view>
#include <vector>

#include "strata/asm/isa/inst.h"

namespace strata::emu {

/// How many rows of one format of an instruction set the emulator executes.
struct FormatCoverage {
    isa::Format format;
    int rows = 0;      ///< of the table, without those that the silicon lacks
    int executed = 0;  ///< rows that have a handler
    int graphics = 0;  ///< rows of image, export, ray-tracing and parameter instructions: not executed, nor meant to be
    std::vector<std::string_view> missing;  ///< compute instructions that are refused when code is loaded
};

/// Asks the handlers about every row of the arch's table, format by format.
std::vector<FormatCoverage> coverage(isa::Arch arch);

}  // namespace strata::emu
