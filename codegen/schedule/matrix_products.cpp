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
constexpr double kComputedAgain =
    3;  // operations for each term of an operand that is computed where it is read: cast, op, cast
constexpr double kOperandBytes = 2;  // of an element of an operand

UOp below_views_and_casts(UOp u) {
    while (info(u.op()).is(kMovement) || is_widening(u)) u = u.src(0);
    return u;
}

/// True if a value is another one, with a mark of gradients.
bool is_mark(UOp u) { return u.is(Op::detach) || u.is(Op::recompute); }

/// The factor in the type of an operand, wherever its casts are among its views.
UOp operand_in(UOp factor, DType type) {
    while (factor.dtype() != type && (info(factor.op()).is(kMovement) || is_widening(factor))) factor = factor.src(0);
    while (info(factor.op()).is(kMovement) || is_mark(factor)) factor = factor.src(0);
    return factor.dtype() == type ? factor : UOp();
}

/// How often each element of an operand is read that the factor has any of.
int64_t reads_of_each(UOp factor, UOp operand) {
    int64_t elements = factor.numel();
    for (UOp u = factor; u != operand; u = u.src(0)) elements = std::min(elements, u.src(0).numel());
    return factor.numel() / std::max<int64_t>(elements, 1);
}

}  // namespace

bool is_little(ProductShape shape, const CostModel& costs) {
    const double by_vectors = costs.product(shape);
    shape.by_matrix = true;
    return by_vectors <= costs.launch() + costs.product(shape);
}

MatrixProduct matrix_product_of(UOp sum, const CostModel& costs) {
    if (!sum.is(Op::reduce) || sum.as<ReduceArg>().op != Op::add || sum.numel() == 0) return {};
    const int64_t terms = sum.src(0).numel(), depth = terms / sum.numel();
    if (depth < kSide) return {};
    const UOp product = below_views_and_casts(sum.src(0));
    if (!product.is(Op::mul)) return {};
    for (const MatrixShape& shape : matrix_shapes()) {
        if (shape.operand.bits() >= 32 || !shape.computes(product.dtype(), sum.dtype())) continue;
        const UOp left = operand_in(product.src(0), shape.operand), right = operand_in(product.src(1), shape.operand);
        if (!left || !right) continue;
        const int64_t columns = reads_of_each(product.src(0), left), rows = reads_of_each(product.src(1), right);
        if (std::min(rows, columns) < kSide || is_little({.rows = rows,
                                                          .columns = columns,
                                                          .depth = depth,
                                                          .batch = std::max<int64_t>(sum.numel() / rows / columns, 1),
                                                          .bytes = shape.operand.bytes()},
                                                         costs))
            return {};
        return {left, right, rows, columns, terms};
    }
    return {};
}

std::vector<UOp> matrix_products_in(UOp sum, const CostModel& costs) {
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
        if (!matrix_product_of(products.back(), costs)) return {};
    }
    return products;
}

bool is_worth_storing(int64_t reads, int64_t terms, const CostModel& costs) {
    if (reads <= kSide) return false;  // a tile of the smallest instruction computes each element once
    const double elements = static_cast<double>(terms) / static_cast<double>(reads);
    return costs.vector(kComputedAgain * static_cast<double>(terms)) >= costs.stored(kOperandBytes * elements);
}

}  // namespace strata::codegen
