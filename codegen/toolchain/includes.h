#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "strata/codegen/render/hip_source.h"

namespace strata::codegen {

/// True if a source may read files that are not part of the toolchain: its cache key then covers what they hold. True
/// if any directive other than `#include <...>` could, or an option names a path.
bool may_include_files(const HipSource& source);

/// The files that a compilation depends on besides its text. A line "hash path" is for each file of the user that it
/// read, "absent path" for each that would have been read instead. "folder path" is for the current folder. Empty
/// optional: not all of it is known, so the object must not be kept.
/// `dependencies`: of clang's -dependency-file; `header`: a precompiled one, which is no part of it; `args`: of cc1.
std::optional<std::string> describe_includes(std::string_view text, std::string_view dependencies,
                                             std::string_view header, std::span<const std::string> args);

/// True if everything in such a description is as it was.
bool still_valid(std::string_view description);

}  // namespace strata::codegen
