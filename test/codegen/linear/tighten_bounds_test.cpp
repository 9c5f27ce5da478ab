#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "../target/gfx1100.h"
#include "interpreter.h"
#include "kernels.h"
#include "strata/codegen/linear/linear.h"

// Loops of reductions stop where masks leave nothing of what would come: the values of all steps, in fewer.
namespace strata::codegen {
namespace {

constexpr int64_t kColumns = 48;

/// Sums over columns, of which a row takes those that `mask` says, and the greatest of them.
struct Masked {
    int64_t rows = 24, threads = 1, beside = 1, unrolled = 1;

    UOp row() const {
        UOp row = range(0, rows / beside, Axis::global);
        return beside > 1 ? row * beside + range(1, beside, Axis::local) : row;
    }
    std::vector<UOp> columns() const {
        std::vector<UOp> found{range(2, kColumns / threads / unrolled, Axis::reduce)};
        if (threads > 1) found.push_back(range(3, threads, Axis::group));
        if (unrolled > 1) found.push_back(range(4, unrolled, Axis::unroll));
        return found;
    }
    UOp column() const {
        UOp number = index_const(0);
        for (UOp r : columns()) number = number * range_arg(r).size + r;
        return number;
    }
    UOp value() const { return load(at(param(1, rows * kColumns), row() * kColumns + column())); }
    UOp sum(UOp mask) const { return reduce(Op::add, alu(Op::where, {mask, value(), number(0)}), columns()); }
    UOp top(UOp without) const {
        const UOp never = number(-std::numeric_limits<double>::infinity());
        return reduce(Op::max, alu(Op::where, {without, never, value()}), columns());
    }
    Kernel kernel(UOp result) const {
        std::vector<UOp> over{range(0, rows / beside, Axis::global)};
        if (beside > 1) over.push_back(range(1, beside, Axis::local));
        return codegen::kernel("masked", end(store(at(param(0, rows), row()), result), over));
    }
    static UOp number(double v) { return constant(dtypes::float32, v); }
};

LinearProgram lines(const Kernel& kernel) {
    auto program = linearize(kernel, gfx1100);
    EXPECT_TRUE(program) << program.error().message;
    return *std::move(program);
}

void expect_same(const Masked& masked, const Kernel& kernel, bool early) {
    const LinearProgram program = lines(kernel);
    Memory expected;
    for (int64_t i = 0; i < masked.rows; ++i) expected[0].push_back({0, -1});
    for (int64_t i = 0; i < masked.rows * kColumns; ++i)
        expected[1].push_back({0, static_cast<double>((i * 2654435761u >> 7) % 19) - 9});
    Memory got = expected;
    Evaluator(expected).run(kernel.sink);
    Interpreter run(program, got);
    run.run();
    const int64_t all = masked.rows / masked.beside * kColumns / masked.threads / masked.unrolled;
    EXPECT_EQ(run.steps() < all, early) << run.steps() << " of " << all;
    for (size_t i = 0; i < expected[0].size(); ++i) EXPECT_EQ(got[0][i].f, expected[0][i].f) << i;
}

class EndLoops : public ::testing::TestWithParam<Masked> {};

TEST_P(EndLoops, TriangularSumsAndMaximaEndAtTheLastRowOfTheBlock) {
    GraphScope scope;
    const Masked m = GetParam();
    expect_same(m, m.kernel(m.sum(m.column() < m.row() + 1)), true);
    expect_same(m, m.kernel(m.top(m.row() < m.column())), true);
    expect_same(m, m.kernel(m.sum(m.column() < m.row()) + m.top(m.row() * 2 + 3 < m.column())), true);
}

TEST_P(EndLoops, MasksThatNameAConstantEndLoopsThereAndThoseThatTakeNothingOutDoNot) {
    GraphScope scope;
    const Masked m = GetParam();
    expect_same(m, m.kernel(m.sum(m.column() < index_const(7))), true);
    const UOp both = alu(Op::bit_and, {m.row() < m.column() * 3, m.column() < index_const(11)});
    expect_same(m, m.kernel(m.sum(both)), true);
}

TEST_P(EndLoops, LoopsStartWhereAMaskLeavesSomethingAndEndWhereItLeavesNothing) {
    GraphScope scope;
    const Masked m = GetParam();
    expect_same(m, m.kernel(m.sum(m.row() < m.column())), true);
    expect_same(m, m.kernel(m.top(m.column() < m.row() + 9)), true);
    const auto window = [&](int64_t before, int64_t after) {
        return alu(Op::bit_and, {m.row() < m.column() + (before + 1), m.column() < m.row() + (after + 1)});
    };
    expect_same(m, m.kernel(m.sum(window(5, 0))), true);
    expect_same(m, m.kernel(m.sum(window(3, 4)) + m.sum(window(0, 9))), true);
    const auto narrow = [](UOp u) { return cast(u, dtypes::int32); };
    const UOp row = narrow(m.row()), column = narrow(m.column());
    expect_same(m, m.kernel(m.sum(alu(Op::bit_and, {row < column + 4, alu(Op::logical_not, {row * 2 < column})}))),
                true);
    // None in most rows, or in all.
    expect_same(m, m.kernel(m.sum(window(-20, 30))), true);
    expect_same(m, m.kernel(m.sum(window(-60, 90))), true);
    expect_same(m, m.kernel(m.sum(window(90, -60))), true);
}

TEST_P(EndLoops, LoopsGoOnWhereSomethingMayCome) {
    GraphScope scope;
    const Masked m = GetParam();
    expect_same(m, m.kernel(m.sum(m.column() % 8 < m.row())), false);
    const UOp loaded = cast(m.value(), dtypes::index);
    expect_same(m, m.kernel(m.sum(m.column() < loaded)), false);
    const UOp all = reduce(Op::add, m.value(), m.columns());
    expect_same(m, m.kernel(m.sum(m.column() < m.row()) + all), false);
}

INSTANTIATE_TEST_SUITE_P(Schedules, EndLoops,
                         ::testing::Values(Masked{}, Masked{.beside = 8}, Masked{.threads = 4}, Masked{.unrolled = 4},
                                           Masked{.threads = 4, .beside = 4, .unrolled = 3}));

}  // namespace
}  // namespace strata::codegen
