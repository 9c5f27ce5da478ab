#pragma once
#include "strata/codegen/schedule/two_stage_p.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {

/// A reduction of x with the result of another one of the same x, both too long for a block. Examples are sum((x -
/// mean)^2), sum(exp(x - top)), min(position where x is top). Each piece of a two-stage reduction has a mean or maximum
/// of its own; merging the pieces corrects for the difference.
struct PairedReduction {
    enum class Kind : uint8_t { squares, exponentials, places };
    UOp second, first, x, shift;  ///< shift: one value a result, made of the first
    Kind kind = Kind::squares;
};
/// Elements of a piece, which a block has in registers.
constexpr int64_t kMostOfPair = 1 << 13;

/// The pair that a reduction ends; its members are empty: it ends none.
PairedReduction paired_reduction_of(UOp reduction, const CostModel& costs);
/// The second reduction over x, with `shift`, as they have become by now.
UOp merged_pair(const PairedReduction& pair, UOp x, UOp shift, const CostModel& costs);
/// The first stage of the first reduction, and its result.
UOp two_stages(const TwoStage& pieces, UOp x, Op op);

}  // namespace strata::codegen
