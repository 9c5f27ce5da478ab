// Which predicates of kernels a descriptor's own check stands for.
#include "strata/codegen/target/buffer_access.h"

#include <gtest/gtest.h>
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

UOp number(int64_t n) { return constant_int(dtypes::int32, n); }

/// An index of memory of 100 floats with a frozen predicate.
UOp frozen(UOp offset, UOp inside, UOp beside = {}, int64_t size = 100) {
    const UOp memory = uop::buffer(0, dtypes::float32, size);
    return uop::at(memory, offset, uop::both(beside, checked_by_descriptor(inside)));
}

class BufferAccesses : public testing::Test {
  protected:
    GraphScope scope_;
    UOp t = cast(make(Op::special, dtypes::index, {}, SpecialArg{true, 0, 64}), dtypes::int32);
    UOp b = cast(make(Op::special, dtypes::index, {}, SpecialArg{false, 0, 9}), dtypes::int32);

    static bool is_exact(UOp index) { return buffer_access(index).value().is_exact; }
};

TEST_F(BufferAccesses, AreThoseWhosePredicateHasAFrozenPart) {
    EXPECT_FALSE(buffer_access(uop::at(uop::buffer(0, dtypes::float32, 100), t)));
    EXPECT_FALSE(buffer_access(uop::at(uop::buffer(0, dtypes::float32, 100), t, t < number(100))));
    const auto access = buffer_access(frozen(t, t < number(100), b < number(3)));
    ASSERT_TRUE(access);
    EXPECT_TRUE(access->is_exact);
    ASSERT_EQ(access->others.size(), 1);
    EXPECT_EQ(access->others[0], b < number(3));
}

TEST_F(BufferAccesses, AreExactWhereTheComparisonIsOfTheOffsetAndTheSize) {
    const UOp run = b * 64 + t;
    EXPECT_TRUE(is_exact(frozen(b * 256 + t * 4, run < number(25))));
    EXPECT_TRUE(is_exact(frozen(b * 256 + t * 4 + 20, run < number(20))));
    EXPECT_FALSE(is_exact(frozen(b * 256 + t * 4 + 20, run < number(25))));
    EXPECT_FALSE(is_exact(frozen(b * 256 + t * 4, run < number(24))));
    EXPECT_FALSE(is_exact(frozen(b * 256 + t * 3, run < number(25))));
    EXPECT_FALSE(is_exact(frozen(t, b < number(100))));
}

TEST_F(BufferAccesses, AreExactAtTheLowerEndWhereItIsZero) {
    const UOp from = t - 20;
    EXPECT_TRUE(is_exact(frozen(from, uop::both(t < number(120), number(19) < t))));
    EXPECT_FALSE(is_exact(frozen(from, uop::both(t < number(120), number(18) < t))));
}

TEST_F(BufferAccesses, AreNotExactWhereBytesOfOffsetsWrap) {
    const UOp any = uop::load(uop::at(uop::buffer(1, dtypes::int32, 64), t));
    EXPECT_FALSE(is_exact(frozen(any, any < number(100))));
    constexpr int64_t kMost = int64_t{1} << 28;  // floats
    EXPECT_TRUE(is_exact(frozen(t, t < number(kMost), {}, kMost)));
    EXPECT_FALSE(is_exact(frozen(t, t < number(kMost + 1), {}, kMost + 1)));
}

TEST_F(BufferAccesses, GiveZeroWhereAllBitsAreZero) {
    EXPECT_TRUE(gives_zero(constant(dtypes::float32.vector(4), 0)));
    EXPECT_FALSE(gives_zero(constant(dtypes::float32, -0.0)));
    EXPECT_FALSE(gives_zero(constant(dtypes::float32, 1)));
    EXPECT_FALSE(gives_zero(t));
}

}  // namespace
}  // namespace strata::codegen
