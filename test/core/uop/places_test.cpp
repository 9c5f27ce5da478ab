#include "strata/core/uop/places.h"

#include <gtest/gtest.h>

#include "strata/core/uop/kernel.h"
#include "strata/core/uop/walk.h"

namespace strata {
namespace {

UOp number(int slot) { return uop::variable(slot, dtypes::int32); }

/// Numbers nodes by a count that the test changes.
class Counted : public Places {
  public:
    uint32_t now = 0;

  private:
    uint32_t here() override { return now; }
};

TEST(Places, NewNodesGetTheCurrentNumberAndKeepTheirFirst) {
    GraphScope scope;
    const UOp a = number(0), b = number(1);
    Counted places;
    places.now = 3;
    const UOp sum = a + b;
    places.now = 4;
    EXPECT_EQ(places.of(a + b), 3u);
    EXPECT_EQ(places.of(sum * b), 4u);
    EXPECT_EQ(places.of(a), 0u) << "made before";
    EXPECT_EQ(places.of(constant_int(dtypes::int32, 71)), 0u) << "constants are everywhere alike";
}

TEST(Places, AReplacementComesFromWhereWhatItReplacesDoes) {
    GraphScope scope;
    const UOp a = number(0), b = number(1), c = number(2);
    Counted places;
    places.now = 5;
    const UOp sum = a + b, product = sum * a;
    places.now = 0;
    const UOp replaced = substitute(product, {{b, c}});
    EXPECT_EQ(places.of(replaced), 5u);
    EXPECT_EQ(places.of(replaced.src(0)), 5u);
}

TEST(Places, WhatAPassMakesForANodeComesFromThatNode) {
    GraphScope scope;
    const UOp a = number(0), b = number(1);
    const UOp sum = a + b;
    Places places;
    number_by_tree(places, sum);
    const uint32_t line = places.of(sum);
    EXPECT_EQ(line, 3u) << tree(sum);
    const UOp made = rebuild(sum, [&](UOp u, std::span<const UOp> sources) {
        return u == sum ? alu(Op::sub, {sources[0], sources[1]}) : u.with_src(sources);
    });
    EXPECT_EQ(places.of(made), line);
    EXPECT_EQ(places.of(a - a * b), 0u) << "outside of a pass";
}

TEST(Places, ObjectsNestAndAreNoPartOfANode) {
    GraphScope scope;
    const UOp a = number(0), b = number(1);
    EXPECT_EQ(Places::active(), nullptr);
    UOp first, second;
    {
        Counted outer;
        outer.now = 1;
        first = a * b;
        {
            Counted inner;
            EXPECT_EQ(Places::active(), &inner);
            inner.now = 2;
            second = a * b;
            EXPECT_EQ(inner.of(second), 2u);
        }
        EXPECT_EQ(Places::active(), &outer);
        EXPECT_EQ(outer.of(first), 1u);
    }
    EXPECT_EQ(first, second);
    EXPECT_EQ(Places::active(), nullptr);
}

}  // namespace
}  // namespace strata
