#include "strata/codegen/decompose/expression_p.h"

namespace strata::codegen {

UOp polynomial(UOp x, std::span<const double> c) {
    UOp sum = like(x, c.back());
    for (size_t i = c.size() - 1; i-- > 0;) sum = fma(sum, x, c[i]);
    return sum;
}

}  // namespace strata::codegen
