#pragma once
#include <optional>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// The difference of `value` from one step of the range to the next; empty where that depends on the step.
UOp slope(UOp value, UOp range);

/// The steps of a range after which a condition never has the wanted value again, in no thread of a block. Empty where
/// they are not known.
UOp steps_while(UOp condition, bool wanted, UOp range);
/// The same number from the last step back to the first.
UOp steps_while_from_the_last(UOp condition, bool wanted, UOp range);

/// The smaller of two numbers of steps, or the only one that is known.
UOp fewer_steps(UOp a, UOp b);

/// The first steps of a range, in all of which a comparison has one value in all threads of a block: none or more.
struct Settled {
    UOp steps;
    bool holds;
};
/// Nothing where they are not known, as where the comparison has that value in the last steps.
std::optional<Settled> settled_first(UOp comparison, UOp range);

}  // namespace strata::codegen
