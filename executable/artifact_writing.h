#pragma once
#include <map>
#include <string>

#include "strata/core/support/json.h"
#include "strata/core/support/result.h"

namespace strata::executable {

using FilesByName = std::map<std::string, std::string, std::less<>>;

/// Bytes and sha256 of each file by name, as a manifest lists them.
Json rows_of(const FilesByName& files);
/// Content hash of a manifest without its key, and of what it lists: what decides a call's results.
std::string key_of(const Json& manifest, const Json& rows);
/// Writes a folder, or one file where the path ends in .strata: a zip of stored members at multiples of 64 bytes.
Result<void> write_artifact(const std::string& path, const FilesByName& files);

}  // namespace strata::executable
