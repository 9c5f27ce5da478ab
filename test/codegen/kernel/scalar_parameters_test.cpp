#include "strata/codegen/kernel/scalar_parameters.h"

#include <algorithm>

#include "build_helpers.h"

namespace strata::codegen {
namespace {

using namespace test;

std::vector<FreeNumber> numbers_of(UOp body) { return free_numbers(built(body).kernel.sink).all; }

TEST(FreeNumbers, AreThoseThatKernelsComputeWithByValue) {
    GraphScope scope;
    const UOp x = filled({64}), i = filled({64}, dtypes::int32);
    EXPECT_EQ(numbers_of(x).size(), 0u);
    EXPECT_EQ(numbers_of(x * number(2.5) + number(-1)).size(), 2u);
    EXPECT_EQ(numbers_of(x * number(2.5) + number(2.5)).size(), 1u);
    EXPECT_EQ(numbers_of(sum(filled({6, 50}), {1})).size(), 0u);  // indices and bounds are none
    const UOp seven = constant_int(dtypes::int32, 7);
    EXPECT_EQ(numbers_of(i * seven).size(), 1u);
    EXPECT_EQ(numbers_of(alu(Op::idiv, {i, seven})).size(), 0u);
    EXPECT_EQ(numbers_of(alu(Op::mod, {i, seven})).size(), 0u);
    EXPECT_EQ(numbers_of(alu(Op::shl, {i, seven})).size(), 0u);
}

TEST(FreeNumbers, HaveTheBitsOfParametersThatAreWideEnough) {
    GraphScope scope;
    EXPECT_EQ(numbers_of(filled({8}) * number(2.5))[0].bits, 0x40200000u);
    const UOp half = filled({8}, dtypes::float16), byte = filled({8}, dtypes::int8);
    EXPECT_EQ(numbers_of(half * constant(dtypes::float16, 2.5))[0].bits, 0x40200000u);
    EXPECT_EQ(numbers_of(byte * constant_int(dtypes::int8, -3))[0].bits, ~uint64_t{2});
}

TEST(FreeNumbers, AreAllThatTellsKernelsOfAFormApart) {
    GraphScope scope;
    const UOp x = filled({8});
    const auto form = [](UOp body) { return free_numbers(built(body).kernel.sink).form; };
    const uint64_t one = form(x * number(2.5) + number(-1));
    EXPECT_EQ(form(x * number(3) + number(7)), one);
    EXPECT_NE(form(x * number(3) + number(3)), one) << "one number in two places is another form";
    EXPECT_NE(form(x * number(3) - x), one);
    EXPECT_NE(form(filled({16}) * number(3) + number(7)), one);
    const UOp i = filled({8}, dtypes::int32);
    EXPECT_NE(form(alu(Op::idiv, {i, constant_int(dtypes::int32, 7)})),
              form(alu(Op::idiv, {i, constant_int(dtypes::int32, 9)})));
}

TEST(FreeNumbers, BecomeParametersAfterTheBuffers) {
    GraphScope scope;
    const UOp sink = built(filled({8}) * number(2.5) + number(-1)).kernel.sink;
    const std::vector<FreeNumber> numbers = free_numbers(sink).all;
    const UOp form = with_parameters(sink, numbers, 2);
    EXPECT_TRUE(verify_kernel(form));
    EXPECT_EQ(free_numbers(form).all.size(), 0u);
    std::vector<int> slots;
    for (UOp u : toposort(form))
        if (u.is(Op::define_var)) slots.push_back(u.as<VariableArg>().slot);
    std::ranges::sort(slots);
    EXPECT_EQ(slots, (std::vector{2, 3}));
    EXPECT_EQ(free_numbers(with_parameters(sink, std::span(numbers).first(1), 2)).all.size(), 1u);
}

}  // namespace
}  // namespace strata::codegen
