#pragma once
#include <string_view>

namespace strata {

/// How the names of files begin that hold memory of an emulated device.
inline constexpr std::string_view kDeviceMemoryFile = "strata-memory";

/// A file in memory, closed with a program that this process starts. Other processes of the user may open it by the
/// name that /proc has for its descriptor. -1: the host has none.
int make_memory_file(std::string_view name);
/// The size of such a file stays what it is: a process that maps it meets no missing page. False: the host refuses.
bool fix_size(int file);
/// True if a descriptor is of a file in memory whose name begins so, of this user, whose size is fixed.
bool is_memory_file(int file, std::string_view name);

}  // namespace strata
