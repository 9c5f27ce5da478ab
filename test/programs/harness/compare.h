#pragma once
#include <string>

#include "program.h"

namespace programs {

/// Empty when two memory regions hold the same values (NaNs are all alike), else where they first differ and how.
std::string difference(const Run::Region& region, const std::vector<uint8_t>& got, const std::vector<uint8_t>& wanted);

}  // namespace programs
