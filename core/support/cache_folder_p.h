#pragma once
#include "strata/core/support/folder_p.h"

namespace strata {

/// The folder of all kinds of entries within a cache folder, with the marker that says that Strata made it. An Error
/// (Device) says why it cannot be used; it is also printed on stderr, once a process.
Result<Folder> open_cache(const std::string& folder);

/// The folder of entries that last as long as this process.
Result<Folder> open_process_cache();

/// Says once a process that the cache is not used, why, and what to do.
void tell_of_unused_cache(std::string_view why);

/// Names of files that a cache writes: entries "<32 hex digits>" and "<32 hex digits>.sum", and those on their way.
enum class CacheFile { foreign, entry, temporary };
CacheFile kind_of_cache_file(std::string_view name);

}  // namespace strata
