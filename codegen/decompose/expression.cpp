#include "strata/codegen/decompose/expression_p.h"

namespace strata::codegen {

UOp with_sign_of(UOp size, UOp x) {
    const DType bits = unsigned_of(x.dtype());
    UOp sign = bits_and(bitcast(x, bits), int64_t{1} << (bits.bits() - 1));
    return bitcast(bits_or(bitcast(size, bits), sign), x.dtype());
}

UOp polynomial(UOp x, std::span<const double> c) {
    UOp sum = like(x, c.back());
    for (size_t i = c.size() - 1; i-- > 0;) sum = fma(sum, x, c[i]);
    return sum;
}

}  // namespace strata::codegen
