#pragma once
#include <optional>
#include <span>

#include "strata/core/uop/uop.h"

namespace strata {

/// The value of an elementwise or machine op on scalars. `type` is the result's element type. `source` is the type of
/// the last source (where a cast comes from, what a comparison compares). Empty where the op has no value: a shift by
/// the width or more, or an op that the type lacks (sqrt of an integer).
std::optional<ConstArg> reference(Op op, DType type, DType source, std::span<const ConstArg> values);

/// An operand of many elements: floats in `f`, integers and bool in `i`. Step 0: one element for all.
struct ReferenceArray {
    const double* f = nullptr;
    const int64_t* i = nullptr;
    size_t step = 1;
};
/// The values of `n` elements, by the result's type into `f` or `i`, which may be those of a source. Gives the place of
/// the first one that has no value, where 0 is put; `n` where all have one.
size_t reference(Op op, DType type, DType source, std::span<const ReferenceArray> values, size_t n, double* f,
                 int64_t* i);

/// The constant that an elementwise node with constant sources stands for; empty for any other node.
UOp fold(UOp node);

}  // namespace strata
