#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "strata/asm/isa/arch.h"
#include "strata/codegen/render/hip_source.h"
#include "strata/codegen/toolchain/clang/toolchain.h"
#include "strata/codegen/toolchain/prelude.h"

namespace strata::codegen {

enum class Output { object, assembly };

struct Built {
    std::string output;
    std::string_view route;
    std::optional<std::string> includes =
        "";  ///< files of the user that it depends on, as describe_includes gives them
};

/// Runs the compiler, past the cache of code objects.
Result<Built> build(const Toolchain& tools, const HipSource& source, const Prelude& prelude, isa::Arch arch,
                    Output kind);

/// Waits for compilations in process whose callers were stopped.
void finish_clang();

}  // namespace strata::codegen
