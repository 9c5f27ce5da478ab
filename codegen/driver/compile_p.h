#pragma once
#include "strata/codegen/driver/compile.h"
#include "strata/codegen/toolchain/clang/toolchain.h"

namespace strata::codegen {

/// compile.h with tools looked for in given places.
Result<executable::Code> compile_hip(const HipSource& source, isa::Arch arch, const SearchPaths& paths);
Result<std::string> compile_to_assembly(const HipSource& source, isa::Arch arch, const SearchPaths& paths);

/// Nothing is compiled where the setting run_only is on: an error that names the kernel.
Result<void> check_may_compile(std::string_view kernel);

}  // namespace strata::codegen
