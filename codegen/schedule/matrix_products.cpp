// Products for matrix instructions: recognised in a tensor graph by the rows of matrix_shapes.def, as the action matrix
// does in a kernel.
//
// Before  reduce(a * b, axes), a and b casts and views of values of one narrow type
// After   {left, right}: those values
// Matrix instructions compute one product of a kernel: several are kept apart, and so is the sum of several.
//
// Before  reduce(a * b + c * d)      as the gradient of what two products share
// After   reduce(a * b) + reduce(c * d)
#include <algorithm>

#include "strata/codegen/schedule/plan_p.h"
#include "strata/codegen/target/target.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

constexpr int64_t kSide = 16;  // rows, columns and depth of the smallest instruction
// Modelled time of two and three products of float16 and bfloat16 in one kernel, on a 7900 XTX, a 9070 XT and an
// MI300X: .34 to .90 of that of as many kernels up to 2^25 terms times depth, from 2^27 on as much or more.
constexpr int64_t kLeastOfMatrices = 1 << 25;
// The same of `relu(a) @ b`: an operand in memory of its own costs a launch, and halves the time from 2^24 terms on,
// where each element is read 128 times.
constexpr int64_t kFewTerms = 1 << 24, kFewReads = 128;

UOp below_views_and_casts(UOp u) {
    while (info(u.op()).is(kMovement) || is_widening(u)) u = u.src(0);
    return u;
}

/// Whether a value is another one's bits as its own type again, as gradients mark values.
bool is_mark(UOp u) { return u.is(Op::bitcast) && u.src(0).is(Op::bitcast) && u.src(0).src(0).dtype() == u.dtype(); }

/// What a factor is made of in the type of an operand, wherever its casts stand among its views.
UOp operand_in(UOp factor, DType type) {
    while (factor.dtype() != type && (info(factor.op()).is(kMovement) || is_widening(factor))) factor = factor.src(0);
    while (info(factor.op()).is(kMovement) || is_mark(factor))
        factor = is_mark(factor) ? factor.src(0).src(0) : factor.src(0);
    return factor.dtype() == type ? factor : UOp();
}

/// How often each element of an operand is read that the factor has any of.
int64_t reads_of_each(UOp factor, UOp operand) {
    int64_t elements = factor.numel();
    for (UOp u = factor; u != operand; u = u.src(0)) elements = std::min(elements, u.src(0).numel());
    return factor.numel() / std::max<int64_t>(elements, 1);
}

}  // namespace

MatrixProduct matrix_product_of(UOp sum) {
    if (!sum.is(Op::reduce) || sum.as<ReduceArg>().op != Op::add || sum.numel() == 0) return {};
    const int64_t terms = sum.src(0).numel(), depth = terms / sum.numel();
    if (depth < kSide || terms <= kLeastOfMatrices / depth) return {};
    const UOp product = below_views_and_casts(sum.src(0));
    if (!product.is(Op::mul)) return {};
    for (const MatrixShape& shape : matrix_shapes()) {
        if (shape.operand.bits() >= 32 || !shape.computes(product.dtype(), sum.dtype())) continue;
        const UOp left = operand_in(product.src(0), shape.operand), right = operand_in(product.src(1), shape.operand);
        if (!left || !right) continue;
        const int64_t columns = reads_of_each(product.src(0), left), rows = reads_of_each(product.src(1), right);
        if (std::min(rows, columns) < kSide) return {};
        return {left, right, rows, columns, terms};
    }
    return {};
}

std::vector<UOp> matrix_products_in(UOp sum) {
    if (!sum.is(Op::reduce) || sum.as<ReduceArg>().op != Op::add || !sum.src(0).is(Op::add)) return {};
    std::vector<UOp> products, terms{sum.src(0)};
    while (!terms.empty()) {
        const UOp term = terms.back();
        terms.pop_back();
        if (term.is(Op::add)) {
            terms.insert(terms.end(), {term.src(1), term.src(0)});
            continue;
        }
        if (term.shape() != sum.src(0).shape()) return {};  // a number
        products.push_back(sum.with_src(std::vector{term}));
        if (!matrix_product_of(products.back())) return {};
    }
    return products;
}

bool is_worth_storing(int64_t reads, int64_t terms) { return reads >= kFewReads && terms >= kFewTerms; }

}  // namespace strata::codegen
