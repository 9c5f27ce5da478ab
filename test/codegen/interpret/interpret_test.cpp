#include "strata/codegen/interpret/interpret.h"

#include <gtest/gtest.h>

#include <cstring>

#include "../linear/interpreter.h"
#include "../linear/kernels.h"
#include "../linear/random_kernel.h"
#include "../target/gfx1100.h"
#include "strata/core/uop/kernel.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

using Bytes = std::vector<uint8_t>;

void put(Bytes& to, DType type, const ConstArg& value) {
    const uint64_t bits = type.is_float() ? encode_scalar(type, value.f) : static_cast<uint64_t>(value.i);
    to.insert(to.end(), reinterpret_cast<const uint8_t*>(&bits),
              reinterpret_cast<const uint8_t*>(&bits) + type.bytes());
}

/// A kernel's parameters with small whole numbers in them.
struct Parameters {
    explicit Parameters(UOp sink) {
        for (UOp u : toposort(sink)) {
            if (!u.is(Op::param) || u.as<ParamArg>().space != Space::global) continue;
            const auto [space, slot, size] = u.as<ParamArg>();
            const auto at = static_cast<size_t>(slot);
            if (types.size() <= at) types.resize(at + 1), bytes.resize(at + 1);
            types[at] = u.dtype();
            for (int64_t i = 0; i < size; ++i) {
                const int64_t v = (i * 37 + slot * 11) % 9 - 4;
                const ConstArg value =
                    u.dtype().is_float() ? ConstArg{0, static_cast<double>(v)} : ConstArg{wrap_to(u.dtype(), v), 0};
                expected[slot].push_back(value);
                put(bytes[at], u.dtype(), value);
            }
        }
    }
    std::optional<Finding> run(std::span<const UOp> ops, const InterpretedLaunch& launch) {
        std::vector<InterpretedArgument> arguments;
        for (size_t i = 0; i < types.size(); ++i) arguments.push_back({types[i], bytes[i]});
        return interpret(ops, launch, arguments);
    }
    std::vector<DType> types;
    std::vector<Bytes> bytes;
    Memory expected;
};

TEST(Interpret, GivesWhatRandomKernelsMean) {
    GraphScope scope;
    for (unsigned seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        const Kernel kernel = RandomKernel(seed).make();
        auto program = linearize(kernel, gfx1100);
        ASSERT_TRUE(program) << program.error().message;
        Parameters parameters(kernel.sink);
        Evaluator(parameters.expected).run(kernel.sink);
        const auto finding = parameters.run(program->ops, {.grid = program->grid, .block = program->block});
        ASSERT_FALSE(finding) << finding->what << "\n" << to_string(finding->node);
        for (const auto& [slot, values] : parameters.expected) {
            Bytes bytes;
            for (const ConstArg& value : values) put(bytes, parameters.types[static_cast<size_t>(slot)], value);
            ASSERT_EQ(bytes, parameters.bytes[static_cast<size_t>(slot)]) << "parameter " << slot;
        }
    }
}

/// The kernel as it is, in order of execution: no pass has seen it.
std::optional<Finding> finding_of(UOp effect, std::array<uint32_t, 3> block, std::array<uint32_t, 3> grid = {1, 1, 1}) {
    const UOp sink = uop::sink(effect, "k");
    auto ops = order(Scopes(sink));
    EXPECT_TRUE(ops) << ops.error().message;
    return Parameters(sink).run(*ops, {.grid = grid, .block = block});
}

UOp thread(int64_t size) { return make(Op::special, dtypes::index, {}, SpecialArg{true, 0, size}); }
UOp block(int64_t size) { return make(Op::special, dtypes::index, {}, SpecialArg{false, 0, size}); }
UOp number(double value) { return constant(dtypes::float32, value); }
UOp value_of(UOp i) { return cast(i, dtypes::float32); }

