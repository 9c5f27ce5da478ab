#pragma once
#include "strata/codegen/decompose/expression_p.h"

namespace strata::codegen {

/// A value as the sum of two floats, the second small beside the first.
struct Pair {
    UOp high, low;
};
/// a + b of |a| >= |b|, exactly.
inline Pair sum(UOp a, UOp b) {
    UOp s = a + b;
    return {s, b - (s - a)};
}
/// a + b, exactly.
inline Pair any_sum(UOp a, UOp b) {
    UOp s = a + b, of_b = s - a;
    return {s, (a - (s - of_b)) + (b - of_b)};
}
/// a b, exactly.
inline Pair product(UOp a, UOp b) {
    UOp p = a * b;
    return {p, fma(a, b, minus(p))};
}

}  // namespace strata::codegen
