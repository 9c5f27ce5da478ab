#pragma once
#include "strata/codegen/select/context/context.h"

namespace strata::codegen {

/// Instructions that a kernel has as text (lang.inline_asm). They are assembled, and their operands become virtual
/// registers. Later passes then place them, wait for them and keep clear of hazards as of any others.
class ForeignCode : SelectionPart {
  public:
    explicit ForeignCode(SelectionContext& context) : SelectionPart(context) {}
    Result<void> run(UOp u);

  private:
    /// A register that %N stands for.
    struct Named {
        int number;  ///< of the vector register that the text is assembled with
        Place place;
        bool is_result;
    };
    std::vector<Named> operands_of(UOp u);
    Result<void> add(const isa::Inst& inst, std::span<const Named> operands);

    std::vector<bool> written_;  ///< dwords of results, by the number that they are assembled with
};

}  // namespace strata::codegen
