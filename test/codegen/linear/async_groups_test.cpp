#include "strata/codegen/linear/async_groups.h"

#include <gtest/gtest.h>

#include <array>

#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

UOp copy(int64_t place, UOp predicate = {}) {
    return uop::async_copy(uop::at(uop::placeholder(64, dtypes::float32, Space::local), index_const(place), predicate),
                           uop::at(uop::buffer(1, dtypes::float32, 64), index_const(place), predicate), 1);
}
UOp commit(int number) { return uop::async_commit(std::array{copy(number)}); }
UOp wait(int groups) { return uop::async_wait(groups, {}); }

TEST(CopiesLeftBy, CountThoseOfTheLastGroupsThatSurelyBegan) {
    GraphScope scope;
    const std::vector<UOp> two_and_three{copy(0), copy(1), commit(0), copy(2), copy(3), copy(4), commit(1)};
    EXPECT_EQ(copies_left_by(two_and_three, wait(0)), 0);
    EXPECT_EQ(copies_left_by(two_and_three, wait(1)), 2) << "the last group may be either";
    EXPECT_EQ(copies_left_by(two_and_three, wait(3)), 6);
    EXPECT_EQ(copies_left_by(std::vector<UOp>{copy(0)}, wait(5)), 0) << "no group";
}

TEST(CopiesLeftBy, LeavesOutWhatMayNotBegin) {
    GraphScope scope;
    const UOp t = make(Op::special, dtypes::index, {}, SpecialArg{true, 0, 64});
    EXPECT_EQ(copies_left_by(std::vector<UOp>{copy(0), copy(1, t < 3), commit(0)}, wait(1)), 1);
    const UOp r = uop::range(4, 0, Axis::loop);
    const std::vector<UOp> by_loop{copy(0), r, copy(1), uop::end(copy(1), {r}), commit(0)};
    EXPECT_EQ(copies_left_by(by_loop, wait(1)), 0) << "copies of a loop and those before it are not counted";
    const std::vector<UOp> in_loop{r, copy(1), copy(2), commit(0), uop::end(copy(1), {r})};
    EXPECT_EQ(copies_left_by(in_loop, wait(1)), 2);
    const std::vector<UOp> left{r, uop::break_if(t < 3, r), copy(1), commit(0), uop::end(copy(1), {r})};
    EXPECT_EQ(copies_left_by(left, wait(1)), 0) << "threads that left copy nothing";
}

}  // namespace
}  // namespace strata::codegen
