#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "strata/asm/isa/arch.h"
#include "strata/codegen/compile/prelude_p.h"
#include "strata/codegen/compile/toolchain_p.h"
#include "strata/codegen/render/hip_source.h"

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

}  // namespace strata::codegen
