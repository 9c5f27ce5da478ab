#pragma once
#include <string>
#include <vector>

#include "strata/asm/isa/arch.h"
#include "strata/codegen/toolchain/clang/toolchain.h"
#include "strata/core/support/disk_cache.h"

namespace strata::codegen {

enum class DeviceLibs { none, math, all };

// Made by CMake from the files of these names.
extern const char* const device_libs_overrides_text;
extern const char* const device_libs_fallbacks_text;

/// Appends the device libraries to the compiler's arguments. The libraries read their constants (isa version, wave
/// size, float mode) from one small module. It is made here from the arguments, for any arch: Debian's set stops at
/// gfx1036. Functions of device_libs_overrides.c are linked before libraries older than ROCm 5.7. Those of
/// device_libs_fallbacks.c are linked after the libraries where the kernel may call all of them.
Result<void> add_device_libs(const Toolchain& tools, isa::Arch arch, DeviceLibs libs, const DiskCache& disk,
                             std::vector<std::string>& args);

}  // namespace strata::codegen
