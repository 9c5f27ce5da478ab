#pragma once
#include "strata/hip/module/module.h"

namespace strata::hip::library {

/// The kernel, on the thread's device, that a function of the host stands for. Code: hipErrorInvalidDeviceFunction
/// where it stands for none, hipErrorNoBinaryForGpu.
Code find_kernel(const void* host, Function*& out);
/// The same for a variable. Code: hipErrorInvalidSymbol.
Code find_variable(const void* host, DeviceRange& out);
/// Part of a variable. Errors: hipErrorInvalidSymbol, hipErrorInvalidValue where it has fewer bytes.
Code part_of(const void* symbol, size_t bytes, size_t offset, char*& out);
/// Name of the kernel; nullptr: the function stands for none.
const char* kernel_name(const void* host);
/// True if a registered code object fits a device.
bool is_there_code_for(int device);
/// Takes what is loaded of registered code from a device; it comes back when it is needed.
void unload_registered(int device);

}  // namespace strata::hip::library
