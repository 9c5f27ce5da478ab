#include <gtest/gtest.h>

#include "strata/core/symbolic/symbolic.h"

namespace strata {
namespace {

UOp axis(int id, int64_t size) { return make(Op::range, dtypes::index, {}, RangeArg{id, size, Axis::loop}); }
UOp number(int64_t value) { return constant_int(dtypes::index, value); }

class Simplify : public testing::Test {
  protected:
    UOp a = axis(0, 4), b = axis(1, 8), c = axis(2, 3);
};

#define EXPECT_BECOMES(from, to) EXPECT_EQ(simplify(from), (to)) << tree(simplify(from)) << "expected\n" << tree(to)

TEST_F(Simplify, quotient_and_remainder_of_a_flattened_index_are_its_parts) {
    UOp flat = a * 8 + b;
    EXPECT_BECOMES(flat / 8, a);
    EXPECT_BECOMES(flat % 8, b);
    EXPECT_BECOMES((flat * 3 + c) / 3 / 8, a);
    EXPECT_BECOMES((flat * 3 + c) / 3 % 8, b);
    EXPECT_BECOMES((flat * 3 + c) % 24 / 3, b);
    EXPECT_BECOMES((flat * 3 + c) % 3, c);
}

TEST_F(Simplify, quotient_and_remainder_join_again) {
    UOp x = a * 5 + b;
    EXPECT_BECOMES(x / 7 * 7 + x % 7, simplify(x));
    EXPECT_BECOMES(x / 7 % 2 * 21 + x % 7 * 3, simplify(x % 14 * 3));
    EXPECT_BECOMES(x / 3 % 2 + x / 6 * 2, simplify(x / 3));
}

TEST_F(Simplify, a_common_factor_leaves_a_division) {
    UOp d = axis(3, 2);
    UOp x = axis(0, 64) * 16 + b * 2 + d;
    EXPECT_BECOMES(x / 32, axis(0, 64) / 2);
    EXPECT_BECOMES(x % 32, b * 2 + d + axis(0, 64) % 2 * 16);
    EXPECT_BECOMES((b * 4 + 3) / 8, b / 2);
}

TEST_F(Simplify, constants_come_out_of_divisions) {
    EXPECT_BECOMES((b + 13) / 4, (b + 1) / 4 + 3);
    EXPECT_BECOMES((b + 13) % 4, (b + 1) % 4);
    EXPECT_BECOMES((number(7) - b) / 8, number(0));
    EXPECT_BECOMES((number(7) - b) % 8, b * -1 + 7);
    EXPECT_BECOMES((a + 4) / 4, number(1));
    EXPECT_BECOMES((a + 4) % 4, a);
}

TEST_F(Simplify, sums_have_one_form) {
    EXPECT_BECOMES(b + a, a + b);
    EXPECT_BECOMES(a + 1 + (b + 2), a + b + 3);
    EXPECT_BECOMES(a * 2 + b + a * 3, a * 5 + b);
    EXPECT_BECOMES((a + b) * 4 - a * 4, b * 4);
    EXPECT_BECOMES(a - a, number(0));
}

TEST_F(Simplify, comparisons_lose_constants_and_factors) {
    EXPECT_BECOMES(a < 4, constant(dtypes::boolean, 1));
    EXPECT_BECOMES(a * 8 + b < 16, a < 2);
    EXPECT_BECOMES(a * 4 + 3 < 8, a < 2);
    EXPECT_BECOMES(b + 2 < 5, b < 3);
    EXPECT_BECOMES(b - 2 < 0, b < 2);
    EXPECT_BECOMES(number(2) - b < 1, number(1) < b);
    EXPECT_BECOMES(b < b + 1, constant(dtypes::boolean, 1));
    EXPECT_BECOMES(a * 8 + b < a * 8, constant(dtypes::boolean, 0));
}

TEST_F(Simplify, floats_change_only_where_it_is_exact) {
    UOp v = make(
        Op::load, dtypes::float32,
        {make(Op::index, dtypes::float32, {make(Op::param, dtypes::float32, {}, ParamArg{Space::global, 0, 8}), b})});
    EXPECT_BECOMES(v * constant(dtypes::float32, 1), v);
    UOp plus_zero = v + constant(dtypes::float32, 0.0), times_zero = v * constant(dtypes::float32, 0.0);
    EXPECT_BECOMES(plus_zero, plus_zero);
    EXPECT_BECOMES(times_zero, times_zero);
    EXPECT_BECOMES(v + constant(dtypes::float32, -0.0), v);
    EXPECT_BECOMES(v / constant(dtypes::float32, 4), v * constant(dtypes::float32, 0.25));
    UOp third = v / constant(dtypes::float32, 3);
    EXPECT_BECOMES(third, third);
}

}  // namespace
}  // namespace strata
