#include "strata/codegen/interpret/tensors.h"

#include <gtest/gtest.h>

#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

UOp buffer(DType type, int64_t size, uint64_t id = 1) { return make(Op::buffer, type, {}, BufferArg{id, size, 0}); }
UOp shaped(UOp u, Shape shape) { return make(Op::reshape, u.dtype(), {u}, ShapeArg{std::move(shape)}); }
UOp expanded(UOp u, Shape shape) { return make(Op::expand, u.dtype(), {u}, ShapeArg{std::move(shape)}); }
UOp permuted(UOp u, std::vector<int> axes) { return make(Op::permute, u.dtype(), {u}, AxesArg{std::move(axes)}); }

/// Elements of buffers count up from 0.
TensorValue count(UOp u) {
    TensorValue out(u.dtype(), {u.as<BufferArg>().size});
    for (size_t k = 0; k < out.f.size(); ++k) out.f[k] = round_to(u.dtype(), static_cast<double>(k));
    for (size_t k = 0; k < out.i.size(); ++k) out.i[k] = wrap_to(u.dtype(), static_cast<int64_t>(k));
    return out;
}
TensorValue value(UOp root) { return interpret_tensors(std::span(&root, 1), {.read = count})[0]; }

TEST(InterpretTensors, RoundsEachNodeToItsType) {
    GraphScope scope;
    const UOp x = buffer(dtypes::bfloat16, 4);
    const UOp third = alu(Op::fdiv, {x, constant(dtypes::bfloat16, 3)});
    const UOp back = alu(Op::mul, {third, constant(dtypes::bfloat16, 3)});
    const double rounded = round_to(dtypes::bfloat16, 2.0 / 3);
    EXPECT_EQ(value(back).f[2], round_to(dtypes::bfloat16, rounded * 3));
    EXPECT_NE(rounded, 2.0 / 3);
}

