#pragma once
#include <string>
#include <vector>

#include "strata/asm/llvm/service/llvm_api.h"

namespace strata::isa {

/// The result of LLVM's assembler: a relocatable object, or its diagnostics.
struct Emitted {
    std::string object;
    std::vector<std::string> errors;
};

/// Assembles in this process, which a bad text can end or keep for ever: for the service alone.
Emitted emit_object(const LlvmApi& api, std::string_view text, const std::string& cpu, const std::string& features);

}  // namespace strata::isa
