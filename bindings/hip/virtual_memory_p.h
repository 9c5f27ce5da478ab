#pragma once
#include "strata/bindings/hip/state_p.h"

namespace strata::hip::library {

/// Whether an address lies in a range that hipMemAddressReserve gave.
bool is_reserved(const void* memory);
/// Whether bytes from an address on are mapped, to parts that some device may read, or write. Error: hipErrorInvalidValue.
Code check_mapped(const void* memory, size_t bytes, bool writes);
/// Unmaps and forgets the memory of a device.
void forget_mapped(int device);

/// How the names of files begin that make_file() makes.
inline constexpr std::string_view kLibraryFile = "strata-hip-";
/// A file in memory that holds memory of a device (as the library counts); other processes are given it. -1: the host has none.
int make_file(int number, size_t bytes);
/// The device of such a file; none: it is not one.
std::optional<int> device_of_file(int file);

}  // namespace strata::hip::library
