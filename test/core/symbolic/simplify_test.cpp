#include <gtest/gtest.h>

#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/places.h"

namespace strata {
namespace {

UOp axis(int id, int64_t size) { return make(Op::range, dtypes::index, {}, RangeArg{id, size, Axis::loop}); }
UOp number(int64_t value) { return constant_int(dtypes::index, value); }

class Simplify : public testing::Test {
  protected:
    UOp a = axis(0, 4), b = axis(1, 8), c = axis(2, 3);
};

#define EXPECT_BECOMES(from, to) EXPECT_EQ(simplify(from), (to)) << tree(simplify(from)) << "expected\n" << tree(to)

TEST_F(Simplify, QuotientAndRemainderOfAFlattenedIndexAreItsParts) {
    UOp flat = a * 8 + b;
    EXPECT_BECOMES(flat / 8, a);
    EXPECT_BECOMES(flat % 8, b);
    EXPECT_BECOMES((flat * 3 + c) / 3 / 8, a);
    EXPECT_BECOMES((flat * 3 + c) / 3 % 8, b);
    EXPECT_BECOMES((flat * 3 + c) % 24 / 3, b);
    EXPECT_BECOMES((flat * 3 + c) % 3, c);
}

TEST_F(Simplify, QuotientAndRemainderJoinAgain) {
    UOp x = a * 5 + b;
    EXPECT_BECOMES(x / 7 * 7 + x % 7, simplify(x));
    EXPECT_BECOMES(x / 7 % 2 * 21 + x % 7 * 3, simplify(x % 14 * 3));
    EXPECT_BECOMES(x / 3 % 2 + x / 6 * 2, simplify(x / 3));
    const UOp wide = axis(0, 40) * 240 + axis(1, 9);  // its remainder is taken of 7 * axis(0) + axis(1)
    EXPECT_BECOMES(wide / 233 * 233 + wide % 233, simplify(wide));
    EXPECT_BECOMES(wide / 233 % 5 * 233 + wide % 233, simplify(wide % 1165));
    const UOp below = wide - 1;  // may be negative, where remainders have the sign of what is divided
    EXPECT_EQ(simplify(below / 233 * 233 + (axis(0, 40) * 7 + axis(1, 9) + 232) % 233) == simplify(below), false);
}

TEST_F(Simplify, ACommonFactorLeavesADivision) {
    UOp d = axis(3, 2);
    UOp x = axis(0, 64) * 16 + b * 2 + d;
    EXPECT_BECOMES(x / 32, axis(0, 64) / 2);
    EXPECT_BECOMES(x % 32, b * 2 + d + axis(0, 64) % 2 * 16);
    EXPECT_BECOMES((b * 4 + 3) / 8, b / 2);
}

TEST_F(Simplify, ConstantsComeOutOfDivisions) {
    EXPECT_BECOMES((b + 13) / 4, (b + 1) / 4 + 3);
    EXPECT_BECOMES((b + 13) % 4, (b + 1) % 4);
    EXPECT_BECOMES((number(7) - b) / 8, number(0));
    EXPECT_BECOMES((number(7) - b) % 8, b * -1 + 7);
    EXPECT_BECOMES((a + 4) / 4, number(1));
    EXPECT_BECOMES((a + 4) % 4, a);
}

TEST_F(Simplify, SumsHaveOneForm) {
    EXPECT_BECOMES(b + a, a + b);
    EXPECT_BECOMES(a + 1 + (b + 2), a + b + 3);
    EXPECT_BECOMES(a * 2 + b + a * 3, a * 5 + b);
    EXPECT_BECOMES((a + b) * 4 - a * 4, b * 4);
    EXPECT_BECOMES(a - a, number(0));
}

TEST_F(Simplify, WhatIsFrozenIsOfNoKnownBounds) {
    const UOp frozen = alu(Op::freeze, {a});
    EXPECT_BECOMES(a < 0, constant(dtypes::boolean, 0));
    EXPECT_BECOMES(frozen < 0, frozen < 0);
    EXPECT_BECOMES(frozen < 4, frozen < 4);
}

TEST_F(Simplify, ComparisonsLoseConstantsAndFactors) {
    EXPECT_BECOMES(a < 4, constant(dtypes::boolean, 1));
    EXPECT_BECOMES(a * 8 + b < 16, a < 2);
    EXPECT_BECOMES(a * 4 + 3 < 8, a < 2);
    EXPECT_BECOMES(b + 2 < 5, b < 3);
    EXPECT_BECOMES(b - 2 < 0, b < 2);
    EXPECT_BECOMES(number(2) - b < 1, number(1) < b);
    EXPECT_BECOMES(a + 3 < b + 1, a + 2 < b);
    EXPECT_BECOMES(a + 1 < b + 3, a < b + 2);
    EXPECT_BECOMES(a + 2 < b + 2, a < b);
    EXPECT_BECOMES(b < b + 1, constant(dtypes::boolean, 1));
    EXPECT_BECOMES(a * 8 + b < a * 8, constant(dtypes::boolean, 0));
}

TEST_F(Simplify, IntegersThatACastKeepsAreComparedWithoutIt) {
    auto as = [](UOp u, DType type) { return cast(u, type); };
    EXPECT_BECOMES(as(a + 3, dtypes::int32) < as(b + 1, dtypes::int32), a + 2 < b);
    EXPECT_BECOMES(as(b + 2, dtypes::int32) < constant_int(dtypes::int32, 5), b < 3);
    EXPECT_BECOMES(constant_int(dtypes::int32, 2) < as(b, dtypes::int32), number(2) < b);
    const UOp wide = axis(5, 300), narrow = as(wide, dtypes::int8) < constant_int(dtypes::int8, 5);
    EXPECT_BECOMES(narrow, narrow);
    const UOp beside = as(b, dtypes::int32) < make(Op::special, dtypes::int32, {}, SpecialArg{true, 0, 64});
    EXPECT_BECOMES(beside, beside);
}

TEST_F(Simplify, IntegersThatACastKeepsAreDividedWithoutIt) {
    auto as = [](UOp u, DType type) { return cast(u, type); };
    auto by = [](UOp u, int64_t n) { return constant_int(u.dtype(), n); };
    const UOp four = as(b * 4 + 3, dtypes::int32), natural = as(b * 4 + 3, dtypes::uint32);
    EXPECT_BECOMES(four / by(four, 4), as(b, dtypes::int32));
    EXPECT_BECOMES(four % by(four, 4), by(four, 3));
    EXPECT_BECOMES(natural / by(natural, 4), as(b, dtypes::uint32));
    const UOp below = as(b + -9, dtypes::uint32), wide = as(axis(5, 300), dtypes::int8);
    for (UOp kept : {below / by(below, 4), below % by(below, 4), wide / by(wide, 3)}) EXPECT_BECOMES(kept, kept);
}

TEST_F(Simplify, PredicatesKeepQuotientsNatural) {
    UOp memory = make(Op::param, dtypes::float32, {}, ParamArg{Space::global, 0, 64});
    UOp flat = axis(4, 10) * 4 + a, predicate = number(7) < flat;
    auto at = [&](UOp offset, UOp when) { return make(Op::index, dtypes::float32, {memory, offset, when}); };
    EXPECT_BECOMES(at((flat - 8) / 4, predicate), at(axis(4, 10) + -2, number(1) < axis(4, 10)));
    EXPECT_BECOMES(at((b - 2) % 4, b < 6), at((b + -2) % 4, b < 6));  // may be negative
    EXPECT_BECOMES(at((b - 2) % 4, number(1) < b), at((b + 2) % 4, number(1) < b));
    EXPECT_BECOMES(at(b % 4, b < 4), at(b, b < 4));
    UOp x = axis(5, 100);
    EXPECT_BECOMES(alu(Op::where, {x < 7, x / 7 + x % 7, b}), alu(Op::where, {x < 7, x, b}));
}

TEST_F(Simplify, ConditionsCollapse) {
    UOp yes = constant(dtypes::boolean, 1), no = constant(dtypes::boolean, 0);
    auto both = [](UOp s, UOp t) { return alu(Op::bit_and, {s, t}); };
    auto either = [](UOp s, UOp t) { return alu(Op::bit_or, {s, t}); };
    auto negated = [](UOp s) { return alu(Op::logical_not, {s}); };
    EXPECT_BECOMES(negated(b < 3), number(2) < b);
    EXPECT_BECOMES(both(b < 3, b < 5), b < 3);
    EXPECT_BECOMES(either(b < 3, b < 5), b < 5);
    EXPECT_BECOMES(both(b < 3, negated(b < 3)), no);
    EXPECT_BECOMES(either(b < 3, negated(b < 2)), yes);
    EXPECT_BECOMES(both(both(a < 2, b < 3), both(b < 3, a < 2)), both(a < 2, b < 3));
    EXPECT_BECOMES(alu(Op::where, {b < 3, alu(Op::where, {b < 3, a, c}), c}), alu(Op::where, {b < 3, a, c}));
    EXPECT_BECOMES(alu(Op::where, {b < 3, alu(Op::where, {a < 2, a, c}), c}),
                   alu(Op::where, {both(a < 2, b < 3), a, c}));
    EXPECT_BECOMES(alu(Op::where, {b < 8, a, c}), a);
    EXPECT_BECOMES(alu(Op::cmpne, {cast(b < 3, dtypes::int32), constant_int(dtypes::int32, 0)}), b < 3);
}

TEST_F(Simplify, DecidedPredicatesDisappearFromLoads) {
    UOp memory = make(Op::param, dtypes::float32, {}, ParamArg{Space::global, 0, 64}),
        zero = constant(dtypes::float32, 0);
    auto load = [&](UOp when) {
        return make(Op::load, dtypes::float32, {make(Op::index, dtypes::float32, {memory, b, when}), zero});
    };
    EXPECT_BECOMES(load(b < 8), make(Op::load, dtypes::float32, {make(Op::index, dtypes::float32, {memory, b})}));
    EXPECT_BECOMES(load(number(8) < b), zero);
    EXPECT_BECOMES(load(b < 5), load(b < 5));
}

TEST_F(Simplify, CastsThatKeepTheValueDisappear) {
    UOp memory = make(Op::param, dtypes::float16, {}, ParamArg{Space::global, 0, 64});
    UOp half = make(Op::load, dtypes::float16, {make(Op::index, dtypes::float16, {memory, b})});
    EXPECT_BECOMES(cast(cast(half, dtypes::float32), dtypes::float16), half);
    EXPECT_BECOMES(cast(cast(half, dtypes::float32), dtypes::float64), cast(half, dtypes::float64));
    UOp rounded = cast(cast(half, dtypes::bfloat16), dtypes::float16);
    EXPECT_BECOMES(rounded, rounded);
    EXPECT_BECOMES(cast(cast(b, dtypes::int32), dtypes::index), b);
    EXPECT_BECOMES(cast(cast(cast(half, dtypes::int64), dtypes::int32), dtypes::int16),
                   cast(cast(half, dtypes::int64), dtypes::int16));
}

TEST_F(Simplify, SubstituteRangeGivesTheSimplifiedResult) {
    EXPECT_EQ(substitute_range((a * 8 + b) / 8 + b % 3, b, number(5)), a + 2);
}

TEST_F(Simplify, DivisibilityIsProvedFromFactors) {
    EXPECT_TRUE(proves_divisible(a * 8 + b * 4 + 12, 4));
    EXPECT_FALSE(proves_divisible(a * 8 + b * 2, 4));
    EXPECT_TRUE(proves_less(a * 8 + b, 32));
    EXPECT_FALSE(proves_less(a * 8 + b, 31));
    EXPECT_TRUE(proves_at_least(b - 2, -2));
}

TEST_F(Simplify, FloatsChangeOnlyWhereItIsExact) {
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

TEST_F(Simplify, WhatRulesMakeComesFromWhereTheyFound) {
    const UOp flat = a * 8 + b, found = flat / 8 * 3 + flat % 8;
    Places places;
    number_by_tree(places, found);
    const UOp simple = simplify(found);
    EXPECT_EQ(simple, a * 3 + b);
    EXPECT_NE(places.of(simple), 0u);
    EXPECT_NE(places.of(simple.src(0)), 0u);
}

}  // namespace
}  // namespace strata
