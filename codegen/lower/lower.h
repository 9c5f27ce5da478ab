#pragma once
#include <string>
#include <vector>

#include "strata/asm/object/code_object.h"
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/target/target.h"

namespace strata::codegen {

/// True if code is written as text too.
enum class Text : bool { no, yes };

/// A linear program as machine code.
struct Lowered {
    isa::KernelSpec kernel;  ///< all that an object has of it; one may hold several
    std::string assembly;    ///< labels by loop, a comment with the operation before each group; "" where not asked for
    double text_ms = 0;      ///< spent on the assembly

    /// Complete, with this kernel alone: what hipModuleLoadData takes.
    Result<isa::Bytes> object(isa::Arch arch) const { return isa::write_code_object(arch, {&kernel, 1}); }
};

/// The output of one stage, as text.
struct Stage {
    std::string name, text;
};

/// Lowers without a compiler: selection, then the passes of passes.def, then bytes. Errors: Unsupported, naming the
/// operation and the target.
Result<Lowered> lower(const LinearProgram& program, const Target& target, Text text);
/// The stages of lower(): operations, instructions over virtual registers, and the finished text.
Result<std::vector<Stage>> lowering_stages(const LinearProgram& program, const Target& target);

}  // namespace strata::codegen
