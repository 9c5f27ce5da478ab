// The schedule's use of memory: roots that need none, values that are there already, user kernels.
#include "run_schedule.h"

namespace strata::codegen {
namespace {

using namespace test;

TEST(MakeScheduleStorage, AViewOfABufferNeedsNoKernel) {
    GraphScope scope;
    UOp x = filled({6, 5}), view = shrink(permute(x, {1, 0}), {{1, 3}, {0, 6}});
    Schedule schedule = scheduled({x, view});
    EXPECT_TRUE(schedule.items.empty());
    EXPECT_EQ(schedule.roots, (std::vector<UOp>{x, view}));
}

TEST(MakeScheduleStorage, ContiguousCopiesAViewAndKeepsAWholeBuffer) {
    GraphScope scope;
    UOp x = filled({6, 5});
    EXPECT_EQ(kernels(contiguous(permute(x, {1, 0}))), 1u);
    EXPECT_EQ(kernels(contiguous(shrink(x, {{0, 3}, {0, 5}}))), 1u);
    EXPECT_EQ(kernels(contiguous(reshape(x, {5, 6}))), 0u);
    EXPECT_EQ(kernels(sum(contiguous(permute(x, {1, 0})) + number(1), {0})), 2u);
}

TEST(MakeScheduleStorage, PaddingOfABufferIsStored) {
    GraphScope scope;
    EXPECT_EQ(kernels(pad(filled({6}), {{2, 3}})), 1u);
}

TEST(MakeScheduleStorage, AViewOfAComputedValueIsComputedOnceAndViewed) {
    GraphScope scope;
    UOp value = filled({6, 5}) + number(1), turned = permute(value, {1, 0});
    std::vector<UOp> roots{value, turned};
    Schedule schedule = scheduled(roots);
    expect_same_values(roots, schedule);
    ASSERT_GE(schedule.items.size(), 1u);
    EXPECT_EQ(schedule.items[0].output.numel(), 30);
}

TEST(MakeScheduleStorage, ConstantsAndIotasAreRootsToo) {
    GraphScope scope;
    UOp scalar = number(2.5), wide = expand(reshape(number(3), {1, 1}), {2, 3}), counting = iota(7);
    std::vector<UOp> roots{scalar, wide, counting, cast(counting, dtypes::float32) * number(2)};
    Schedule schedule = scheduled(roots);
    expect_same_values(roots, schedule);
    EXPECT_EQ(schedule.items.size(), 3u) << "one of what is counted";
    for (UOp root : schedule.roots) EXPECT_TRUE(root.is(Op::buffer) || root.src(0).is(Op::buffer)) << tree(root);
}

TEST(MakeScheduleStorage, AValueWithoutElementsHasABufferAndNoKernel) {
    GraphScope scope;
    UOp nothing = filled({0, 4}) + filled({0, 4});
    Schedule schedule = scheduled({nothing});
    EXPECT_TRUE(schedule.items.empty());
    EXPECT_EQ(schedule.roots[0].shape(), (Shape{0, 4}));
    EXPECT_EQ(kernels(sum(nothing, {0}) + number(1)), 1u);
}

TEST(MakeScheduleStorage, OneRootTwiceIsComputedOnce) {
    GraphScope scope;
    UOp x = filled({6}) + number(1);
    Schedule schedule = scheduled({x, x});
    EXPECT_EQ(schedule.items.size(), 1u);
    EXPECT_EQ(schedule.roots[0], schedule.roots[1]);
}

TEST(MakeScheduleStorage, WhatIsInMemoryIsNotComputedAgain) {
    GraphScope scope;
    UOp x = filled({6, 5}), total = sum(x, {1}), root = expand(total, {6, 5}) + x;
    HostStorage storage;
    storage.held[total] = filled({6, 1}, dtypes::float32, 9);
    Schedule schedule = scheduled({root, total}, storage);
    ASSERT_EQ(schedule.items.size(), 1u);
    EXPECT_TRUE(loops(schedule.items[0]).empty());
    EXPECT_EQ(schedule.roots[1], storage.held[total]);
    UOp wanted = expand(storage.held[total], {6, 5}) + x;
    EXPECT_EQ(difference(run(schedule)[0], evaluate(wanted, contents())), "");
}

TEST(MakeScheduleStorage, WhatOnlyAValueInMemoryNeedsIsNotLookedAt) {
    GraphScope scope;
    UOp missing = make(Op::buffer, dtypes::float32, {}, BufferArg{999'999, 30, 0});
    UOp known = sum(reshape(missing, {6, 5}), {1});
    HostStorage storage;
    storage.held[known] = filled({6, 1});
    Schedule schedule = scheduled({known * number(2)}, storage);
    ASSERT_EQ(schedule.items.size(), 1u);
    EXPECT_EQ(run(schedule)[0].numel(), 6u);
}

UOp custom(std::vector<UOp> sources, uint64_t id = 1) { return make(Op::custom, dtypes::none, sources, CustomArg{id}); }
UOp pick(UOp launch, int i) {
    return make(Op::pick, launch.src(static_cast<size_t>(i)).dtype(), {launch}, IndexArg{i});
}

TEST(MakeScheduleStorage, AUserKernelRunsBetweenWhatItReadsAndWhatReadsIt) {
    GraphScope scope;
    UOp out = filled({8}), x = filled({8});
    UOp launch = custom({out, x + number(1)});
    Schedule schedule = scheduled({pick(launch, 0) * number(2), pick(launch, 1)});
    ASSERT_EQ(schedule.items.size(), 3u);
    const ScheduleItem &before = schedule.items[0], &kernel = schedule.items[1], &then = schedule.items[2];
    EXPECT_EQ(before.body, x + number(1));
    ASSERT_TRUE(kernel.body.is(Op::custom));
    EXPECT_EQ(kernel.output, out);
    EXPECT_EQ(kernel.body.as<CustomArg>().id, 1u);
    ASSERT_EQ(kernel.body.src().size(), 2u);
    EXPECT_EQ(kernel.body.src(0), out);
    EXPECT_EQ(kernel.body.src(1), schedule.roots[1]) << "the second source, as the kernel left it";
    EXPECT_EQ(then.body, out * number(2));
    EXPECT_TRUE(kernel.body.src(1) == before.output || kernel.body.src(1).src(0) == before.output);
}

TEST(MakeScheduleStorage, AUserKernelRunsOnceForAllItsResults) {
    GraphScope scope;
    UOp launch = custom({filled({8}), filled({8})});
    Schedule schedule = scheduled({pick(launch, 0) + pick(launch, 1), pick(launch, 0)});
    size_t launches = 0;
    for (const ScheduleItem& item : schedule.items) launches += item.body.is(Op::custom);
    EXPECT_EQ(launches, 1u);
    EXPECT_EQ(schedule.items.size(), 2u);
}

TEST(MakeScheduleStorage, UserKernelsInARowKeepTheirOrder) {
    GraphScope scope;
    UOp out = filled({8});
    UOp first = custom({out, filled({8})}, 1), second = custom({pick(first, 0), filled({8})}, 2);
    Schedule schedule = scheduled({pick(second, 0)});
    ASSERT_EQ(schedule.items.size(), 2u);
    EXPECT_EQ(schedule.items[0].body.as<CustomArg>().id, 1u);
    EXPECT_EQ(schedule.items[1].body.as<CustomArg>().id, 2u);
    EXPECT_EQ(schedule.items[1].output, out);
}

std::vector<bool> first_only(UOp launch) {
    std::vector<bool> writes(launch.src().size());
    writes[0] = true;
    return writes;
}

/// The arguments of the only launch of a schedule.
std::span<const UOp> arguments(const Schedule& schedule) {
    for (const ScheduleItem& item : schedule.items)
        if (item.body.is(Op::custom)) return item.body.src();
    return {};
}

TEST(MakeScheduleStorage, WhatAUserKernelWritesIsCopiedWhereOthersSeeIt) {
    GraphScope scope;
    HostStorage storage;
    storage.writes = first_only;
    UOp x = reshape(filled({8}), {2, 4});
    Schedule schedule = scheduled({pick(custom({x, x}), 0), pick(custom({x, x}), 1)}, storage);
    ASSERT_EQ(schedule.items.size(), 2u);
    EXPECT_EQ(schedule.items[0].body, x) << "the copy";
    EXPECT_EQ(whole_buffer(arguments(schedule)[0]), schedule.items[0].output);
    EXPECT_EQ(arguments(schedule)[1], x) << "what is only read stays where it is";
    EXPECT_EQ(whole_buffer(schedule.roots[0]), schedule.items[0].output);
    EXPECT_EQ(schedule.roots[1], x);
}

TEST(MakeScheduleStorage, WhatNobodyElseSeesIsWrittenWhereItIs) {
    GraphScope scope;
    HostStorage storage;
    storage.writes = first_only;
    UOp x = filled({8});
    storage.alone.insert(x);
    EXPECT_EQ(scheduled({pick(custom({x, filled({8}) + number(1)}), 0)}, storage).items.size(), 2u);
    EXPECT_EQ(scheduled({pick(custom({x + number(1)}), 0)}, storage).items.size(), 2u) << "made for it";
    EXPECT_EQ(scheduled({pick(custom({reshape(contiguous(x * number(2)), {2, 4})}), 0)}, storage).items.size(), 2u);
}

TEST(MakeScheduleStorage, AComputedValueThatIsUsedTwiceIsCopiedForTheKernelThatWritesIt) {
    GraphScope scope;
    HostStorage storage;
    storage.writes = first_only;
    UOp x = filled({8}) + number(1);
    for (const std::vector<UOp>& roots : {std::vector<UOp>{pick(custom({x}), 0), x},
                                          {pick(custom({x}, 1), 0), pick(custom({x}, 2), 0)},
                                          {pick(custom({pick(custom({x}, 1), 0)}, 2), 0) + pick(custom({x}, 1), 0)}}) {
        Schedule schedule = scheduled(roots, storage);
        std::set<UOp, decltype([](UOp a, UOp b) { return a.node() < b.node(); })> written;
        for (const ScheduleItem& item : schedule.items)
            if (item.body.is(Op::custom))
                EXPECT_TRUE(written.insert(whole_buffer(item.body.src(0))).second) << tree(item.body);
        EXPECT_FALSE(written.contains(whole_buffer(schedule.roots.back()))  // of the first, the value itself
                     && roots.back() == x);
    }
}

TEST(MakeScheduleStorage, AUserKernelGetsWholeRowMajorBuffers) {
    GraphScope scope;
    UOp x = filled({6, 5});
    UOp launch = custom({reshape(filled({30}), {5, 6}), permute(x, {1, 0}), shrink(x, {{0, 2}, {0, 5}})});
    Schedule schedule = scheduled({pick(launch, 0)});
    ASSERT_EQ(schedule.items.size(), 3u);
    for (UOp s : schedule.items[2].body.src()) {
        while (s.is(Op::reshape)) s = s.src(0);
        EXPECT_TRUE(s.is(Op::buffer)) << tree(s);
    }
    EXPECT_EQ(schedule.items[0].output.numel() + schedule.items[1].output.numel(), 40);
}

}  // namespace
}  // namespace strata::codegen
