#pragma once
#include <string>
#include <vector>

#include "strata/asm/object/code_object.h"
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/target/target.h"

namespace strata::codegen {

/// A linear program as machine code.
struct Lowered {
    isa::Bytes object;     ///< complete: what hipModuleLoadData takes
    std::string assembly;  ///< labels by loop, a comment with the operation in front of each group
};

/// What one stage made, as text.
struct Stage {
    std::string name, text;
};

/// Lowers without a compiler: selection, then the passes of passes.def, then bytes. Errors: Unsupported, naming the
/// operation and the target.
Result<Lowered> lower(const LinearProgram& program, const Target& target);
/// What it does on the way: what instructions do, instructions over virtual registers, and the finished text.
Result<std::vector<Stage>> lowering_stages(const LinearProgram& program, const Target& target);

}  // namespace strata::codegen
