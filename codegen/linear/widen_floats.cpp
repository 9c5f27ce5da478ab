// widen_floats: bfloat16 and 8-bit floats are stored but not computed with; each operation runs in float32 and rounds
// once.
//
// Before  add bfloat16 x, y
// After   cast bfloat16 (add float32 (cast x), (cast y))
// Choosing, moving and converting values needs no arithmetic and stays. An integer fma becomes mul and add.
#include <algorithm>

#include "strata/codegen/linear/passes_p.h"

namespace strata::codegen {
namespace {

bool is_storage_only(DType t) { return t.is_float() && (t.bits() == 8 || t.element() == dtypes::bfloat16); }

bool is_too_narrow(UOp u) {
    return info(u.op()).elementwise() && !u.is(Op::cast) && !u.is(Op::bitcast) && !u.is(Op::where) &&
           is_storage_only(u.src(0).dtype());
}
bool is_fma_of_integers(UOp u) { return u.is(Op::fma) && !u.dtype().is_float(); }

/// a * b + c in float64, rounded to odd. The product of narrow floats is exact, and the sum keeps one bit of the lost
/// ones. Rounding to the narrow type is then the only rounding.
UOp fma_to_odd(UOp a, UOp b, UOp c) {
    UOp product = a * b, sum = product + c, from_c = sum - product, zero = constant(dtypes::float64, 0);
    UOp lost = (product - (sum - from_c)) + (c - from_c), bits = bitcast(sum, dtypes::int64);
    UOp one = constant_int(dtypes::int64, 1), even = alu(Op::cmpeq, {alu(Op::bit_and, {bits, one}), one - one});
    UOp finite = alu(Op::cmpeq, {sum - sum, zero}), inexact = alu(Op::cmpne, {lost, zero});
    UOp away = alu(Op::cmpeq, {zero < lost, zero < sum});
    UOp next = alu(Op::where, {away, bits + 1, bits - 1});
    UOp moves = alu(Op::bit_and, {alu(Op::bit_and, {finite, inexact}), even});
    return bitcast(alu(Op::where, {moves, next, bits}), dtypes::float64);
}

UOp widened(UOp u, std::span<const UOp> sources) {
    DType to = u.is(Op::fma) ? dtypes::float64 : dtypes::float32;
    std::vector<UOp> wide;
    for (UOp s : sources) wide.push_back(cast(s, to));
    return cast(u.is(Op::fma) ? fma_to_odd(wide[0], wide[1], wide[2]) : alu(u.op(), wide), u.dtype());
}

}  // namespace

Result<UOp> widen_floats(UOp sink, Context&) {
    const std::vector<UOp> order = toposort(sink);
    if (std::ranges::none_of(order, [](UOp u) { return is_too_narrow(u) || is_fma_of_integers(u); })) return sink;
    return rebuild(order, [](UOp u, std::span<const UOp> sources) {
        if (is_too_narrow(u)) return widened(u, sources);
        if (is_fma_of_integers(u)) return sources[0] * sources[1] + sources[2];
        return u.with_src(sources);
    });
}

}  // namespace strata::codegen
