#pragma once
#include <string>

#include "strata/core/uop/args.h"

namespace strata {

/// Writes what `equal` compares, so that different arguments differ in their bytes whatever follows them. The same in
/// every process of a build.
void append_bytes(std::string& out, const Arg& arg);

/// Fixed width, in the order of the host.
inline void append_bytes(std::string& out, uint64_t value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace strata
