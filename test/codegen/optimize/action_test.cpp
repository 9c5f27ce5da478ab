#include "strata/codegen/optimize/action.h"

#include <algorithm>

#include "../kernel/build_helpers.h"
#include "../target/gfx1100.h"
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/optimize/actions_p.h"

namespace strata::codegen {
namespace {

using namespace test;
using enum ActionKind;

Filled started(UOp body) {
    Filled f = built(body);
    f.kernel = start_schedule(f.kernel);
    return f;
}

/// The kernel after the actions; it computes what it computed before.
Kernel expect_same(const Filled& before, std::vector<Action> actions) {
    Result<Kernel> after = apply_all(before.kernel, actions, gfx1100);
    EXPECT_TRUE(after) << to_string(actions) << ": " << after.error().message;
    if (!after) return before.kernel;
    EXPECT_EQ(difference(result(*after, before.slots), result(before.kernel, before.slots)), "")
        << to_string(actions) << "\n"
        << tree(after->sink);
    return *after;
}

std::vector<int64_t> sizes(const Kernel& kernel, Axis axis) {
    std::vector<int64_t> out;
    for (UOp r : ranges(kernel.sink))
        if (r.as<RangeArg>().axis == axis) out.push_back(r.as<RangeArg>().size);
    return out;
}

void expect_error(const Kernel& kernel, Action action, const std::string& part) {
    Result<Kernel> got = apply(kernel, action, gfx1100);
    ASSERT_FALSE(got) << to_string(action);
    EXPECT_EQ(got.error().kind, ErrorKind::Usage);
    EXPECT_NE(got.error().message.find(part), std::string::npos) << got.error().message;
}

Filled rows_of(int64_t n, int64_t m) { return started(filled({n, m}) + permute(filled({m, n}), {1, 0})); }

TEST(StartSchedule, PutsOutputLoopsOnTheGridAndLeavesReductions) {
    GraphScope scope;
    Filled f = built(sum(filled({6, 8}), {1}));
    EXPECT_EQ(sizes(f.kernel, Axis::loop), std::vector<int64_t>{6});
    Kernel k = start_schedule(f.kernel);
    EXPECT_EQ(sizes(k, Axis::global), std::vector<int64_t>{6});
    EXPECT_EQ(sizes(k, Axis::reduce), std::vector<int64_t>{8});
    EXPECT_EQ(k.name, f.kernel.name);
    EXPECT_EQ(difference(result(k, f.slots), result(f.kernel, f.slots)), "");
}

TEST(ApplyAction, LocalSplitsAnOutputRangeIntoBlocksAndThreads) {
    GraphScope scope;
    Kernel k = expect_same(rows_of(6, 8), {{local, 1, 4}});
    EXPECT_EQ(sizes(k, Axis::global), (std::vector<int64_t>{6, 2}));
    EXPECT_EQ(sizes(k, Axis::local), std::vector<int64_t>{4});
    EXPECT_EQ(block_size(k), 4);
}

TEST(ApplyAction, LaneSplitsAnOutputRangeIntoTheLanesOfAWaveOnce) {
    GraphScope scope;
    const Filled f = rows_of(64, 8);
    const Kernel k = expect_same(f, {{local, 1, 8}, {lane, 0, 32}});
    EXPECT_EQ(sizes(k, Axis::lane), std::vector<int64_t>{32});
    EXPECT_EQ(block_size(k), 256);
    EXPECT_EQ(linearize(k, gfx1100)->block, (std::array<uint32_t, 3>{32, 8, 1}))
        << "lanes are first, wherever memory goes";
    expect_error(k, {lane, 0, 2}, "has lanes already");
    expect_error(f.kernel, {lane, 0, 3}, "cannot split");
}

TEST(ApplyAction, UpcastSplitsAnOutputRangeIntoUnrolledParts) {
    GraphScope scope;
    Kernel k = expect_same(rows_of(6, 8), {{upcast, 0, 3}, {upcast, 1, 2}});
    EXPECT_EQ(sizes(k, Axis::global), (std::vector<int64_t>{2, 4}));
    EXPECT_EQ(sizes(k, Axis::upcast), (std::vector<int64_t>{3, 2}));
    EXPECT_EQ(block_size(k), 1);
}

TEST(ApplyAction, GroupAndUnrollSplitAReduction) {
    GraphScope scope;
    Filled f = started(sum(filled({6, 32}) * filled({6, 32}), {1}));
    Kernel k = expect_same(f, {{group, 0, 8}, {unroll, 0, 2}});
    EXPECT_EQ(sizes(k, Axis::reduce), std::vector<int64_t>{2});
    EXPECT_EQ(sizes(k, Axis::group), std::vector<int64_t>{8});
    EXPECT_EQ(sizes(k, Axis::unroll), std::vector<int64_t>{2});
    EXPECT_EQ(block_size(k), 8);
}

TEST(ApplyAction, GroupRunsGivesEachThreadARunOfAReduction) {
    GraphScope scope;
    Filled f = started(sum(filled({6, 32}) * filled({6, 32}), {1}));
    Kernel k = expect_same(f, {{group_runs, 0, 8}});
    EXPECT_EQ(sizes(k, Axis::reduce), std::vector<int64_t>{4});
    EXPECT_EQ(sizes(k, Axis::group), std::vector<int64_t>{8});
    EXPECT_EQ(block_size(k), 8);
    for (UOp load : nodes(k, Op::load))
        for (UOp r : ranges(k.sink))
            if (range_arg(r).axis != Axis::global)
                EXPECT_EQ(step_of(load.src(0).src(1), r), range_arg(r).axis == Axis::group ? 4 : 1);
    k = expect_same(f, {{unroll, 0, 2}, {group_runs, 0, 4}, {group, 0, 4}});
    EXPECT_EQ(linearize(k, gfx1100)->block, (std::array<uint32_t, 3>{4, 4, 1})) << "neighbours are within a run";
    EXPECT_EQ(apply(f.kernel, {group_runs, 0, 32}, gfx1100)->sink, apply(f.kernel, {group, 0, 32}, gfx1100)->sink);
    expect_error(f.kernel, {group_runs, 0, 5}, "cannot split a range of 32 by 5");
}

TEST(ApplyAction, GroupRunsLeavesScansAlone) {
    GraphScope scope;
    const Kernel k = started(scan(filled({3, 32}), Op::add, 1)).kernel;
    EXPECT_TRUE(apply(k, {group, 0, 8}, gfx1100));
    expect_error(k, {group_runs, 0, 8}, "a scan takes a step of all threads after the other");
}

TEST(ApplyAction, ASplitByTheWholeSizeLeavesNoOuterRange) {
    GraphScope scope;
    Kernel k = expect_same(rows_of(6, 8), {{local, 1, 8}});
    EXPECT_EQ(sizes(k, Axis::global), std::vector<int64_t>{6});
    EXPECT_EQ(sizes(k, Axis::local), std::vector<int64_t>{8});
    k = expect_same(started(sum(filled({6, 32}), {1})), {{unroll, 0, 32}});
    EXPECT_TRUE(sizes(k, Axis::reduce).empty());
}

TEST(ApplyAction, PadRoundsAnOutputRangeUpAndMasksTheRest) {
    GraphScope scope;
    Kernel k = expect_same(rows_of(7, 10), {{pad, 0, 4}, {local, 0, 4}});
    EXPECT_EQ(sizes(k, Axis::global), (std::vector<int64_t>{2, 10}));
    expect_same(rows_of(7, 10), {{pad, 0, 4}, {pad, 1, 4}, {upcast, 1, 4}, {local, 0, 8}});
}

TEST(ApplyAction, PadRoundsEveryKindOfReductionUp) {
    GraphScope scope;
    UOp x = filled({5, 27});
    for (Op op : {Op::add, Op::max, Op::min}) {
        Kernel k = expect_same(started(reduce(x - number(20), op, {1})), {{pad, 1, 32}, {group, 0, 32}});
        EXPECT_EQ(sizes(k, Axis::group), std::vector<int64_t>{32});
        expect_same(started(reduce(x + number(20), op, {1})), {{pad, 1, 4}, {unroll, 0, 4}});
    }
    UOp whole = filled({5, 7}, dtypes::int64);
    expect_same(started(reduce(whole, Op::mul, {1})), {{pad, 1, 4}});
    expect_same(started(reduce(filled({5, 7}, dtypes::uint8), Op::min, {1})), {{pad, 1, 4}, {pad, 0, 4}});
}

TEST(ApplyAction, PadJoinsThePredicatesThatAreThere) {
    GraphScope scope;
    Filled f = started(test::pad(filled({7, 5}) + number(3), {{1, 2}, {0, 4}}));
    expect_same(f, {{pad, 0, 4}, {pad, 1, 4}, {local, 1, 4}});
    UOp picked = take(filled({9, 3}), integers({8, 1, 4, 0, 8, 2, 7}), 0);
    expect_same(started(picked), {{pad, 0, 4}});
}

TEST(ApplyAction, SwapExchangesNeighboursInTheGrid) {
    GraphScope scope;
    Kernel k = expect_same(rows_of(6, 8), {{swap, 0, 0}});
    EXPECT_EQ(sizes(k, Axis::global), (std::vector<int64_t>{8, 6}));
    expect_same(rows_of(6, 8), {{swap, 0, 0}, {local, 0, 4}, {swap, 0, 0}});
}

TEST(ApplyAction, SwapOfRangesOfOneSizeKeepsThemApart) {
    GraphScope scope;
    Kernel k = expect_same(rows_of(6, 6), {{swap, 0, 0}});
    EXPECT_EQ(sizes(k, Axis::global), (std::vector<int64_t>{6, 6}));
}

TEST(ApplyAction, RasterGoesThroughSomeRowsBeforeTheNextColumn) {
    GraphScope scope;
    Kernel k = expect_same(rows_of(6, 8), {{raster, 0, 2}});
    EXPECT_EQ(sizes(k, Axis::global), (std::vector<int64_t>{3, 8, 2}));
    expect_same(rows_of(6, 8), {{local, 1, 4}, {raster, 0, 6}, {swap, 0, 0}});
    expect_error(k, {raster, 0, 2}, "cannot split a range of 3 by 2");
}

TEST(ApplyAction, JoinMakesOneRangeOfTwo) {
    GraphScope scope;
    Kernel k = expect_same(rows_of(6, 8), {{join, 0, 1}});
    EXPECT_EQ(sizes(k, Axis::global), (std::vector<int64_t>{48}));
    expect_same(rows_of(6, 8), {{join, 0, 1}, {pad, 0, 32}, {local, 0, 16}});
    expect_error(k, {join, 0, 1}, "no output range there");
}

TEST(ApplyAction, PersistingBlocksGoOnToOthersInALoop) {
    GraphScope scope;
    Kernel k = expect_same(rows_of(6, 8), {{local, 1, 4}, {persist, 0, 3}});
    EXPECT_EQ(sizes(k, Axis::global), (std::vector<int64_t>{2, 2}));
    EXPECT_EQ(sizes(k, Axis::loop), std::vector<int64_t>{3});
    k = expect_same(started(sum(filled({12, 64}), {1})), {{group, 0, 16}, {upcast, 0, 2}, {persist, 0, 6}});
    EXPECT_TRUE(sizes(k, Axis::global).empty());
    expect_error(rows_of(6, 8).kernel, {persist, 0, 4}, "cannot split a range of 6 by 4");
    expect_error(started(scan(filled({6, 8}), Op::add, 1)).kernel, {persist, 0, 2}, "cannot hold a scan");
}

TEST(ApplyAction, AMatrixProductInTiles) {
    GraphScope scope;
    Filled f = started(matmul(filled({8, 12}), filled({12, 16})));
    Kernel k = expect_same(f, {{upcast, 1, 4}, {upcast, 0, 2}, {local, 1, 4}, {local, 0, 4}, {unroll, 0, 4}});
    EXPECT_EQ(block_size(k), 16);
    EXPECT_TRUE(sizes(k, Axis::global).empty());
    expect_same(f, {{group, 0, 4}, {unroll, 0, 3}, {swap, 0, 0}, {upcast, 0, 8}});
}

TEST(ApplyAction, ErrorsNameTheActionAndWhatIsWrong) {
    GraphScope scope;
    Kernel k = started(sum(filled({6, 8192}), {1})).kernel;
    expect_error(k, {local, 1, 2}, "local(1, 2): the kernel has 1 such ranges");
    expect_error(k, {local, -1, 2}, "local(-1, 2)");
    expect_error(k, {local, 0, 4}, "cannot split a range of 6 by 4");
    expect_error(k, {local, 0, 12}, "cannot split a range of 6 by 12");
    expect_error(k, {local, 0, 1}, "cannot split");
    expect_error(k, {upcast, 0, 0}, "cannot split");
    expect_error(k, {upcast, 0, -2}, "cannot split");
    expect_error(k, {group, 0, 2048}, "a block of 2048 threads; the most is 1024");
    expect_error(k, {unroll, 0, 256}, "256 unrolled copies");
    expect_error(k, {swap, 0, 0}, "no output range after it");
    expect_error(k, {pad, 1, 4}, "of no use");
    expect_error(k, {pad, 0, 32}, "of no use");
}

TEST(ApplyAction, PaddingByNothingOrByTooMuchIsAnError) {
    GraphScope scope;
    Kernel k = rows_of(7, 10).kernel;
    for (int64_t amount : {int64_t{0}, int64_t{1}, int64_t{-4}, int64_t{15}, INT64_MAX, INT64_MIN})
        expect_error(k, {pad, 0, amount}, "padding a range of 7");
}

TEST(ApplyAction, TheBlockCountsEveryThreadAxis) {
    GraphScope scope;
    Kernel k = started(sum(filled({64, 64, 64}), {2})).kernel;
    k = apply_all(k, std::vector<Action>{{local, 0, 64}, {group, 0, 16}}, gfx1100).value();
    EXPECT_EQ(block_size(k), 1024);
    expect_error(k, {local, 0, 2}, "a block of 2048 threads");
}

TEST(ApplyAction, ApplyAllStopsAtTheFirstError) {
    GraphScope scope;
    Result<Kernel> got =
        apply_all(rows_of(6, 8).kernel, std::vector<Action>{{local, 0, 2}, {local, 0, 2}, {local, 1, 2}}, gfx1100);
    ASSERT_FALSE(got);
    EXPECT_NE(got.error().message.find("a range of 3 by 2"), std::string::npos) << got.error().message;
}

TEST(ApplyAction, AnyActionsOnAnyKernelKeepItsValues) {
    GraphScope scope;
    uint32_t state = 7;
    auto below = [&](size_t n) { return (state = state * 1664525u + 1013904223u) / 65536u % n; };
    const int64_t amounts[] = {2, 3, 4, 5, 8};
    int applied = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        Filled f = started(RandomGraph(seed + 5000).make_graph(6));
        Array wanted = result(f.kernel, f.slots);
        Kernel k = f.kernel;
        std::vector<Action> done;
        for (int i = 0; i < 24; ++i) {
            Action action{static_cast<ActionKind>(below(action_rows().size())), static_cast<int>(below(3)),
                          amounts[below(5)]};
            if (makes_tiles(action.kind)) continue;  // stage_test.cpp
            Result<Kernel> next = apply(k, action, gfx1100);
            if (!next) continue;
            k = *next;
            done.push_back(action);
            applied++;
        }
        ASSERT_EQ(difference(result(k, f.slots), wanted), "") << "seed " << seed << ": " << to_string(done) << "\n"
                                                              << tree(f.kernel.sink) << tree(k.sink);
        if (HasFailure()) FAIL() << "seed " << seed << ": " << to_string(done);
    }
    EXPECT_GT(applied, 300);
}

TEST(ApplyAction, AnyActionsOnAScanKeepItsValues) {
    GraphScope scope;
    uint32_t state = 11;
    auto below = [&](size_t n) { return (state = state * 1664525u + 1013904223u) / 65536u % n; };
    for (int round = 0; round < 120; ++round) {
        UOp x = filled({3, static_cast<int64_t>(below(30)) + 2, static_cast<int64_t>(below(9)) + 1});
        const int axis = static_cast<int>(below(3));
        UOp top = axis == 2 ? expand(reduce(x, Op::max, {2}), x.shape()) : number(2);
        Filled f = started(scan(x - top, below(2) ? Op::add : Op::max, axis) * number(2));
        Array wanted = result(f.kernel, f.slots);
        Kernel k = f.kernel;
        std::vector<Action> done;
        for (int i = 0; i < 12; ++i) {
            Action action{static_cast<ActionKind>(below(action_rows().size())), static_cast<int>(below(3)),
                          std::array<int64_t, 4>{2, 3, 4, 8}[below(4)]};
            Result<Kernel> next = apply(k, action, gfx1100);
            if (!next) continue;
            EXPECT_NE(action.kind, stage) << "no element is read twice";
            EXPECT_NE(action.kind, matrix);
            k = *next;
            done.push_back(action);
        }
        ASSERT_EQ(difference(result(k, f.slots), wanted), "") << to_string(done) << "\n" << tree(k.sink);
        if (HasFailure()) FAIL() << to_string(done);
    }
}

TEST(RandomSchedule, KeepsValuesAndIsTheSameForASeed) {
    GraphScope scope;
    size_t applied = 0, differ = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        Filled f = started(RandomGraph(seed + 900).make_graph(6));
        const Scheduled made = random_schedule(f.kernel, gfx1100, seed);
        EXPECT_EQ(random_schedule(f.kernel, gfx1100, seed).actions, made.actions);
        differ += random_schedule(f.kernel, gfx1100, seed + 1).actions != made.actions;
        const Result<Kernel> again = apply_all(f.kernel, made.actions, gfx1100);
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(again->sink, made.kernel.sink);
        applied += made.actions.size();
        if (std::ranges::any_of(made.actions, [](const Action& a) { return a.kind == stage; })) continue;
        ASSERT_EQ(difference(result(made.kernel, f.slots), result(f.kernel, f.slots)), "") << to_string(made.actions);
    }
    EXPECT_GT(applied, 40u);
    EXPECT_GT(differ, 20u);
}

