#include "strata/codegen/kernel/attention_p.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "build_helpers.h"
#include "strata/core/uop/kernel.h"

// The kernel of a sum that exponentials of sums of products weight.
namespace strata::codegen {
namespace {

using namespace test;

UOp load_at(int slot, UOp offset) { return uop::load(uop::at(uop::buffer(slot, dtypes::float32, 64), offset)); }

TEST(Online, FactorsThatStayTheSameStandAroundTheSum) {
    GraphScope scope;
    UOp j = uop::range(8, 0, Axis::reduce), i = uop::range(8, 1, Axis::loop);
    UOp a = load_at(1, j), b = load_at(2, i), c = load_at(3, i * 8 + j);
    UOp total = make(Op::reduce, dtypes::float32, {a, j}, ReduceArg{Op::add, {}});
    const auto inside = [&](UOp summand) { return factors_of(summand, j).inside; };
    const auto around = [&](UOp summand) { return factors_of(summand, j).around(number(1)); };
    EXPECT_EQ(inside(a / b), a);
    EXPECT_EQ(around(a / b), number(1) / b);
    EXPECT_EQ(inside(a / total * c), a * c) << "what closes the range itself does not move with it";
    EXPECT_EQ(around(a / total * c), number(1) / total);
    EXPECT_EQ(inside(b * a), a);
    EXPECT_EQ(around(b * a), number(1) * b);
    for (UOp kept : {a * c, b / a, a + b, a / c}) {
        EXPECT_EQ(inside(kept), kept);
        EXPECT_EQ(around(kept), number(1));
    }
}

/// Queries (n, d), keys (m, d), values (m, e).
UOp attention(int64_t n, int64_t m, int64_t d, int64_t e) {
    UOp scores = matmul(filled({n, d}), permute(filled({m, d}), {1, 0}));
    UOp weights = alu(Op::exp2, {scores - expand(reduce(scores, Op::max, {1}), {n, m})});
    return matmul(weights, filled({m, e}));
}

/// A kernel that computes what the body means; sums in another order are rounded otherwise.
Kernel near(UOp body) {
    Filled f = built(body);
    const Array got = result(f.kernel, f.slots), wanted = evaluate(body, contents());
    for (size_t i = 0; i < wanted.numel(); ++i)
        EXPECT_NEAR(got.f[i], wanted.f[i], 1e-5 * std::max(1.0, std::abs(wanted.f[i]))) << tree(f.kernel.sink);
    return f.kernel;
}

int64_t rows_of(const Kernel& kernel) {
    int64_t rows = 0;
    for (UOp end : nodes(kernel, Op::end))
        for (UOp r : end.src().subspan(1)) rows += range_arg(r).axis == Axis::reduce ? range_arg(r).size : 0;
    return rows;
}

TEST(Online, ColumnsAndProductsAreOneRowAsLongAsTheLongerOfBoth) {
    GraphScope scope;
    for (int64_t keys : {4, 5, 8})
        for (int64_t depth : {4, 3, 8})
            for (int64_t columns : {4, 6, 8}) {
                SCOPED_TRACE(fmt::format("{} keys, {} products, {} columns", keys, depth, columns));
                Kernel k = near(attention(4, keys, depth, columns));
                EXPECT_EQ(rows_of(k), std::max(depth, columns));
                EXPECT_EQ(nodes(k, Op::range).size(), 3u);
            }
}

TEST(Online, ColumnsThatAreMovedAmongOthersAreARowToo) {
    GraphScope scope;
    UOp seen = attention(6, 5, 4, 4);
    EXPECT_EQ(rows_of(near(reshape(seen, {3, 8}))), 4);
    EXPECT_EQ(rows_of(near(permute(seen, {1, 0}))), 4);
    EXPECT_EQ(rows_of(near(reshape(seen, {24}))), 4);
}

}  // namespace
}  // namespace strata::codegen
