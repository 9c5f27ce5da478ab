#include <random>

#include "run_schedule.h"
#include "strata/codegen/schedule/plan_p.h"

// Steps as late as their first readers let them: the same values, fewer of them in memory at a time.
namespace strata::codegen {
namespace {

using namespace test;

constexpr int kLayers = 8;

UOp stored(UOp u) { return make(Op::contiguous, u.dtype(), {u}); }

/// A value made of others, one after the other, each of which is made of an input alone. The last one is needed first.
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
    Schedule schedule = make_schedule(std::vector{root}, storage, Fusion::less);
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
    HostStorage storage;
    Schedule schedule = make_schedule(roots, storage, Fusion::less);
    const size_t steps = schedule.items.size();
    schedule.items = free_early(std::move(schedule.items), schedule.roots);
    const int64_t one = 32 * 4, results = static_cast<int64_t>(roots.size()) * 4;
    EXPECT_EQ(schedule.items.size(), steps);
    EXPECT_LE(most_kept(schedule.items, schedule.roots), (kLayers + 3) * one + results)
        << "the inputs of all layers, and two";
    expect_same_values(roots, schedule);
}

/// For each step, by its body: how often what it reads was written before.
UOpMap<std::vector<int>> versions_read(const std::vector<ScheduleItem>& items) {
    UOpMap<int> writes;
    UOpMap<std::vector<int>> read;
    for (const ScheduleItem& item : items) {
        for (UOp u : in_order(item.bodies()))
            if (u.is(Op::buffer)) read[item.body].push_back(writes[u]);
        for (UOp output : item.outputs()) ++writes[output];
    }
    return read;
}

TEST(OrderSteps, AUsersKernelReadsWhatWasThereAndItsReadersWhatItWrote) {
    GraphScope scope;
    std::mt19937 random(7);
    HostStorage storage;
    storage.writes = [](UOp custom) { return std::vector<bool>(custom.src().size(), true); };
    for (uint64_t turn = 0; turn < 40; ++turn) {
        std::vector<UOp> all{filled({32}), filled({32})};
        const auto any = [&] { return all[random() % all.size()]; };
        for (uint64_t i = 0; i < 16; ++i) {
            const UOp a = any(), b = any();
            if (random() % 2) {
                all.push_back(stored(flip(a, {0}) + b));
                continue;
            }
            const UOp call = make(Op::custom, dtypes::none, {a, stored(flip(b, {0}))}, CustomArg{100 * turn + i});
            for (int source : {0, 1}) all.push_back(make(Op::pick, dtypes::float32, {call}, IndexArg{source}));
        }
        const Schedule schedule = scheduled({any(), any(), all.back()}, storage);
        for (auto* order : {order_for_memory, free_early}) {
            const std::vector<ScheduleItem> ordered = order(schedule.items, schedule.roots);
            const auto before = versions_read(schedule.items), after = versions_read(ordered);
            for (const auto& [body, versions] : after) EXPECT_EQ(versions, before.at(body)) << tree(body);
            EXPECT_LE(ordered.size(), schedule.items.size());
        }
    }
}

}  // namespace
}  // namespace strata::codegen
