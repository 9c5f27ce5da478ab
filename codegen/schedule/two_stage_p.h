#pragma once
#include "strata/codegen/cost/cost_model.h"
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// How a reduction that is large and leaves few results is divided. Each result's elements are `count` pieces of
/// `length` elements, which the first stage reduces; the last piece has fewer where that does not divide them. A value
/// is then of the shape (results, count, length), a piece's elements following one another. Of columns it is (results,
/// length, count), so that neighbouring threads of the first stage read neighbouring elements.
struct TwoStage {
    int64_t results = 0, elements = 0;  ///< elements of a result
    int64_t count = 0, length = 0;
    bool across = false;     ///< pieces are of columns
    std::vector<int> order;  ///< of the axes: those that are kept, then the reduced ones

    bool are_whole() const { return count * length == elements; }
    int inner() const { return across ? 1 : 2; }  ///< the axis along a piece
    int outer() const { return across ? 2 : 1; }  ///< the axis from piece to piece
    Shape shape() const { return across ? Shape{results, length, count} : Shape{results, count, length}; }

    /// A value of the shape that is reduced, in pieces; where these are not whole, `filler` after it.
    UOp of(UOp x, UOp filler) const;
    /// Which elements are no filler; empty: all are.
    UOp are_real() const;
    /// How many elements a piece has, of this type: a number, or one for each piece of a result.
    UOp lengths(DType type) const;
    /// TwoStage, reduced; and their partial results, reduced to results.
    UOp reduced(UOp x, Op op) const { return reduced(x, op, inner()); }
    UOp merged(UOp x, Op op) const { return reduced(x, op, outer()); }
    /// One value for each piece repeated along it; one for each result repeated for its pieces.
    UOp along(UOp of_pieces) const;
    UOp to_pieces(UOp of_results) const;

  private:
    UOp reduced(UOp x, Op op, int axis) const;
    Shape shape_of_pieces() const;
};

/// True if a reduction takes two stages.
bool is_two_stage(UOp reduction, const CostModel& costs);
/// The same where what makes two reductions of the elements would read them twice: of more results, whose columns no
/// block holds.
bool is_two_stage_where_read_twice(UOp reduction, const CostModel& costs);
/// True if columns are so few that few blocks read all of them, longer than a second stage takes; its pieces.
bool leaves_card_idle(UOp reduction, const CostModel& costs);
TwoStage stages_of_columns(UOp reduction, const CostModel& costs);
/// The pieces of such a one; of `most` elements where a block goes through each twice.
TwoStage two_stage_of(UOp reduction, const CostModel& costs);
TwoStage two_stage_of(UOp reduction, int64_t most, const CostModel& costs);

UOp reshaped(UOp x, Shape shape);

}  // namespace strata::codegen
