#pragma once
#include <string>

#include "strata/core/support/result.h"

namespace strata::codegen {

/// Where to look for tools: colon-separated folders.
struct SearchPaths {
    std::string programs;     ///< clang-19
    std::string bitcode;      ///< ocml.bc, ockl.bc
    std::string hip_headers;  ///< hip/hip_runtime.h
    std::string plugin;       ///< the in-process compiler; empty: always a subprocess

    /// The folders of the setting `tools`, else $PATH and where Debian puts things; and where this library was loaded
    /// from.
    static SearchPaths usual();
    bool operator==(const SearchPaths&) const = default;
};

/// The programs and folders that were found; an empty path is a part that is missing.
struct Toolchain {
    std::string clang;
    std::string bitcode;      ///< folder of the device libraries
    std::string hip_headers;  ///< folder that holds hip/hip_runtime.h
    std::string plugin;
    std::string identity;  ///< changes with the compiler and the device libraries; part of every cache key
};

/// An Error (Device) names the package to install when there is no compiler.
Result<Toolchain> find_toolchain(const SearchPaths& paths);

}  // namespace strata::codegen
