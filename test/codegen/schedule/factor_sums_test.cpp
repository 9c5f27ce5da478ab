#include <cmath>

#include "run_schedule.h"
#include "strata/codegen/schedule/plan_p.h"

namespace strata::codegen {
namespace {

using namespace test;

constexpr int64_t kRows = 8192, kColumns = 64;  // of which two stages reduce the columns

UOp factored(UOp u) { return factor_sums(std::vector{u}, Policy{Fusion::cost, costs()})[0]; }

/// Along columns.
UOp down(UOp x) { return sum(x, {0}); }
UOp along(UOp results) { return expand(results, {kRows, kColumns}); }

/// The sums are of 8192 terms, in another order.
void expect_near(const Array& got, const Array& wanted) {
    ASSERT_EQ(got.shape, wanted.shape);
    for (size_t i = 0; i < wanted.numel(); ++i) EXPECT_NEAR(got.f[i], wanted.f[i], 1e-4 + 1e-5 * std::abs(wanted.f[i]));
}

/// True if a sum of these loops is made of another one.
bool waits(UOp root) {
    UOpSet made;
    for (UOp u : in_order(std::span(&root, 1))) {
        const bool of_sum = std::ranges::any_of(u.src(), [&](UOp s) { return made.contains(s); });
        const bool is_sum = u.is(Op::reduce) && u.src(0).shape() == Shape{kRows, kColumns};
        if (of_sum && is_sum) return true;
        if (of_sum || is_sum) made.insert(u);
    }
    return false;
}

TEST(FactorSums, SumsWaitForNoOtherOfTheirLoops) {
    GraphScope scope;
    const UOp x = filled({kRows, kColumns}), g = filled({kRows, kColumns});
    const UOp a = along(filled({1, kColumns})), s = down(g * x), b = along(s);
    for (UOp u :
         {down(g * a + x * b), down(x * b), down(x * a * b - g), down(g + x / b), down(x + g * b + g * a * b)}) {
        EXPECT_TRUE(waits(u));
        EXPECT_FALSE(waits(factored(u))) << tree(factored(u));
        expect_near(evaluate(factored(u), contents()), evaluate(u, contents()));
    }
}

TEST(FactorSums, WhatWouldCancelOrWaitsForNothingStays) {
    GraphScope scope;
    const UOp x = filled({kRows, kColumns}), g = filled({kRows, kColumns}), s = down(x), mean = along(s * number(0.25));
    const UOp few = filled({64, kColumns});
    for (UOp u : {down(x - mean), down((x - mean) * (x - mean)), down(g * (x - mean)), down(g * mean + mean),
                  down(g * along(filled({1, kColumns}))), sum(few * expand(sum(few, {0}), {64, kColumns}), {0})})
        EXPECT_EQ(factored(u), u) << to_string(u);
}

TEST(FactorSums, GradientsOfABatchNormWalkMemoryOnce) {
    GraphScope scope;
    const UOp x = filled({kRows, kColumns}), g = filled({kRows, kColumns}), scale = along(filled({1, kColumns}));
    const UOp off = x - along(contiguous(filled({1, kColumns}))), slope = down(g * scale * off);
    const UOp grad = down(g * scale + off * along(slope));
    const std::vector<UOp> roots{grad, down(g), down(g * off)};
    const Schedule schedule = scheduled(roots);
    const std::vector<Array> got = run(schedule);
    for (size_t i = 0; i < roots.size(); ++i) expect_near(got[i], evaluate(roots[i], contents()));
    int64_t readers = 0;
    for (const ScheduleItem& item : schedule.items)
        for (UOp u : in_order(item.bodies())) readers += u.is(Op::buffer) && u == buffer_under(x);
    EXPECT_EQ(readers, 1);
}

}  // namespace
}  // namespace strata::codegen
