#pragma once
#include <string>
#include <vector>

#include "strata/codegen/render/hip_source.h"
#include "strata/codegen/target/target.h"
#include "strata/core/support/result.h"
#include "strata/executable/code.h"

namespace strata::codegen {

/// Compiles HIP source to a loadable code object; needs no GPU. Results are kept in memory and on disk. `source.kernel`
/// may be a symbol or the plain name of a C++ kernel ("sum" of `__global__ void sum(float*)`); empty: no entry is
/// looked for. Errors: Compile is a mistake in the source, with clang's message, the whole log and line and column of
/// `source.text`. Usage is no kernel of that name, with a list of those there, or an option that options.def does not
/// list. Device is no compiler; it names Debian packages.
Result<executable::Code> compile_hip(const HipSource& source, Chip chip);

/// Names the compiler and its device libraries; part of every key under which code that it made is kept. "" where there
/// is no compiler, and for direct lowering, which is Strata itself.
std::string compiler_identity(const Target& target);

/// The compiler's own assembly listing, for people to read; not cached.
Result<std::string> compile_to_assembly(const HipSource& source, isa::Arch arch);

/// Waits for what is compiled for callers that were stopped. A front end that ends the process calls it before: exit
/// handlers destroy what LLVM has made since it started.
void finish_compiling();

}  // namespace strata::codegen
