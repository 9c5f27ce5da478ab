#pragma once
#include <string>
#include <string_view>

#include "strata/codegen/render/hip_source.h"

namespace strata::codegen {

/// Whether a source may read files that are not part of the toolchain: its cache key then has to cover their contents.
bool may_include_files(const HipSource& source);

/// One line "hash path" for each file but `header`, a precompiled one, that is named in a dependency file written by clang
/// (-dependency-file).
std::string describe_includes(std::string_view dependencies, std::string_view header);

/// Whether every file of such a description still has the same content.
bool still_valid(std::string_view description);

}  // namespace strata::codegen