TEST(InterpretTensors, FollowsMovementOps) {
    GraphScope scope;
    const UOp x = shaped(buffer(dtypes::int32, 6), {2, 3});
    EXPECT_EQ(value(permuted(x, {1, 0})).i, (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
    EXPECT_EQ(value(make(Op::flip, x.dtype(), {x}, AxesArg{{1}})).i, (std::vector<int64_t>{2, 1, 0, 5, 4, 3}));
    EXPECT_EQ(value(shaped(permuted(x, {1, 0}), {6})).i, (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
    const UOp padded = make(Op::pad, x.dtype(), {x}, BoundsArg{{{0, 1}, {1, 0}}});
    EXPECT_EQ(value(padded).i, (std::vector<int64_t>{0, 0, 1, 2, 0, 3, 4, 5, 0, 0, 0, 0}));
    const UOp shrunk = make(Op::shrink, x.dtype(), {x}, BoundsArg{{{1, 2}, {1, 3}}});
    EXPECT_EQ(value(shrunk).i, (std::vector<int64_t>{4, 5}));
    EXPECT_EQ(value(expanded(shaped(shrunk, {1, 2}), {2, 2})).i, (std::vector<int64_t>{4, 5, 4, 5}));
}

TEST(InterpretTensors, MultipliesMatricesWithoutThemInMemory) {
    GraphScope scope;
    const int64_t n = 40;
    const UOp a = expanded(shaped(buffer(dtypes::float32, n * n, 1), {n, 1, n}), {n, n, n});
    const UOp b =
        expanded(shaped(permuted(shaped(buffer(dtypes::float32, n * n, 2), {n, n}), {1, 0}), {1, n, n}), {n, n, n});
    const UOp product = make(Op::reduce, dtypes::float32, {alu(Op::mul, {a, b})}, ReduceArg{Op::add, {2}});
    const TensorValue got = value(product);
    for (int64_t i = 0; i < n; i += 13)
        for (int64_t j = 0; j < n; j += 7) {
            double sum = 0;
            for (int64_t k = 0; k < n; ++k) sum += static_cast<double>((i * n + k) * (k * n + j));
            EXPECT_EQ(got.f[static_cast<size_t>(i * n + j)], round_to(dtypes::float32, sum)) << i << " " << j;
        }
}

TEST(InterpretTensors, ReducesAnyAxesOfAnyOperation) {
    GraphScope scope;
    const UOp x = shaped(buffer(dtypes::int8, 24), {2, 3, 4});
    const auto reduced = [&](Op op, std::vector<int> axes) {
        return value(make(Op::reduce, x.dtype(), {x}, ReduceArg{op, std::move(axes)})).i;
    };
    EXPECT_EQ(reduced(Op::add, {0, 2}), (std::vector<int64_t>{60, 92, 124}));
    EXPECT_EQ(reduced(Op::add, {0, 1, 2}), (std::vector<int64_t>{wrap_to(dtypes::int8, 276)}));
    EXPECT_EQ(reduced(Op::max, {1}), (std::vector<int64_t>{8, 9, 10, 11, 20, 21, 22, 23}));
    EXPECT_EQ(reduced(Op::min, {0}), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
    const UOp scan = make(Op::scan, x.dtype(), {x}, ReduceArg{Op::add, {1}});
    const std::vector<int64_t> sums = value(scan).i;
    EXPECT_EQ((std::vector<int64_t>(sums.begin(), sums.begin() + 12)),
              (std::vector<int64_t>{0, 1, 2, 3, 4, 6, 8, 10, 12, 15, 18, 21}));
}

TEST(InterpretTensors, AddsAMillionNarrowNumbersWithOneRounding) {
    GraphScope scope;
    const UOp ones = expanded(shaped(constant(dtypes::float16, 1.0 / 16), {1}), {1 << 20});
    const UOp sum = make(Op::reduce, dtypes::float16, {ones}, ReduceArg{Op::add, {0}});
    EXPECT_TRUE(std::isinf(value(sum).f[0]));  // 65536 is beyond float16
    const UOp fewer = expanded(shaped(constant(dtypes::float16, 1.0 / 16), {1}), {1 << 19});
    EXPECT_EQ(value(make(Op::reduce, dtypes::float16, {fewer}, ReduceArg{Op::add, {0}})).f[0], 32768);
}

TEST(InterpretTensors, AnIndexOutsideOfItsAxisIsAFault) {
    GraphScope scope;
    const UOp x = buffer(dtypes::float32, 5), at = buffer(dtypes::int32, 7, 2);
    try {
        (void)value(make(Op::take, x.dtype(), {x, at}, TakeArg{0}));
        FAIL() << "nothing was thrown";
    } catch (const Exception& e) {
        EXPECT_EQ(e.error().kind, ErrorKind::MemoryFault);
        EXPECT_NE(e.error().message.find("index 5 is outside of axis 0, whose size is 5"), std::string::npos);
    }
}

TEST(InterpretTensors, RunsUsersKernelsOverTheirSources) {
    GraphScope scope;
    const UOp x = buffer(dtypes::int32, 3), y = buffer(dtypes::int32, 3, 2);
    const UOp node = make(Op::custom, dtypes::none, {x, y}, CustomArg{7});
    const UOp picked = make(Op::pick, dtypes::int32, {node}, IndexArg{1});
    const UOp root = alu(Op::add, {picked, picked});
    const auto call = [&](UOp custom, std::span<const TensorValue> sources) {
        EXPECT_EQ(custom, node);
        std::vector<TensorValue> left(sources.begin(), sources.end());
        for (int64_t& element : left[1].i) element += 10;
        return left;
    };
    EXPECT_EQ(interpret_tensors(std::span(&root, 1), {.read = count, .call = call})[0].i,
              (std::vector<int64_t>{20, 22, 24}));
}

TEST(InterpretTensors, LongChainsDoNotRecurse) {
    GraphScope scope;
    UOp u = buffer(dtypes::int64, 2);
    for (int i = 0; i < 100000; ++i) u = alu(Op::add, {u, constant_int(dtypes::int64, 1)});
    EXPECT_EQ(value(u).i, (std::vector<int64_t>{100000, 100001}));
}

}  // namespace
}  // namespace strata::codegen
