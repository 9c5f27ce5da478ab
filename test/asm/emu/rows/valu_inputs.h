#pragma once
#include <cstdint>

#include "strata/asm/isa/inst.h"

namespace strata::emu::rows {

/// Deterministic values that favour hard cases of arithmetic: both zeros, infinities, quiet and signaling NaN, the ends
/// of the denormal and normal ranges. Also powers of two, the ends of the integers, and random bits of two kinds.
class Values {
  public:
    explicit Values(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x1234567) {}
    uint64_t next();
    uint32_t below(uint32_t n) { return static_cast<uint32_t>(next() >> 33) % n; }
    bool chance(uint32_t one_in) { return below(one_in) == 0; }
    /// A value of this type in the low bits; the bits above are random where the type is narrower than its register.
    uint64_t of(isa::Type type);
    uint32_t half();
    uint32_t single();
    uint64_t whole_double();
    uint32_t integer();
    uint32_t short_integer();

  private:
    uint64_t state_;
};

}  // namespace strata::emu::rows
