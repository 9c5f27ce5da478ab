#pragma once
#include <optional>
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// The values that one step of a reduction takes in: several where it is unrolled.
std::vector<UOp> terms_of(UOp value, DType result);

/// A sum of terms with a factor exp(f - shift). The shift is the maximum of f over the same ranges, or a number where
/// that is not finite. The loop subtracts the running maximum instead.
struct OnlineTerms {
    UOp top;    ///< the maximum: a reduce
    UOp shift;  ///< what is subtracted: it, or a choice between it and a number
    Op exponential = Op::exp;
};

/// Depths: how many reductions deep a node stands on others.
std::optional<OnlineTerms> online_terms(UOp sum, const UOpMap<size_t>& depths);

/// The running sum's scale. `before` and `after` are the top so far, where all that was summed is 0 as long as it is
/// -inf.
UOp rescaling(const OnlineTerms& terms, UOp before, UOp after);
/// The number to subtract while the top is `top`: finite as long as it is -inf.
UOp shift_at(const OnlineTerms& terms, UOp top);
/// The sum as it is where the maximum itself is subtracted and is -inf: NaN.
UOp settled(const OnlineTerms& terms, UOp sum, UOp top);

}  // namespace strata::codegen
