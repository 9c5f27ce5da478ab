#include "strata/codegen/optimize/cost.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "../kernel/build_helpers.h"
#include "../target/gfx1100.h"
#include "strata/codegen/optimize/actions_p.h"
#include "strata/codegen/target/rates.h"

namespace strata::codegen {
namespace {

using namespace test;

/// A tensor in memory that nobody fills: its shape alone counts.
UOp unfilled(Shape shape, DType type = dtypes::float32) {
    static uint64_t next = 3'000'000;
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return reshape(make(Op::buffer, type, {}, BufferArg{next++, n, 0}), std::move(shape));
}
Kernel kernel_of(UOp body) {
    UOp output = make(Op::buffer, body.dtype(), {}, BufferArg{2'999'999, body.numel(), 0});
    return start_schedule(build_kernel({output, body}).kernel);
}
Kernel elementwise() { return kernel_of(unfilled({1024, 1024}) + number(1)); }
Kernel transposed() { return kernel_of(permute(unfilled({1024, 1024}), {1, 0})); }
Kernel row_sums() { return kernel_of(reshape(sum(unfilled({1024, 4096}), {1}), {1024})); }
Kernel product(DType type = dtypes::float32) {
    const auto factor = [&] { return cast(unfilled({512, 512}, type), dtypes::float32); };
    const UOp a = expand(reshape(factor(), {512, 1, 512}), {512, 512, 512}),
              b = expand(reshape(permute(factor(), {1, 0}), {1, 512, 512}), {512, 512, 512});
    return kernel_of(reshape(sum(a * b, {2}), {512, 512}));
}

StaticCost cost(const Kernel& kernel, std::string_view actions, const Target& target = gfx1100) {
    Result<Kernel> made = apply_all(kernel, parse_actions(actions).value(), target);
    EXPECT_TRUE(made) << actions << ": " << made.error().message;
    return made ? static_cost(*made, target) : StaticCost{};
}

struct Order {
    Kernel (*kernel)();
    const char *cheaper, *dearer;
};

/// Facts known of cards; test/asm/emu/observe has the same of the timing model.
TEST(StaticCost, OrdersSchedulesAsCardsDo) {
    GraphScope scope;
    const Order orders[] = {
        {elementwise, "local(0, 256)", ""},             // waves with one lane at work
        {elementwise, "local(0, 256)", "local(0, 8)"},  //
        {elementwise, "upcast(0, 4) local(0, 256)",
         "local(0, 64) upcast(0, 4)"},  // neighbours are one access of a thread
        {transposed, "upcast(0, 4) upcast(1, 4) local(1, 16) local(0, 16)", "local(0, 256)"},
        {transposed, "upcast(0, 4) upcast(1, 4) local(1, 16) local(0, 16)", "local(1, 256)"},
        {row_sums, "unroll(0, 4) group(0, 256)", "local(0, 256)"},  // lanes along memory, not rows apart
        {row_sums, "unroll(0, 4) group(0, 256)", ""},
        {+[] { return product(); }, "upcast(1, 4) upcast(0, 4) local(1, 16) local(0, 16)", "local(1, 16) local(0, 16)"},
        {+[] { return product(); }, "upcast(1, 4) local(1, 16) upcast(0, 4) local(0, 16) unroll(0, 4)",
         "local(1, 256)"},
    };
    for (const auto& [kernel, cheaper, dearer] : orders)
        EXPECT_LT(cost(kernel(), cheaper).clocks(), cost(kernel(), dearer).clocks()) << cheaper << " | " << dearer;
}

TEST(StaticCost, PartsAreWhatTheyAreNamedFor) {
    GraphScope scope;
    const StaticCost plain = cost(elementwise(), "local(0, 256)"),
                     wide = cost(elementwise(), "upcast(0, 4) local(0, 256)");
    EXPECT_EQ(plain.memory, wide.memory) << "the same lines, each once";
    EXPECT_NEAR(plain.memory, 8.0 * (1 << 20) / rates_of(isa::Arch::gfx1100).dram_bytes, 1)
        << "8 MiB at the rate of DRAM";
    EXPECT_LT(wide.dispatch, plain.dispatch);
    EXPECT_EQ(plain.local, 0);
    EXPECT_EQ(plain.matrix, 0);
    const StaticCost bare = cost(product(), "upcast(1, 4) local(1, 16) upcast(0, 4) local(0, 16)"),
                     staged = cost(product(), "upcast(1, 4) local(1, 16) upcast(0, 4) local(0, 16) stage(0, 8)");
    EXPECT_GT(staged.local, 0);
    EXPECT_LT(staged.lines, bare.lines / 2) << "operands come to a block once";
    const StaticCost matrices = cost(product(dtypes::float16), "matrix(0, 0)");
    EXPECT_GT(matrices.matrix, 0);
    EXPECT_LT(matrices.vector, bare.vector);
    const StaticCost apart = cost(transposed(), "local(0, 32)"), along = cost(transposed(), "local(1, 32)");
    EXPECT_GT(std::max(apart.lines, along.lines), 4 * plain.lines);
}

/// Blocks of two by two waves, each with a tile of one instruction; the operand b is turned as it is stored.
constexpr const char* kMatrices = "matrix(0, 0) local(1, 2) local(0, 2) ";

TEST(StaticCost, MatricesThatAreReadAheadWaitOnlyForWhatAStepDoesNotTake) {
    GraphScope scope;
    const Target cdna = target_of(isa::Arch::gfx942);
    const std::string staged = std::string(kMatrices) + "stage(0, 4)";
    const Kernel in16bits = product(dtypes::float16);
    Target waits = cdna;
    waits.ahead = Ahead::registers;  // whose costs are those of a step that waits for its loads
    const double memory = rates_of(isa::Arch::gfx942).memory_clocks, steps = 16;
    EXPECT_LT(cost(in16bits, staged, cdna).latency, cost(in16bits, staged, waits).latency - steps / 4 * memory);
    waits = gfx1100, waits.ahead = Ahead::registers;
    EXPECT_EQ(cost(in16bits, staged).latency, cost(in16bits, staged, waits).latency)
        << "sums and operands share registers there";
}

/// Rows of 64 float32 of a matrix, which begin at each multiple of `pitch` elements.
Kernel rows_apart(int64_t pitch) {
    return kernel_of(shrink(unfilled({4096, pitch}), {{0, 4096}, {0, 64}}) + number(1));
}

TEST(StaticCost, RowsThatBeginBetweenLinesReadOneLineMore) {
    GraphScope scope;
    const Target cdna = target_of(isa::Arch::gfx942);
    const auto memory = [&](int64_t pitch) { return cost(rows_apart(pitch), "local(1, 64)", cdna).memory; };
    EXPECT_GT(memory(1040), 1.1 * memory(1024));
    EXPECT_EQ(memory(2048), memory(1024));
}

TEST(StaticCost, LanesBesideEachOtherCopyRowsThatNoWideAccessFits) {
    GraphScope scope;
    const auto lines = [&](int64_t columns) {
        const UOp a = unfilled({64, 64}), b = shrink(unfilled({64, columns}), {{0, 64}, {0, 64}});
        const UOp rows = expand(reshape(a, {64, 1, 64}), {64, 64, 64}),
                  of_b = expand(reshape(permute(b, {1, 0}), {1, 64, 64}), {64, 64, 64});
        return cost(kernel_of(reshape(sum(rows * of_b, {2}), {64, 64})),
                    "upcast(1, 4) local(1, 16) upcast(0, 4) local(0, 16) stage(0, 16)")
            .lines;
    };
    EXPECT_LT(lines(65), 1.5 * lines(64)) << "with four elements apart each lane has a line of its own";
}

TEST(StaticCost, WavesOfABlockShareItsUnitFromBarrierToBarrier) {
    GraphScope scope;
    const Target cdna = target_of(isa::Arch::gfx942);
    const auto latency = [&](const char* waves) {
        return cost(product(dtypes::float16), std::string("matrix(0, 0) ") + waves + " stage(0, 8)", cdna).latency;
    };
    EXPECT_GT(latency("local(1, 4) local(0, 4)"), latency("local(1, 2) local(0, 2)"))
        << "sixteen waves of a block keep its unit busy longer than four";
}

TEST(StaticCost, EveryScheduleInReachHasOneAndAlwaysTheSame) {
    GraphScope scope;
    for (const isa::ArchInfo& arch : isa::first_archs()) {
        const Target target = target_of(arch.arch);
        for (const Kernel& kernel : {elementwise(), transposed(), row_sums(), product(), product(dtypes::float16)})
            for (size_t row = 0; row < action_rows().size(); ++row)
                for (int64_t amount : action_rows()[row].amounts)
                    for (int axis = 0; axis < 2; ++axis) {
                        const Action action{static_cast<ActionKind>(row), axis, amount};
                        const Result<Kernel> made = apply(kernel, action, target);
                        if (!made) continue;
                        const double clocks = static_cost(*made, target).clocks();
                        EXPECT_GT(clocks, 0) << to_string(action);
                        EXPECT_LT(clocks, 1e12) << to_string(action);
                        EXPECT_EQ(clocks, static_cost(*made, target).clocks()) << to_string(action);
                    }
    }
}

}  // namespace
}  // namespace strata::codegen
