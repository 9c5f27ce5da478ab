#include "strata/codegen/kernel/finish.h"

#include <algorithm>

#include "../kernel/build_helpers.h"
#include "../target/gfx1100.h"
#include "strata/codegen/kernel/build.h"
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/optimize/action.h"
#include "strata/codegen/schedule/named_storage.h"

// What the last block of a kernel computes by itself: actions leave it alone, the threads of the block share it.
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

TEST(Finish, IsForAsManyThreadsAsTheBlockHas) {
    GraphScope scope;
    for (UOp root : examples()) {
        const Kernel start = with_finish_of(root);
        for (const Kernel& kernel : {start, heuristic(start, gfx1100).kernel}) {
            const Kernel spread = spread_finish(kernel);
            EXPECT_EQ(without_finish(spread).sink, without_finish(kernel).sink);
            EXPECT_EQ(block_size({finish_of(spread.sink), ""}), block_size(kernel)) << tree(root);
        }
    }
}

TEST(Finish, ComesBehindAllThatBlocksDoWithACounterBehindAllParameters) {
    GraphScope scope;
    for (UOp root : examples()) {
        const Kernel kernel = spread_finish(heuristic(with_finish_of(root), gfx1100).kernel);
        const LinearProgram program = linearize(kernel, gfx1100).value();
        const auto last = std::ranges::find_if(program.ops, [](UOp u) { return u.is(Op::last_block); });
        ASSERT_NE(last, program.ops.end());
        const auto blocks = int64_t{program.grid[0]} * program.grid[1] * program.grid[2];
        EXPECT_EQ(last->as<IndexArg>().index, blocks);
        const UOp counter = program.params.back();
        EXPECT_EQ(skip_after(last->src(0).src(0)), counter);
        const std::vector<ParameterPlace> places = parameter_places(program);
        for (const ParameterPlace& place : places) EXPECT_EQ(place.counter, &place == &places.back());
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
