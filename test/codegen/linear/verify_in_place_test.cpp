#include "strata/codegen/linear/verify_in_place.h"

#include <array>
#include <functional>

#include "../target/gfx1100.h"
#include "kernels.h"
#include "strata/codegen/kernel/dynamic_shapes.h"
#include "strata/core/uop/kernel.h"

// An output may be in the memory of an input where every element is read before it is stored, whatever else threads do.
namespace strata::codegen {
namespace {

constexpr int64_t kDown = 6, kAcross = 40;

/// The verifier's error for output 0 in the memory of input 1, empty if there is none. slots: the launch's values by
/// slot.
std::string said(const Kernel& kernel, std::span<const uint64_t> slots = {}) {
    const Result<LinearProgram> program = linearize(kernel, gfx1100);
    EXPECT_TRUE(program) << program.error().message;
    const executable::InPlace pair{0, 1};
    const Result<void> checked = verify_in_place(*program, std::span(&pair, 1), slots);
    return checked ? "" : checked.error().message;
}

struct SameSize {
    UOp out = param(0, kDown* kAcross), in = param(1, kDown* kAcross);
    UOp row(Axis axis) const { return range(0, kDown, axis); }
    UOp column(Axis axis) const { return range(1, kAcross, axis); }
};

TEST(VerifyInPlace, ElementsThatEachThreadReadsAndStoresAreApart) {
    GraphScope scope;
    const SameSize m;
    for (Axis axis : {Axis::loop, Axis::global, Axis::local, Axis::upcast}) {
        const UOp r = m.row(Axis::global), c = m.column(axis), place = r * kAcross + c;
        EXPECT_EQ(said(kernel("k", end(store(at(m.out, place), load(at(m.in, place)) + 1.0), {r, c}))), "");
    }
}

TEST(VerifyInPlace, AnElementThatAnotherThreadOrLaterStepReadsIsFound) {
    GraphScope scope;
    const SameSize m;
    for (Axis axis : {Axis::loop, Axis::global, Axis::local}) {
        const UOp r = m.row(Axis::global), c = m.column(axis);
        const UOp turned = r * kAcross + (c * -1 + (kAcross - 1));
        EXPECT_NE(said(kernel("k", end(store(at(m.out, r * kAcross + c), load(at(m.in, turned))), {r, c}))), "");
    }
}

/// Rows less the sums of columns, in the order of loops that ids give.
Kernel centred(int row_id, int column_id) {
    const SameSize m;
    const UOp r = range(row_id, kDown, Axis::reduce), c = range(column_id, kAcross, Axis::loop);
    const UOp x = load(at(m.in, r * kAcross + c));
    return kernel("k", end(store(at(m.out, r * kAcross + c), x - reduce(Op::add, x, {r})), {r, c}));
}

TEST(VerifyInPlace, ASumThatIsTakenAgainInTheLoopOfItsStoresIsFound) {
    GraphScope scope;
    EXPECT_EQ(said(centred(1, 0)), "");
    EXPECT_NE(said(centred(0, 1)), "");
}

TEST(VerifyInPlace, ABarrierBetweenReadsAndStoresOfABlockIsSeen) {
    GraphScope scope;
    const UOp out = param(0, 64), in = param(1, 64), held = param(2, 64, dtypes::float32, Space::local);
    const UOp i = range(0, 64, Axis::local), turned = i * -1 + 63;
    const UOp stored = store(at(held, i), load(at(in, i)));
    const auto last = [&](UOp memory) { return end(store(at(out, i), load(at(memory, turned))), {i}); };
    EXPECT_EQ(said(kernel("k", last(after(held, {barrier(stored)})))), "");
}

TEST(VerifyInPlace, WhatOneThreadStoresOthersMayLoadInVain) {
    GraphScope scope;
    const UOp out = param(0, 8), in = param(1, 8), g = range(0, 8, Axis::global), t = range(1, 32, Axis::local);
    const UOp value = load(at(in, g)) + 1.0;
    EXPECT_EQ(said(kernel("k", end(store(at(out, g, t < 1), value), {g, t}))), "");
    const UOp all = param(2, 256),
              both = uop::group(std::array{store(at(out, g, t < 1), value), store(at(all, g * 32 + t), value)});
    EXPECT_NE(said(kernel("k", end(both, {g, t}))), "");
}

TEST(VerifyInPlace, AnAddressThatMemoryGivesMayBeAnyElement) {
    GraphScope scope;
    const UOp out = param(0, 64), in = param(1, 64), which = param(2, 64, dtypes::int32);
    const UOp i = range(0, 64, Axis::global);
    const UOp place = cast(load(at(which, i)), dtypes::index);
    EXPECT_NE(said(kernel("k", end(store(at(out, i), load(at(in, place))), {i}))), "");
}

TEST(VerifyInPlace, LargeProgramsAreSampledAtBothEnds) {
    GraphScope scope;
    const int64_t size = int64_t{1} << 28;
    const UOp out = param(0, size), in = param(1, size), i = range(0, size, Axis::global);
    EXPECT_EQ(said(kernel("k", end(store(at(out, i), load(at(in, i))), {i}))), "");
    EXPECT_NE(said(kernel("k", end(store(at(out, i), load(at(in, i * -1 + (size - 1)))), {i}))), "");
}

/// A kernel for any number of rows of 8 elements, built for `rows`. Row r of the output reads row at_row(r) of the
/// input.
AnySize any_rows(int64_t rows, Axis axis, const std::function<UOp(UOp)>& at_row) {
    const UOp out = param(0, rows * 8), in = param(1, rows * 8), r = range(0, rows, axis), c = range(1, 8, Axis::loop);
    const UOp sum = store(at(out, r * 8 + c), load(at(in, at_row(r) * 8 + c)) + 1.0);
    const UOp sink = kernel("k", end(sum, {r, c})).sink;
    return with_any_size(sink, std::vector<bool>(sizes_of(sink)->values.size(), true), 2);
}
std::string said_of(const AnySize& any) {
    std::vector<uint64_t> slots(2);
    slots.insert(slots.end(), any.numbers.begin(), any.numbers.end());
    return said({any.sink, "k"}, slots);
}

TEST(VerifyInPlace, ProgramsForAnySizeAreWalkedWithTheNumbersOfTheLaunch) {
    GraphScope scope;
    for (const int64_t rows : {5, 40, 1 << 12, 3'000'001})
        for (Axis axis : {Axis::loop, Axis::global}) {
            const AnySize apart = any_rows(rows, axis, [](UOp r) { return r; });
            ASSERT_FALSE(apart.numbers.empty());
            EXPECT_EQ(said_of(apart), "") << rows;
            EXPECT_NE(said_of(any_rows(rows, axis, [&](UOp r) { return r * -1 + (rows - 1); })), "") << rows;
        }
}

TEST(VerifyInPlace, ANumberThatNoLaunchGivesMayBeAny) {
    GraphScope scope;
    EXPECT_NE(said({any_rows(40, Axis::global, [](UOp r) { return r; }).sink, "k"}), "");
}

}  // namespace
}  // namespace strata::codegen
