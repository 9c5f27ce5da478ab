#include "strata/codegen/kernel/last_block.h"

#include <algorithm>

#include "../kernel/build_helpers.h"
#include "../target/gfx1100.h"
#include "strata/codegen/kernel/build.h"
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/optimize/action.h"
#include "strata/codegen/schedule/named_storage.h"

// Code that the last block of a kernel runs by itself: actions leave it alone, the threads of the block share it.
namespace strata::codegen {
namespace {

using namespace test;

/// The one kernel of a graph, which has a finish.
Kernel with_finish_of(UOp root) {
    NamedStorage storage;
    const Schedule schedule = make_schedule(std::vector{root}, storage);
    EXPECT_EQ(schedule.items.size(), 1u);
    const Kernel kernel = start_schedule(build_kernel(schedule.items[0]).kernel);
    EXPECT_TRUE(finish_of(kernel.sink));
    return kernel;
}

std::vector<UOp> examples() {
    return {sum(filled({1 << 18}), {0}), sum(filled({3, 40009}), {1}), sum(filled({1 << 17, 2}), {0}),
            reduce(filled({7, 1 << 15}), Op::max, {1})};
}

TEST(Finish, ActionsChangeWhatAllBlocksComputeAlone) {
    GraphScope scope;
    for (UOp root : examples()) {
        const Kernel kernel = with_finish_of(root), first = without_finish(kernel);
        const Scheduled found = heuristic(kernel, gfx1100), alone = heuristic(first, gfx1100);
        EXPECT_EQ(found.actions, alone.actions);
        EXPECT_EQ(without_finish(found.kernel).sink, alone.kernel.sink);
        EXPECT_EQ(finish_of(found.kernel.sink), finish_of(kernel.sink));
        for (UOp r : axes_of(kernel, ActionKind::pad)) EXPECT_LT(range_arg(r).id, kFirstFinishId);
    }
}

TEST(Finish, IsForAsManyThreadsAsTheBlockOrItsFirstWaveHas) {
    GraphScope scope;
    const auto threads = [](const Kernel& kernel) {
        const Kernel spread = spread_finish(kernel, gfx1100);
        EXPECT_EQ(without_finish(spread).sink, without_finish(kernel).sink);
        return block_size({finish_of(spread.sink), ""});
    };
    for (UOp root : examples()) {
        const Kernel start = with_finish_of(root), kernel = heuristic(start, gfx1100).kernel;
        EXPECT_EQ(threads(start), block_size(start)) << tree(root);
        const bool of_reductions = std::ranges::none_of(ranges(without_finish(kernel.sink)),
                                                        [](UOp r) { return range_arg(r).axis == Axis::local; });
        EXPECT_EQ(threads(kernel), of_reductions ? 32 : block_size(kernel)) << tree(kernel.sink);
    }
}

Kernel by_hand(UOp root, std::string_view actions) {
    return apply_all(with_finish_of(root), parse_actions(actions).value(), gfx1100).value();
}

TEST(Finish, OfOneWaveWantsLittleToDoAndThreadZeroToStoreAll) {
    GraphScope scope;
    const auto is_of_one_wave = [](const Kernel& kernel) {
        return block_size({finish_of(spread_finish(kernel, gfx1100).sink), ""}) < block_size(kernel);
    };
    EXPECT_TRUE(is_of_one_wave(by_hand(sum(filled({1 << 18}), {0}), "group(0, 256)")));
    EXPECT_FALSE(is_of_one_wave(by_hand(sum(filled({1 << 18}), {0}), "local(0, 2) group(0, 128)")))
        << "two threads store";
    EXPECT_FALSE(is_of_one_wave(by_hand(sum(filled({1 << 18}), {0}), "group(0, 32)"))) << "a block is one wave";
    EXPECT_FALSE(is_of_one_wave(by_hand(sum(filled({1 << 26}), {0}), "group(0, 256)"))) << "much to do";
}

TEST(Finish, WavesBehindTheLastBarrierEndWhereOneFinishes) {
    GraphScope scope;
    const auto order_of = [](std::string_view actions) {
        const Kernel kernel = spread_finish(by_hand(sum(filled({1 << 18}), {0}), actions), gfx1100);
        const LinearProgram program = linearize(kernel, gfx1100).value();
        std::vector<Op> order;
        for (UOp u : program.ops) {
            if (u.is(Op::barrier) || u.is(Op::first_wave) || u.is(Op::last_block)) order.push_back(u.op());
            if (u.is(Op::first_wave)) EXPECT_EQ(u.as<IndexArg>().index, 32);
            if (u.is(Op::last_block)) EXPECT_EQ(u.src(1).is(Op::index), order.size() < 2 || order[1] != Op::first_wave);
        }
        return order;
    };
    EXPECT_EQ(order_of("group(0, 256)"), (std::vector{Op::barrier, Op::first_wave, Op::last_block}));
    EXPECT_EQ(order_of("group(0, 32)"), (std::vector{Op::last_block}));
}

TEST(Finish, ComesBehindAllThatBlocksDoWithACounterBehindAllParameters) {
    GraphScope scope;
    for (UOp root : examples()) {
        const Kernel kernel = spread_finish(heuristic(with_finish_of(root), gfx1100).kernel, gfx1100);
        const LinearProgram program = linearize(kernel, gfx1100).value();
        const auto last = std::ranges::find_if(program.ops, [](UOp u) { return u.is(Op::last_block); });
        ASSERT_NE(last, program.ops.end());
        const auto blocks = int64_t{program.grid[0]} * program.grid[1] * program.grid[2];
        EXPECT_EQ(last->as<IndexArg>().index, blocks);
        const UOp counter = program.params.back();
        EXPECT_EQ(skip_after(last->src(0).src(0)), counter);
        const std::vector<executable::ParameterPlace> places = parameter_places(program);
        for (const executable::ParameterPlace& place : places) EXPECT_EQ(place.counter, &place == &places.back());
        UOpMap<bool> before;  // memory that all blocks write
        for (auto u = program.ops.begin(); u != last; ++u)
            if (u->is(Op::store)) before[skip_after(u->src(0).src(0))] = true;
        size_t reads = 0, clears = 0;
        for (auto u = program.ops.begin(); u != program.ops.end(); ++u) {
            if (!u->is(Op::load) && !u->is(Op::store)) continue;
            const UOp memory = skip_after(u->src(0).src(0));
            if (memory.as<ParamArg>().space != Space::global) continue;
            const bool reads_others = u->is(Op::load) && before.contains(memory);
            const bool clears_counter = u->is(Op::store) && memory == counter;
            reads += reads_others, clears += clears_counter;
            EXPECT_TRUE(u > last || (!reads_others && !clears_counter)) << to_string(*u);
        }
        EXPECT_GT(reads, 0u);
        EXPECT_EQ(clears, 1u);
    }
}

}  // namespace
}  // namespace strata::codegen
