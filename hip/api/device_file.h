#pragma once
#include <optional>
#include <string_view>

namespace strata::hip::library {

/// How the names of files begin that make_file() makes.
inline constexpr std::string_view kLibraryFile = "strata-hip-";
/// A file in memory that holds memory of a device (as the library counts); other processes are given it. -1: the host
/// has none.
int make_file(int number, size_t bytes);
/// The device of such a file; none: it is not one.
std::optional<int> device_of_file(int file);

}  // namespace strata::hip::library
