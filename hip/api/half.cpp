// Conversions of numbers of half precision, which programs of AMD's compilers may call in its library.
#include <bit>

#include "strata/hip/api/exports.h"

float __gnu_h2f_ieee(uint16_t half) { return static_cast<float>(std::bit_cast<_Float16>(half)); }
uint16_t __gnu_f2h_ieee(float x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }
