#pragma once
#include <string>
#include <vector>

#include "strata/asm/isa/arch.h"
#include "strata/codegen/compile/toolchain_p.h"
#include "strata/core/support/disk_cache.h"

namespace strata::codegen {

extern const char* const library_additions_text;  // made from library_additions.c by CMake

enum class DeviceLibs { none, math, all };

/// Appends the device libraries to the compiler's arguments. The libraries read their constants (isa version, wave
/// size, float mode) from one small module that is made here from the arguments, for any arch: Debian's set stops at
/// gfx1036. What these lack is put in front (library_additions.c).
Result<void> add_device_libs(const Toolchain& tools, isa::Arch arch, DeviceLibs libs, const DiskCache& disk,
                             std::vector<std::string>& args);

}  // namespace strata::codegen