TEST(Interpret, NamesTheThreadThatLeavesItsMemory) {
    GraphScope scope;
    const UOp out = param(0, 60), t = thread(64);
    const auto finding = finding_of(store(at(out, t), number(1)), {64, 1, 1});
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->what, "thread (60, 0, 0) of block (0, 0, 0) writes element 60 of the tensor, which has 60");
    EXPECT_EQ(finding->kind, ErrorKind::MemoryFault);
    EXPECT_FALSE(finding_of(store(at(out, t, t < 60), number(1)), {64, 1, 1}));
}

TEST(Interpret, FindsMemoryThatIsReadBeforeItIsWritten) {
    GraphScope scope;
    const UOp out = param(0, 64), t = thread(64), lds = param(0, 65, dtypes::float32, Space::local);
    const UOp filled = after(lds, {barrier(store(at(lds, t), number(1)))});
    EXPECT_FALSE(finding_of(store(at(out, t), load(at(filled, t))), {64, 1, 1}));
    const auto finding = finding_of(store(at(out, t), load(at(filled, t + 1))), {64, 1, 1});
    ASSERT_TRUE(finding);
    EXPECT_NE(finding->what.find("reads an element that nothing has written"), std::string::npos) << finding->what;
}

TEST(Interpret, FindsWavesThatMeetWithoutABarrier) {
    GraphScope scope;
    const UOp out = param(0, 64), t = thread(64), lds = param(0, 64, dtypes::float32, Space::local);
    const UOp written = store(at(lds, t), value_of(t)), mirrored = constant_int(dtypes::index, 63) - t;
    const UOp racing = store(at(out, t), load(at(after(lds, {written}), mirrored)));
    const auto finding = finding_of(racing, {64, 1, 1});
    ASSERT_TRUE(finding);
    EXPECT_NE(finding->what.find("since the last barrier"), std::string::npos) << finding->what;
    EXPECT_FALSE(finding_of(store(at(out, t), load(at(after(lds, {barrier(written)}), mirrored))), {64, 1, 1}));
    const UOp within = store(at(out, t), load(at(after(lds, {written}), alu(Op::bit_xor, {t, index_const(1)}))));
    EXPECT_FALSE(finding_of(within, {64, 1, 1})) << "lanes of one wave need none";
}

TEST(Interpret, FindsBlocksThatWriteDifferentValuesToOneElement) {
    GraphScope scope;
    const UOp out = param(0, 1), b = block(2);
    const auto finding = finding_of(store(at(out, 0), value_of(b) + number(7)), {1, 1, 1}, {2, 1, 1});
    ASSERT_TRUE(finding);
    EXPECT_NE(finding->what.find("blocks run in any order"), std::string::npos) << finding->what;
    EXPECT_FALSE(finding_of(store(at(out, 0), number(7)), {1, 1, 1}, {2, 1, 1})) << "equal values are no race";
}

/// A thread's elements of the first parameter, which holds int32, after the kernel.
std::vector<int32_t> integers_after(UOp effect, uint32_t threads) {
    const UOp sink = uop::sink(effect, "k");
    auto ops = order(Scopes(sink));
    EXPECT_TRUE(ops) << ops.error().message;
    Parameters parameters(sink);
    const auto finding = parameters.run(*ops, {.block = {threads, 1, 1}});
    EXPECT_FALSE(finding) << finding->what;
    std::vector<int32_t> out(parameters.bytes[0].size() / 4);
    std::memcpy(out.data(), parameters.bytes[0].data(), out.size() * 4);
    return out;
}

TEST(Interpret, LetsThreadsLeaveALoopByThemselves) {
    GraphScope scope;
    const UOp out = param(0, 8, dtypes::int32), t = thread(8), r = range(0, 100, Axis::loop);
    const UOp left = uop::break_if(alu(Op::logical_not, {r < t}), r);
    const UOp place = at(after(out, {left}), t);
    EXPECT_EQ(integers_after(end(store(place, cast(r, dtypes::int32)), {r}), 8)[7], 6);
    // The place that a thread would load after it left is out of bounds.
    const UOp x = param(1, 7, dtypes::int32), next = load(at(after(x, {left}), r));
    EXPECT_EQ(integers_after(end(store(place, next), {r}), 8).size(), 8u);
}