TEST(ParseActions, ReadsWhatToStringWrites) {
    std::vector<Action> all;
    for (size_t row = 0; row < action_rows().size(); ++row)
        for (int axis : {0, 1, 12})
            for (int64_t amount : {int64_t{0}, int64_t{4}, int64_t{1} << 40})
                all.push_back({static_cast<ActionKind>(row), axis, amount});
    EXPECT_EQ(to_string(Action{upcast, 0, 4}), "upcast(0, 4)");
    EXPECT_EQ(to_string(std::vector<Action>{{upcast, 0, 4}, {local, 0, 64}}), "upcast(0, 4) local(0, 64)");
    Result<std::vector<Action>> read = parse_actions(to_string(all));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, all);
    EXPECT_TRUE(parse_actions("")->empty());
}

TEST(ParseActions, RefusesEverythingElse) {
    for (std::string_view text : {"local",
                                  "local(",
                                  "local)",
                                  "local(0)",
                                  "local(0 4)",
                                  "local(0, )",
                                  "local(, 4)",
                                  "local(a, 4)",
                                  "local(0, b)",
                                  "tile(0, 4)",
                                  "(0, 4)",
                                  "local(0x, 4)",
                                  "local(0, 4.5)",
                                  "local(0, 4 )",
                                  "local(0, 99999999999999999999)",
                                  "local(99999999999, 4)",
                                  "local(0, 4) nonsense",
                                  ")(, ",
                                  "local(0, 4",
                                  "\1\2",
                                  " local(0, 4)"}) {
        Result<std::vector<Action>> read = parse_actions(text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().kind, ErrorKind::Usage);
    }
    std::string known = parse_actions("tensorise(0, 4)").error().message;
    EXPECT_NE(known.find("known: local(range, amount): split an output range"), std::string::npos) << known;
}

}  // namespace
}  // namespace strata::codegen
