#include "strata/core/uop/verify.h"

#include <gtest/gtest.h>

namespace strata {
namespace {

UOp param(int slot, DType t = dtypes::float32) { return make(Op::param, t, {}, ParamArg{Space::global, slot, 64}); }
UOp axis(int id, Axis kind = Axis::loop, DType t = dtypes::index) {
    return make(Op::range, t, {}, RangeArg{id, 8, kind});
}
UOp place(UOp memory, UOp offset) { return make(Op::index, memory.dtype(), {memory, offset}); }
UOp load(UOp memory, UOp offset) { return make(Op::load, memory.dtype(), {place(memory, offset)}); }
UOp store(UOp memory, UOp offset, UOp value) { return make(Op::store, dtypes::none, {place(memory, offset), value}); }
UOp end(UOp effect, UOp range) { return make(Op::end, dtypes::none, {effect, range}); }
UOp sink(UOp effect) { return make(Op::sink, dtypes::none, {effect}, SinkArg{}); }
UOp sum(UOp value, UOp range) { return make(Op::reduce, value.dtype(), {value, range}, ReduceArg{Op::add, {}}); }

void expect_fault(const Result<void>& result, const std::string& text) {
    ASSERT_FALSE(result.has_value()) << "nothing was found; expected: " << text;
    EXPECT_EQ(result.error().kind, ErrorKind::Internal);
    EXPECT_NE(result.error().message.find(text), std::string::npos) << result.error().message;
    EXPECT_NE(result.error().message.find("%0 = "), std::string::npos)
        << "the tree is missing: " << result.error().message;
}

TEST(VerifyTensor, AcceptsAReductionOverAView) {
    UOp x = make(Op::buffer, dtypes::float32, {}, BufferArg{1, 12, 0});
    UOp rows = make(Op::reshape, dtypes::float32, {x}, ShapeArg{{3, 4}});
    UOp total = make(Op::reduce, dtypes::float32, {rows + constant(dtypes::float32, 1)}, ReduceArg{Op::max, {1}});
    Result<void> result = verify_tensor(total);
    EXPECT_TRUE(result.has_value()) << result.error().message;
}

TEST(VerifyTensor, NamesWhatDoesNotBelong) {
    UOp x = make(Op::buffer, dtypes::float32, {}, BufferArg{1, 12, 0});
    expect_fault(verify_tensor(cast(axis(0), dtypes::float32)), "range has no place in a tensor graph");
    UOp rows = make(Op::reshape, dtypes::float32, {x}, ShapeArg{{3, 4}});
    expect_fault(verify_tensor(make(Op::reduce, dtypes::float32, {rows}, ReduceArg{Op::add, {1, 1}})),
                 "axis 1 of (3, 4)");
    expect_fault(verify_tensor(make(Op::reduce, dtypes::float32, {rows}, ReduceArg{Op::sub, {1}})), "reduces with");
    expect_fault(verify_tensor(make(Op::scan, dtypes::float32, {rows}, ReduceArg{Op::add, {0, 1}})), "along one axis");
    expect_fault(verify_tensor(make(Op::scan, dtypes::float32, {rows}, ReduceArg{Op::add, {2}})), "axis 2 of (3, 4)");
    expect_fault(verify_tensor(make(Op::contiguous, dtypes::int32, {x})), "changes the type");
    expect_fault(verify_tensor(make(Op::iota, dtypes::int32, {}, ShapeArg{{4}}) +
                               make(Op::take, dtypes::int32,
                                    {make(Op::iota, dtypes::int32, {}, ShapeArg{{4}}),
                                     cast(make(Op::iota, dtypes::int32, {}, ShapeArg{{4}}), dtypes::float32)},
                                    TakeArg{0})),
                 "integer places");
}

TEST(VerifyKernel, AcceptsALoopAroundAReduction) {
    UOp r0 = axis(0), r1 = axis(1, Axis::reduce);
    Result<void> result = verify_kernel(sink(end(store(param(0), r0, sum(load(param(1), r0 * 8 + r1), r1)), r0)));
    EXPECT_TRUE(result.has_value()) << result.error().message;
}

TEST(VerifyKernel, FindsRangesThatNothingCloses) {
    UOp r0 = axis(0), r1 = axis(1, Axis::reduce);
    expect_fault(verify_kernel(sink(store(param(0), r0, load(param(1), r0)))), "nothing closes it");
    UOp leaked = sum(load(param(1), r1), r1) + load(param(1), r1);
    expect_fault(verify_kernel(sink(end(store(param(0), r0, leaked), r0))), "used outside");
}

TEST(VerifyKernel, FindsRangesClosedTwiceOrSharingAnId) {
    UOp r0 = axis(0), r1 = axis(1, Axis::reduce);
    UOp effect = end(store(param(0), r0, load(param(1), r0)), r0);
    expect_fault(verify_kernel(sink(end(effect, r0))), "is closed by");
    UOp twin = axis(0, Axis::reduce);
    expect_fault(verify_kernel(sink(end(store(param(0), r0, sum(load(param(1), r0 + twin), twin)), r0))),
                 "another range has this id");
    EXPECT_TRUE(
        verify_kernel(sink(end(store(param(0), r0, sum(load(param(1), r1), r1) + sum(load(param(2), r1), r1)), r0)))
            .has_value());
}

TEST(VerifyKernel, TakesARowThatIsReducedAndWalkedAgain) {
    UOp r0 = axis(0), r1 = axis(1, Axis::reduce);
    const auto row = [](UOp r) { return store(param(0), r, load(param(1), r) - sum(load(param(1), r), r)); };
    EXPECT_TRUE(verify_kernel(sink(end(row(r1), r1))).has_value());
    expect_fault(verify_kernel(sink(end(row(r0), r0))), "is closed by");
    expect_fault(verify_kernel(sink(end(end(row(r1), r1), r1))), "is closed by");
}

TEST(VerifyKernel, ChecksMemoryNodes) {
    UOp r0 = axis(0);
    auto kernel = [&](UOp value) { return verify_kernel(sink(end(store(param(0), r0, value), r0))); };
    UOp predicate = r0 < 4, predicated = make(Op::index, dtypes::float32, {param(1), r0, predicate});
    EXPECT_TRUE(kernel(make(Op::load, dtypes::float32, {predicated, constant(dtypes::float32, 0)})).has_value());
    expect_fault(kernel(make(Op::load, dtypes::float32, {predicated})), "a predicated index needs a value");
    expect_fault(kernel(constant(dtypes::int32, 0)), "the memory holds float32");
    expect_fault(kernel(load(constant(dtypes::float32, 1), r0)), "which is no param");
    expect_fault(kernel(make(Op::load, dtypes::float32,
                             {make(Op::index, dtypes::float32, {param(1), constant(dtypes::float32, 0)})})),
                 "the offset is");
    expect_fault(kernel(make(Op::buffer, dtypes::float32, {}, BufferArg{1, 4, 0})), "buffer float32");
    EXPECT_FALSE(verify_kernel(store(param(0), r0, load(param(1), r0))).has_value());
}

TEST(VerifyKernel, ChecksWhichWavesAndBlocksGoOn) {
    const UOp zero = make(Op::constant, dtypes::index, {}, ConstArg{0, 0}),
              counter = place(param(1, dtypes::int32), zero);
    const UOp stored = store(param(0), zero, constant(dtypes::float32, 1));
    const auto first_wave = [](UOp thread, UOp effect, int threads) {
        return make(Op::first_wave, dtypes::none, {thread, effect}, IndexArg{threads});
    };
    const auto last_block = [](std::initializer_list<UOp> sources, int blocks = 2) {
        return sink(make(Op::last_block, dtypes::none, sources, IndexArg{blocks}));
    };
    const UOp one_wave = first_wave(zero, stored, 32);
    EXPECT_TRUE(verify_kernel(sink(one_wave)));
    EXPECT_TRUE(verify_kernel(last_block({counter, one_wave})));
    expect_fault(verify_kernel(sink(first_wave(zero, stored, 0))), "counts threads");
    expect_fault(verify_kernel(sink(first_wave(constant(dtypes::float32, 1), stored, 32))), "the number of a thread");
    expect_fault(verify_kernel(sink(first_wave(zero, zero, 32))), "lists effects");
    expect_fault(verify_kernel(last_block({counter, one_wave}, 0)), "counts blocks");
    expect_fault(verify_kernel(last_block({counter, counter, stored})), "takes a counter");
    expect_fault(verify_kernel(last_block({place(param(0), zero), one_wave})), "counts in an int32 of global memory");
}

TEST(VerifyKernel, ChecksWhichLoopsThreadsLeave) {
    const UOp r = axis(0);
    const auto leave = [](UOp condition, UOp range) { return make(Op::break_if, dtypes::none, {condition, range}); };
    const auto loop = [&](UOp left, UOp range) {
        const UOp to = make(Op::after, dtypes::float32, {param(0), left});
        return verify_kernel(sink(end(store(to, range, constant(dtypes::float32, 1)), range)));
    };
    const Result<void> result = loop(leave(r < 4, r), r);
    EXPECT_TRUE(result) << result.error().message;
    expect_fault(loop(leave(r, r), r), "its condition is");
    expect_fault(loop(leave(r < 4, r + r), r), "leaves the loop of a range");
    const UOp local = axis(1, Axis::local), copied = axis(2, Axis::upcast), row = axis(3, Axis::reduce);
    expect_fault(loop(leave(local < 4, local), local), "is no serial loop");
    const UOp of_copies = make(Op::after, dtypes::float32, {param(0), leave(copied < r, r)});
    expect_fault(verify_kernel(sink(end(end(store(of_copies, copied, constant(dtypes::float32, 1)), r), copied))),
                 "whose steps a thread makes together");
    const UOp of_row = make(Op::after, dtypes::float32, {param(1), leave(row < 4, row)});
    expect_fault(verify_kernel(sink(store(param(0), constant_int(dtypes::index, 0), sum(load(of_row, row), row)))),
                 "has all steps of");
}

TEST(VerifyKernel, ChecksAtomics) {
    const UOp zero = constant_int(dtypes::index, 0), word = place(param(0, dtypes::uint32), zero),
              real = place(param(1), zero);
    const auto fault = [](AtomicOp what, std::initializer_list<UOp> sources) {
        const Result<void> result =
            verify_kernel(sink(make(Op::atomic, dtypes::none, sources, AtomicArg{what, MemoryScope::device})));
        return result ? std::string() : result.error().message;
    };
    const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
    const UOp one = constant_int(dtypes::uint32, 1), half = constant(dtypes::float32, 0.5);
    EXPECT_EQ(fault(AtomicOp::inc, {word, one}), "");
    EXPECT_EQ(fault(AtomicOp::compare_exchange, {word, one, one}), "");
    EXPECT_TRUE(has(fault(AtomicOp::compare_exchange, {word, one}), "has an expected value"));
    EXPECT_TRUE(has(fault(AtomicOp::add, {word, one, one}), "has an expected value"));
    EXPECT_TRUE(has(fault(AtomicOp::add, {word, half}), "the memory holds uint32"));
    EXPECT_TRUE(has(fault(AtomicOp::bit_or, {real, half}), "is no integer"));
    EXPECT_TRUE(has(fault(AtomicOp::inc, {real, half}), "counts without sign"));
    EXPECT_TRUE(has(fault(AtomicOp::add, {one, one}), "writes to an index"));
}

TEST(VerifyLinear, FollowsLoopsAndValues) {
    DType t = dtypes::int32;
    UOp out = param(0), in = param(1), r = axis(0, Axis::loop, t), s = axis(1, Axis::reduce, t);
    UOp from = place(in, r), value = make(Op::load, dtypes::float32, {from}), to = place(out, r);
    UOp effect = make(Op::store, dtypes::none, {to, value}), close = end(effect, r);
    Result<void> result = verify_linear(std::vector{out, in, r, from, value, to, effect, close});
    EXPECT_TRUE(result.has_value()) << result.error().message;
    expect_fault(verify_linear(std::vector{out, in, from, r, value, to, effect, close}), "is not computed here");
    expect_fault(verify_linear(std::vector{out, in, r, from, value, to, effect}), "a loop without end");
    expect_fault(verify_linear(std::vector{out, in, r, s, from, value, to, effect, close, end(effect, s)}),
                 "is not the innermost loop");
    expect_fault(verify_linear(std::vector{out, in, r, from, value, to, effect, close, value + value}),
                 "is not computed here");
    expect_fault(verify_linear(std::vector{axis(0)}), "machine types");
    expect_fault(verify_linear(std::vector{axis(0, Axis::upcast, t)}), "only serial loops");
    expect_fault(verify_linear(std::vector{s, value, sum(value, s)}), "");
}

}  // namespace
}  // namespace strata