TEST(Interpret, GivesWhatAtomicsFindAndWhatLanesHave) {
    GraphScope scope;
    const UOp out = param(0, 64, dtypes::int32), counter = param(1, 1, dtypes::int32), t = thread(64);
    const AtomicArg add{AtomicOp::add, MemoryScope::device};
    const UOp one = constant_int(dtypes::int32, 1);
    const std::vector<int32_t> tickets = integers_after(store(at(out, t), uop::atomic(at(counter, 0), add, one)), 64);
    for (size_t i = 1; i < tickets.size(); ++i) EXPECT_EQ(tickets[i], tickets[0] + static_cast<int32_t>(i));
    const UOp lane = constant_int(dtypes::int32, 35);  // modulo the wave
    const std::vector<int32_t> thirds =
        integers_after(store(at(out, t), uop::shuffle(cast(t, dtypes::int32), lane)), 64);
    EXPECT_EQ(thirds[0], 3);
    EXPECT_EQ(thirds[63], 35);
    const UOp votes = cast(uop::ballot(t < 33, dtypes::uint64), dtypes::int32);
    const std::vector<int32_t> bits = integers_after(store(at(out, t), votes), 64);
    EXPECT_EQ(bits[0], -1);
    EXPECT_EQ(bits[32], 1);
    const auto finding = finding_of(uop::group(std::array{store(at(out, t), one), uop::trap(t < 1)}), {64, 1, 1});
    ASSERT_TRUE(finding);
    EXPECT_NE(finding->what.find("comes to a trap"), std::string::npos) << finding->what;
}

TEST(Interpret, AnUpdateOutOfBoundsIsAFaultOfMemory) {
    GraphScope scope;
    const UOp counter = param(0, 4, dtypes::int32), t = thread(8), one = constant_int(dtypes::int32, 1);
    const AtomicArg add{AtomicOp::add, MemoryScope::device};
    const auto finding = finding_of(uop::effect_below(uop::atomic(at(counter, t), add, one)), {8, 1, 1});
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->kind, ErrorKind::MemoryFault);
    EXPECT_EQ(finding->what, "thread (4, 0, 0) of block (0, 0, 0) updates element 4 of the tensor, which has 4");
}

TEST(Interpret, AProductIsOfWholeWaves) {
    GraphScope scope;
    const UOp out = param(0, 8 * 48), t = thread(48);
    const std::vector<UOp> ones(16, constant(dtypes::float16, 1)), zeros(8, number(0));
    const UOp sums = uop::wmma("v_wmma_f32_16x16x16_f16", uop::vec(ones), uop::vec(ones), uop::vec(zeros));
    const UOp stored = store(at(out, t * 8), uop::lane(sums, 0));
    const auto finding = finding_of(stored, {48, 1, 1});
    ASSERT_TRUE(finding);
    EXPECT_NE(finding->what.find("is not in a product that its wave computes"), std::string::npos) << finding->what;
    EXPECT_EQ(finding->kind, ErrorKind::Check);
    EXPECT_FALSE(finding_of(store(at(param(0, 8 * 32), thread(32) * 8), uop::lane(sums, 0)), {32, 1, 1}));
}

TEST(Interpret, ObservesOneThread) {
    GraphScope scope;
    const UOp out = param(0, 8), t = thread(8), r = range(0, 3, Axis::loop);
    const UOp sum = value_of(t * 10 + r);
    const UOp sink = uop::sink(end(store(at(out, t), sum), {r}), "k");
    auto ops = order(Scopes(sink));
    ASSERT_TRUE(ops);
    std::vector<double> seen;
    InterpretedLaunch launch{.block = {8, 1, 1}, .observed_thread = {5, 0, 0}};
    launch.observe = [&](UOp u, std::span<const ConstArg> values) {
        if (u == sum) seen.push_back(values[0].f);
    };
    EXPECT_FALSE(Parameters(sink).run(*ops, launch));
    EXPECT_EQ(seen, (std::vector<double>{50, 51, 52}));
}

}  // namespace
}  // namespace strata::codegen
