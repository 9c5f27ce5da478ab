#include "strata/codegen/linear/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "../target/gfx1100.h"
#include "interpreter.h"
#include "kernels.h"

// Sums of exponentials less their maximum are summed in the loop that finds the maximum. Exponents are whole, so that
// every order of summing gives the same bits.
namespace strata::codegen {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr int64_t kRows = 8, kColumns = 4;

UOp number(double v) { return constant(dtypes::float32, v); }

/// How the keys are walked: steps, threads of a step, and keys unrolled.
struct Walk {
    int64_t steps, threads, unrolled;
    int64_t keys() const { return steps * threads * unrolled; }
};

struct Weighted {
    UOp scores, top, sum;
};

class Sums {
  public:
    explicit Sums(Walk walk, Axis rows = Axis::loop) : walk_(walk), row_(range(0, kRows, rows)) {
        if (walk.steps > 1) keys_.push_back(range(2, walk.steps, Axis::reduce));
        if (walk.threads > 1) keys_.push_back(range(3, walk.threads, Axis::group));
        if (walk.unrolled > 1) keys_.push_back(range(4, walk.unrolled, Axis::unroll));
    }
    UOp row() const { return row_; }
    UOp column() const { return column_; }
    UOp key() const {
        UOp key = index_const(0);
        for (UOp r : keys_) key = key * range_arg(r).size + r;
        return key;
    }
    UOp scores() const { return load(at(param(1, kRows * walk_.keys()), row_ * walk_.keys() + key())); }
    UOp values() const { return load(at(param(2, walk_.keys() * kColumns), key() * kColumns + column_)); }
    UOp top(UOp scores) const { return reduce(Op::max, scores, keys_); }
    UOp total(UOp summand) const { return reduce(Op::add, summand, keys_); }
    Kernel kernel(UOp result) const {
        UOp place = at(param(0, kRows * kColumns), row_ * kColumns + column_);
        return codegen::kernel("online", end(store(place, result), {row_, column_}));
    }

  private:
    Walk walk_;
    UOp row_, column_ = range(1, kColumns, Axis::upcast);
    std::vector<UOp> keys_;
};

UOp finite(UOp top) {
    UOp is_finite = alu(Op::abs, {top}) < number(std::numeric_limits<double>::infinity());
    return alu(Op::where, {is_finite, top, number(0)});
}

/// Sums of values weighted with exponentials, and of the exponentials, without a division: it would round.
Kernel attention(const Sums& sums, UOp scores, UOp (*shift)(UOp)) {
    UOp e = alu(Op::exp2, {scores - shift(sums.top(scores))});
    return sums.kernel(sums.total(e * sums.values()) + sums.total(e) * number(1024));
}

int loops(const Kernel& kernel) {
    auto program = linearize(kernel, gfx1100);
    EXPECT_TRUE(program) << program.error().message;
    return static_cast<int>(std::ranges::count_if(program->ops, [](UOp u) { return u.is(Op::range); }));
}

void expect_same(const Kernel& kernel, Walk walk) {
    auto program = linearize(kernel, gfx1100);
    ASSERT_TRUE(program) << program.error().message << "\n" << tree(kernel.sink);
    Memory expected;
    auto fill = [&](int slot, int64_t n, int64_t most) {
        for (int64_t i = 0; i < n; ++i)
            expected[slot].push_back({0, static_cast<double>((i * 2654435761u >> 7) % static_cast<size_t>(most)) - 3});
    };
    fill(0, kRows * kColumns, 2), fill(1, kRows * walk.keys(), 7), fill(2, walk.keys() * kColumns, 9);
    Memory got = expected;
    Evaluator(expected).run(kernel.sink);
    Interpreter(*program, got).run();
    for (size_t i = 0; i < expected[0].size(); ++i) {
        const double e = expected[0][i].f, g = got[0][i].f;
        ASSERT_TRUE(e == g || (e != e && g != g)) << "[" << i << "]: " << e << " expected, " << g << " got\n"
                                                  << tree(kernel.sink);
    }
}

constexpr Walk kWalks[] = {{12, 1, 1}, {6, 1, 2}, {5, 4, 1}, {3, 8, 2}, {2, 64, 1}, {1, 8, 4}};

TEST(Online, SumsTakeTheLoopOfTheirMaximum) {
    GraphScope scope;
    for (auto shift : {+[](UOp top) { return top; }, &finite}) {
        Sums sums({12, 1, 1});
        EXPECT_EQ(loops(attention(sums, sums.scores(), shift)), 2) << "rows, and keys once";
        Sums unrolled({12, 1, 4});
        EXPECT_EQ(loops(attention(unrolled, unrolled.scores(), shift)), 2);
    }
}

TEST(Online, SumsAreThoseOfTheWholeRowHoweverItIsWalked) {
    GraphScope scope;
    for (Walk walk : kWalks)
        for (Axis rows : {Axis::loop, Axis::local, Axis::upcast})
            for (auto shift : {+[](UOp top) { return top; }, &finite}) {
                SCOPED_TRACE(walk.steps * 10000 + walk.threads * 100 + walk.unrolled);
                Sums sums(walk, rows);
                expect_same(attention(sums, sums.scores(), shift), walk);
                if (HasFatalFailure()) return;
            }
}

TEST(Online, KeysThatAMaskHidesChangeNothingEvenWhereItHidesAll) {
    GraphScope scope;
    for (Walk walk : kWalks)
        for (auto shift : {+[](UOp top) { return top; }, &finite}) {
            SCOPED_TRACE(walk.steps * 10000 + walk.threads * 100 + walk.unrolled);
            Sums sums(walk);
            for (UOp shown : {sums.key() < sums.row() + 1, sums.key() < sums.row() * 2 - 4,
                              sums.row() + index_const(walk.keys() - 6) < sums.key()})
                expect_same(attention(sums, alu(Op::where, {shown, sums.scores(), number(kNever)}), shift), walk);
            if (HasFatalFailure()) return;
        }
}

TEST(Online, KeysBeyondTheEndOfAPaddedRangeCountForNothing) {
    GraphScope scope;
    const Walk walk{4, 1, 4};
    Sums sums(walk);
    UOp inside = sums.key() < index_const(13), shown = sums.key() < sums.row() + 1;
    UOp scores = alu(Op::where, {shown, sums.scores(), number(kNever)});
    UOp e = alu(Op::exp2, {scores - finite(sums.top(alu(Op::where, {inside, scores, number(kNever)})))});
    Kernel kernel = sums.kernel(sums.total(alu(Op::where, {inside, e * sums.values(), number(0)})));
    expect_same(kernel, walk);
    EXPECT_EQ(loops(kernel), 2);
}

TEST(Online, WhatIsNoExponentialOfTheSameScoresIsSummedAfterTheMaximum) {
    GraphScope scope;
    const Walk walk{12, 1, 1};
    Sums sums(walk);
    UOp scores = sums.scores(), top = sums.top(scores);
    UOp doubled = alu(Op::exp2, {scores * number(2) - top}), squared = alu(Op::exp2, {scores - top});
    UOp shifted = alu(Op::exp2, {scores - top}) * (top + number(1));
    for (UOp summand : {doubled, squared * squared, shifted, alu(Op::exp2, {top - scores}), scores - top}) {
        Kernel kernel = sums.kernel(sums.total(summand));
        expect_same(kernel, walk);
        EXPECT_EQ(loops(kernel), 3) << tree(summand);
    }
}

}  // namespace
}  // namespace strata::codegen
