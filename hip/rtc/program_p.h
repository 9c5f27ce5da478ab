#pragma once
#include <map>
#include <string>
#include <vector>

#include "strata/asm/object/code_object.h"

/// hiprtcResult.
enum HiprtcCode {
    success = 0,
    out_of_memory,
    creation_failure,
    invalid_input,
    invalid_program,
    invalid_option,
    compilation_error,
    builtin_failure,
    no_expressions_after_compilation,
    no_names_before_compilation,
    expression_not_valid,
    internal_error
};

namespace strata::hiprtc {

struct Program {
    std::string source, name;
    std::vector<std::pair<std::string, std::string>> headers = {};  ///< name, text
    std::vector<std::string> expressions = {};
    bool compiled = false;
    std::string log = {};
    isa::Bytes code = {};
    std::map<std::string, std::string> lowered = {};  ///< symbols of the expressions
};

/// Compiles for the device of the options, else the first emulated one. The log is the compiler's.
HiprtcCode compile(Program& program, const std::vector<std::string>& options);

}  // namespace strata::hiprtc
