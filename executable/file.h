#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "strata/executable/executable.h"

namespace strata::executable {

/// An executable as bytes, for files: all of it but Code::spec. Each kernel's code has an object, or the kernel none.
std::string to_bytes(const Executable& executable);

/// The executable that to_bytes wrote in this format's version; none for any other bytes. Such an executable can be
/// run: indices are in range, and code objects have their entries.
std::optional<Executable> of_bytes(std::string_view bytes);

}  // namespace strata::executable
