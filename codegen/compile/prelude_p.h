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

}  // namespace strata::codegen
