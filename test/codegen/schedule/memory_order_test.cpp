#include "run_schedule.h"
#include "strata/codegen/schedule/plan_p.h"

// Steps as late as their first readers let them: the same values, fewer of them in memory at a time.
namespace strata::codegen {
namespace {

using namespace test;

constexpr int kLayers = 8;

UOp stored(UOp u) { return make(Op::contiguous, u.dtype(), {u}); }

/// A value that is made of others, one after the other, each of which is made of an input alone; the last one is needed
/// first.
template <class Input>
UOp long_chain(Input input) {
    UOp arriving = stored(flip(input(0), {0}) * number(0.5));
    for (int i = 0; i < kLayers; ++i) {
        UOp again = stored(flip(input(1 + i), {0}) * number(2 + i));
        arriving = stored(flip(again, {0}) + flip(arriving, {0}));
    }
    return arriving;
}

TEST(OrderSteps, WhatIsNeededLateIsMadeLate) {
    GraphScope scope;
    const UOp root = long_chain([](int) { return filled({32}); });
    HostStorage storage;
    Schedule schedule = scheduled({root}, storage);
    const int64_t one = 32 * 4, before = most_kept(schedule.items, schedule.roots);
    const size_t steps = schedule.items.size();
    schedule.items = order_for_memory(std::move(schedule.items), schedule.roots);
    EXPECT_EQ(schedule.items.size(), steps);
    EXPECT_LE(most_kept(schedule.items, schedule.roots), 3 * one);
    EXPECT_LE(most_kept(schedule.items, schedule.roots), before);
    expect_same_values({root}, schedule);
}

TEST(OrderSteps, OfMuchMemoryTheScheduleItselfIsInThatOrder) {
    GraphScope scope;
    const int64_t size = int64_t{1} << 16, one = size * 4;
    const auto input = [&](int i) {
        return make(Op::buffer, dtypes::float32, {},
                    BufferArg{(uint64_t{77} << 40) + static_cast<uint64_t>(i), size, 0});
    };
    const Schedule schedule = scheduled({long_chain(input)});
    EXPECT_LE(most_kept(schedule.items, schedule.roots), 4 * one);
}

TEST(OrderSteps, ARootThatIsDoneSoonComesBeforeLongOnes) {
    GraphScope scope;
    UOp x = filled({8}), a = stored(flip(x, {0}) + x), b = stored(flip(a, {0}) * a), c = stored(flip(b, {0}) + b);
    UOp early = sum(flip(a, {0}) * x, {0});
    const std::vector<UOp> roots{c, early};
    Schedule schedule = scheduled(roots);
    schedule.items = order_for_memory(std::move(schedule.items), schedule.roots);
    EXPECT_EQ(buffer_under(schedule.roots[0]), schedule.items.back().output);
    expect_same_values(roots, schedule);
}

/// A gradient that goes on from layer to layer; of each, the weight's is a result, and reads it and the layer's input.
std::vector<UOp> gradients_of_layers(UOp arriving, const std::vector<UOp>& inputs) {
    std::vector<UOp> roots;
    for (UOp input : inputs) {
        roots.push_back(sum(flip(arriving, {0}) * input, {0}));  // of the weight
        roots.push_back(sum(arriving, {0}));                     // of the bias: both read what arrives
        arriving = stored(flip(arriving, {0}) * number(0.5));
    }
    std::ranges::reverse(roots);
    return roots;
}

TEST(OrderSteps, WhatFreesMoreThanItFillsRunsAsSoonAsItCan) {
    GraphScope scope;
    std::vector<UOp> inputs, at(1, stored(flip(filled({32}), {0})));
    for (int i = 0; i < kLayers; ++i) at.push_back(stored(flip(at.back(), {0}) * number(2)));
    inputs.assign(at.rbegin(), at.rend());
    const std::vector<UOp> roots = gradients_of_layers(stored(flip(at.back(), {0})), inputs);
    Schedule schedule = scheduled(roots);
    const size_t steps = schedule.items.size();
    schedule.items = free_early(std::move(schedule.items), schedule.roots);
    const int64_t one = 32 * 4, results = static_cast<int64_t>(roots.size()) * 4;
    EXPECT_EQ(schedule.items.size(), steps);
    EXPECT_LE(most_kept(schedule.items, schedule.roots), (kLayers + 3) * one + results)
        << "the inputs of all layers, and two";
    expect_same_values(roots, schedule);
}

}  // namespace
}  // namespace strata::codegen
