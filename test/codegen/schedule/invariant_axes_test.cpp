#include "strata/codegen/schedule/plan_p.h"

#include "run_schedule.h"

namespace strata::codegen {
namespace {

using namespace test;

constexpr int64_t kMany = 512;

UOp once(UOp u) { return compute_invariant_once(std::vector{u}, costs())[0]; }

/// Reductions of 2^20 terms and more whose values repeat along an axis of kMany.
std::vector<UOp> repeated_sums() {
    const UOp row = expand(filled({1, 64, 64}), {kMany, 64, 64});
    const UOp one = expand(reshape(number(1), {1, 1, 1}), {kMany, 64, 64});
    return {sum(row, {2}), sum(row * one, {1}), sum(permute(row, {1, 0, 2}) + permute(one, {1, 0, 2}), {0}),
            sum(reshape(row, {kMany, 4096}), {1}), reduce(flip(row, {1}), Op::max, {2})};
}

TEST(InvariantAxes, ASumThatRepeatsIsComputedOnce) {
    GraphScope scope;
    for (UOp u : repeated_sums()) {
        const UOp now = once(u);
        ASSERT_TRUE(now.is(Op::expand)) << to_string(u);
        EXPECT_EQ(now.shape(), u.shape());
        EXPECT_LE(now.src(0).src(0).numel() * kMany, u.src(0).numel());
        EXPECT_EQ(difference(evaluate(now, contents()), evaluate(u, contents())), "") << to_string(u);
    }
}

TEST(InvariantAxes, WhatVariesOrIsSmallStays) {
    GraphScope scope;
    const UOp row = expand(filled({1, 64, 64}), {kMany, 64, 64});
    const UOp each = filled({kMany, 64, 64});
    const UOp few = expand(filled({1, 8, 8}), {16, 8, 8});
    for (UOp u : {sum(row + each, {2}), sum(row, {0}), sum(reshape(row, {64, kMany, 64}), {2}), sum(few, {2}),
                  sum(each, {1, 2})})
        EXPECT_EQ(once(u), u) << to_string(u);
}

}  // namespace
}  // namespace strata::codegen
