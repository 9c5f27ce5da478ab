#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "strata/core/support/error.h"

namespace strata::isa {

/// One diagnostic of LLVM's assembler; line and column are 1-based, 0 when unknown.
struct Diagnostic {
    int line = 0, column = 0;
    std::string message;
};

/// Takes "<inline asm>:3:7: error: text\n source\n caret" apart.
Diagnostic parse_diagnostic(std::string_view text);

/// The Assembly error of the first diagnostic: "file:line:column: error: message", the user's line and a caret below.
Error assembly_error(const std::vector<Diagnostic>& diagnostics, std::string_view source, std::string_view file_name);

}  // namespace strata::isa
