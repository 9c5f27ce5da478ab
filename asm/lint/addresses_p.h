#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "strata/asm/lint/access.h"

namespace strata::lint {

/// Scalar registers that hold a place of the code, as compilers make it for calls and long branches. They are results
/// of s_getpc_b64, and sums of those with constants. Places are byte offsets in the text; those before its start wrap.
class Addresses {
  public:
    void step(const Step& step);
    /// Where a jump by a register goes.
    std::optional<uint64_t> target(const isa::Inst& jump) const;

  private:
    std::optional<uint64_t> pair(const isa::Operand& operand) const;
    std::optional<uint32_t> half(const isa::Operand& operand, uint32_t literal) const;
    void add(const Step& step, bool carries);
    void forget(const Step& step);

    std::map<uint16_t, uint32_t> halves_;  ///< by register
    std::optional<bool> carry_;            ///< SCC, after the sum of the lower halves
};

}  // namespace strata::lint
