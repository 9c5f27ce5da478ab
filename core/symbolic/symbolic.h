#pragma once
#include "strata/core/rewrite/rewrite.h"
#include "strata/core/uop/uop.h"

namespace strata {

/// Smallest and largest value an integer or bool node can have, kept in the node. Safe, not always tight. A node of
/// another type gives everything. INT64_MAX as the high end of a uint64 stands for "and beyond".
Bounds bounds(UOp u);

/// The graph with constants folded and integer, boolean and exact float algebra applied. Sums and commutative
/// operations come out in one order, with their constants last: equal expressions usually become the same node.
///
/// Index arithmetic (Scalar::index) is taken not to overflow 64 bits. Fixed-width integers wrap, and rules that would
/// see the difference are used only where bounds prove that nothing wraps. Tensor-level nodes with a shape are left
/// alone where the result would lose it.
UOp simplify(UOp root);
/// The rules of simplify, to be joined with a stage's own.
const RuleSet& symbolic_rules();

bool keeps_values(DType from, DType to);        ///< every value of `from` is a value of `to`
bool is_widening(UOp u);                        ///< a cast to a type that holds all values of the one before
bool proves_less(UOp x, int64_t limit);         ///< x < limit always
bool proves_at_least(UOp x, int64_t limit);     ///< x >= limit always
bool proves_divisible(UOp x, int64_t divisor);  ///< x % divisor == 0 always
/// `root` with every use of a range replaced by `value`, simplified.
UOp substitute_range(UOp root, UOp range, UOp value);

}  // namespace strata
