#include "strata/codegen/interpret/kernel_list.h"

#include <gtest/gtest.h>

#include <cstring>

#include "strata/core/uop/kernel.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

UOp range(int64_t size, int id, Axis axis) { return uop::range(size, id, axis); }
UOp load(UOp memory, UOp at) { return uop::load(uop::at(memory, at)); }
UOp reduced(Op op, UOp value, std::vector<UOp> ranges) {
    ranges.insert(ranges.begin(), value);
    return make(Op::reduce, value.dtype(), ranges, ReduceArg{op, {}});
}

/// Runs over buffers of float32: the output, then numbers that count up.
std::vector<float> run(UOp effect, size_t outputs, size_t inputs, std::optional<Finding>* finding = nullptr) {
    Result<KernelList> list = list_kernel(uop::sink(effect, "k"));
    EXPECT_TRUE(list) << list.error().message;
    std::vector<float> out(outputs, -1), in(inputs);
    for (size_t i = 0; i < inputs; ++i) in[i] = static_cast<float>(i);
    const auto bytes = [](std::vector<float>& of) {
        return std::span(reinterpret_cast<uint8_t*>(of.data()), of.size() * sizeof(float));
    };
    const std::vector<InterpretedArgument> arguments{{dtypes::float32, bytes(out)}, {dtypes::float32, bytes(in)}};
    const std::optional<Finding> wrong = interpret(list->ops, list->launch, arguments);
    if (finding)
        *finding = wrong;
    else
        EXPECT_FALSE(wrong) << wrong->what << to_string(wrong->node);
    return out;
}

UOp output() { return uop::buffer(0, dtypes::float32, 12); }
UOp input() { return uop::buffer(1, dtypes::float32, 24); }

TEST(KernelList, RunsReductionsOverSeveralRangesAtOnce) {
    GraphScope scope;
    const UOp i = range(3, 0, Axis::global), j = range(2, 1, Axis::reduce), k = range(4, 2, Axis::unroll);
    const UOp sum = reduced(Op::add, load(input(), (i * 2 + j) * 4 + k), {j, k});
    EXPECT_EQ(run(uop::end(uop::store(uop::at(output(), i), sum), {i}), 3, 24), (std::vector<float>{28, 92, 156}));
}

TEST(KernelList, GivesReductionsOfOneRangeALoopEach) {
    GraphScope scope;
    const UOp i = range(2, 0, Axis::loop), r = range(4, 1, Axis::reduce);
    const UOp x = load(input(), i * 4 + r);
    const UOp most = reduced(Op::max, x, {r});
    const UOp sum = reduced(Op::add, alu(Op::sub, {x, most}), {r});
    EXPECT_EQ(run(uop::end(uop::store(uop::at(output(), i), sum), {i}), 2, 8), (std::vector<float>{-6, -6}));
}

TEST(KernelList, ContractsRangesToVectorsAndTakesTheirElements) {
    GraphScope scope;
    const UOp i = range(3, 0, Axis::global), v = range(4, 1, Axis::vector);
    const UOp vector = uop::contract(load(input(), i * 4 + v), std::array{v});
    const UOp second = uop::element(vector, index_const(2));
    EXPECT_EQ(run(uop::end(uop::store(uop::at(output(), i), second), {i}), 3, 12), (std::vector<float>{2, 6, 10}));
}

TEST(KernelList, ScansAlongALoop) {
    GraphScope scope;
    const UOp i = range(2, 0, Axis::loop), k = range(3, 1, Axis::loop);
    const UOp scan = make(Op::scan, dtypes::float32, {load(input(), i * 3 + k), k}, ReduceArg{Op::add, {}});
    EXPECT_EQ(run(uop::end(uop::store(uop::at(output(), i * 3 + k), scan), {i, k}), 6, 6),
              (std::vector<float>{0, 1, 3, 3, 7, 12}));
}

TEST(KernelList, ThreadsMeetAtABarrier) {
    GraphScope scope;
    const UOp block = range(2, 0, Axis::global), thread = range(6, 1, Axis::local);
    const UOp shared = uop::placeholder(6, dtypes::float32, Space::local, 0);
    const UOp filled = uop::store(uop::at(shared, thread), load(input(), block * 6 + thread));
    const UOp mirrored = index_const(5) - thread;
    const UOp met = uop::after(shared, {uop::barrier(filled)});
    const UOp effect = uop::store(uop::at(output(), block * 6 + thread), load(met, mirrored));
    EXPECT_EQ(run(uop::end(effect, {block, thread}), 12, 12),
              (std::vector<float>{5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6}));
}

TEST(KernelList, AnIndexOutsideOfItsAxisIsAFault) {
    GraphScope scope;
    const UOp i = range(4, 0, Axis::loop);
    const UOp at = alu(Op::bounded, {i + 2, index_const(5), index_const(1)});
    std::optional<Finding> finding;
    (void)run(uop::end(uop::store(uop::at(output(), i), load(input(), at)), {i}), 12, 24, &finding);
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->kind, ErrorKind::MemoryFault);
    EXPECT_NE(finding->what.find("index 5, which is outside of axis 1, whose size is 5"), std::string::npos);
}

TEST(KernelList, TheLastBlockSeesWhatOthersStored) {
    GraphScope scope;
    const UOp block = make(Op::special, dtypes::index, {}, SpecialArg{false, 0, 3});
    const UOp thread = make(Op::special, dtypes::index, {}, SpecialArg{true, 0, 4});
    const UOp stored = uop::store(uop::at(output(), block * 4 + thread), load(input(), block * 4 + thread));
    const UOp counter = uop::buffer(1, dtypes::float32, 24), zero = index_const(0), first = thread < 1;
    const UOp last = make(Op::last_block, dtypes::none, {uop::at(counter, zero, first), stored}, IndexArg{3});
    const UOp seen = uop::after(output(), {last});
    const UOp mirrored = load(seen, index_const(8) + thread);
    EXPECT_EQ(run(uop::store(uop::at(seen, thread), mirrored), 12, 24),
              (std::vector<float>{8, 9, 10, 11, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(KernelList, AMissingBarrierBetweenWavesIsFound) {
    GraphScope scope;
    const UOp thread = range(64, 0, Axis::local);
    const UOp shared = uop::placeholder(64, dtypes::float32, Space::local, 0);
    const UOp filled = uop::store(uop::at(shared, thread), load(input(), alu(Op::min, {thread, index_const(20)})));
    const UOp at_once = uop::after(shared, {filled});
    std::optional<Finding> finding;
    const UOp far = uop::at(uop::buffer(0, dtypes::float32, 64), thread);
    (void)run(uop::end(uop::store(far, load(at_once, index_const(63) - thread)), {thread}), 64, 24, &finding);
    ASSERT_TRUE(finding);
    EXPECT_NE(finding->what.find("put a barrier between them"), std::string::npos) << finding->what;
    EXPECT_TRUE(finding->node.is(Op::load));
}

}  // namespace
}  // namespace strata::codegen
