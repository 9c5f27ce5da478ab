#pragma once
#include <string>
#include <vector>

#include "strata/asm/isa/arch.h"
#include "strata/codegen/render/hip_source.h"
#include "strata/codegen/toolchain/clang/toolchain.h"
#include "strata/core/support/disk_cache.h"

namespace strata::codegen {

/// The arguments of `clang -cc1` that clang's driver makes of our and the user's options, without input, output and
/// anything that differs from run to run. Asking the driver keeps every user option working; its answer (18 ms) is kept
/// on disk.
Result<std::vector<std::string>> compiler_arguments(const Toolchain& tools, const HipSource& source, isa::Arch arch,
                                                    const DiskCache& disk);

bool has_argument(const std::vector<std::string>& args, std::string_view arg);
void replace_argument(std::vector<std::string>& args, std::string_view from, std::string_view to);
/// Removes `name value`.
void remove_argument_pair(std::vector<std::string>& args, std::string_view name, std::string_view value);

}  // namespace strata::codegen
