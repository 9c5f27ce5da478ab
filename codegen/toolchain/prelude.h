#pragma once
#include <string>
#include <string_view>

namespace strata::codegen {

/// The parts of prelude.hip that a source needs.
struct Prelude {
    std::string text;
    bool needs_ocml = false;
};

Prelude prelude_for(std::string_view source);

/// The parts of prelude_nvidia.hip that a source needs.
std::string nvidia_prelude_for(std::string_view source);

/// The text after hip_runtime.h. In its version 5 the members of threadIdx and its like are objects, which printf does
/// not take, and gfx11 has no wall_clock64(). Here they are as in later versions.
Prelude prelude_after_runtime_header();

}  // namespace strata::codegen
