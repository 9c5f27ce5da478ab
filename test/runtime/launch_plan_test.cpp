#include "strata/runtime/launch_plan.h"

#include <random>

#include "helpers.h"
#include "strata/codegen/driver/compile_graph.h"
#include "strata/core/support/parallel.h"
#include "strata/executable/memory.h"

namespace strata::runtime {
namespace {

using namespace test;

constexpr int64_t kSize = 1 << 12;

UOp name(uint64_t id, int64_t size = kSize) {
    return make(Op::buffer, dtypes::float32, {}, BufferArg{(uint64_t{1} << 40) + id, size, 0});
}

BufferList memory_of(std::span<const UOp> buffers) {
    BufferList memory;
    for (UOp buffer : buffers) memory.push_back(find_buffer(buffer));
    return memory;
}

struct Copy {
    UOp to, from;
};

/// A graph whose steps are copies.
codegen::CompiledGraph graph_of(std::span<const UOp> inputs, std::span<const Copy> copies, std::span<const UOp> roots) {
    codegen::CompiledGraph graph;
    executable::Executable& exe = graph.executable;
    const auto number = [&](UOp buffer) {
        const auto at = std::ranges::find(graph.operands, buffer) - graph.operands.begin();
        if (at == std::ssize(graph.operands)) {
            graph.operands.push_back(buffer);
            exe.operands.push_back({.dtype = buffer.dtype(), .elements = buffer.as<BufferArg>().size});
        }
        return static_cast<uint32_t>(at);
    };
    for (UOp input : inputs) number(input);
    exe.inputs = inputs.size();
    for (executable::Operand& operand : exe.operands) operand.role = executable::Role::input;
    for (const Copy& copy : copies) exe.steps.push_back({.operands = {number(copy.to), number(copy.from)}});
    for (UOp root : roots) {
        exe.results.push_back(number(buffer_under(root)));
        executable::Operand& result = exe.operands[exe.results.back()];
        if (result.role != executable::Role::input) result.role = executable::Role::result;
    }
    graph.roots.assign(roots.begin(), roots.end());
    graph.kept.resize(exe.steps.size());
    executable::place_memory(exe);
    return graph;
}

/// Copies what is read from buffer to buffer; the result is the last one, turned.
struct Copies {
    explicit Copies(int count) : input(on_device(counting(kSize))) {
        UOp last = input.get();
        for (int i = 0; i < count; ++i) {
            const UOp next = name(static_cast<uint64_t>(i));
            steps.push_back({next, last});
            last = next;
        }
        roots = {permute(reshape(last, {64, 64}), {1, 0}), shrink(last, {{1, 3}}), input.get()};
    }
    std::vector<UOp> inputs() const { return {input.get()}; }
    LaunchPlan plan() { return LaunchPlan(graph_of(inputs(), steps, roots), {}); }
    void check(const LaunchPlan& plan, Root memory) {
        const std::vector<UOp> read{memory.get()};
        const std::vector<Root> views = plan.run(device(), {}, {.inputs = read, .memory = memory_of(read)});
        ASSERT_EQ(views.size(), 3u);
        EXPECT_EQ(values(views[0]), values(memory));
        EXPECT_EQ(views[0].get().op(), Op::permute);
        EXPECT_EQ(views[0].get().shape(), (Shape{64, 64}));
        EXPECT_EQ(views[1].get().shape(), Shape{2});
        EXPECT_EQ(buffer_under(views[0].get()), buffer_under(views[1].get()));
        EXPECT_EQ(views[2].get(), memory.get());
    }
    Root input;
    std::vector<Copy> steps;
    std::vector<UOp> roots;
};

TEST_F(Runtime, APlanRunsOverWhateverMemoryItIsGiven) {
    GraphScope scope;
    Copies copies(5);
    const LaunchPlan plan = copies.plan();
    copies.check(plan, copies.input);
    copies.check(plan, on_device(counting(kSize, 7)));
}

TEST_F(Runtime, ThreadsRunOnePlanAtOnceOverMemoryOfTheirOwn) {
    GraphScope scope;
    Copies copies(5);
    const LaunchPlan plan = copies.plan();
    std::vector<Root> inputs;
    for (int i = 0; i < 8; ++i) inputs.push_back(on_device(counting(kSize, static_cast<float>(i))));
    parallel_for(
        inputs.size(),
        [&](size_t i) {
            const GraphScope inner;
            copies.check(plan, inputs[i]);
        },
        4);
}

TEST_F(Runtime, MemoryBetweenStepsIsUsedAgainUnlessStrictModeLooks) {
    GraphScope scope;
    Copies copies(20);
    const LaunchPlan plan = copies.plan();
    const auto peak = [&] {
        reset_stats();
        const size_t before = stats().live_bytes;
        copies.check(plan, copies.input);
        return (stats().peak_bytes - before) / (kSize * sizeof(float));
    };
    EXPECT_EQ(peak(), 2u) << "two of the values between at a time, or one and the result";
    Settings strict = settings();
    strict.check = "report";
    const ScopedSettings strictly(strict);
    EXPECT_EQ(peak(), 20u);
}

TEST_F(Runtime, WhatALaterStepReadsIsNotOverwrittenBefore) {
    std::mt19937 random(1);
    for (int round = 0; round < 50; ++round) {
        GraphScope scope;
        std::vector<Root> memory;
        std::vector<UOp> inputs, all, roots;
        std::vector<float> holds;  // the first element of each buffer
        for (int i = 0; i < 3; ++i) {
            holds.push_back(static_cast<float>(100 * round + i));
            memory.push_back(on_device(counting(8, holds.back())));
            inputs.push_back(memory.back().get());
        }
        all = inputs;
        std::vector<Copy> steps;
        for (uint64_t i = 0; i < 12; ++i) {
            const size_t from = random() % all.size();
            steps.push_back({name(i, 8), all[from]});
            all.push_back(steps.back().to);
            holds.push_back(holds[from]);
        }
        std::vector<float> wanted;
        for (int i = 0; i < 3; ++i) {
            const size_t which = random() % all.size();
            roots.push_back(all[which]);
            wanted.push_back(holds[which]);
        }
        const LaunchPlan plan(graph_of(inputs, steps, roots), {});
        const std::vector<Root> got = plan.run(device(), {}, {.inputs = inputs, .memory = memory_of(inputs)});
        for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(values(got[i]), counting(8, wanted[i]));
    }
}

TEST_F(Runtime, APlanIsReadAsItWasWrittenAndNothingElseIsRead) {
    GraphScope scope;
    Copies copies(5);
    const std::string bytes = copies.plan().to_bytes({});
    LaunchPlan::Loaded programs;
    const auto read = [&](std::string_view from) {
        return LaunchPlan::of_bytes(from, device(), {.inputs = 1}, programs);
    };
    ASSERT_TRUE(read(bytes));
    copies.check(*read(bytes), on_device(counting(kSize, 3)));
    for (size_t length = 0; length < bytes.size(); ++length) EXPECT_FALSE(read(bytes.substr(0, length))) << length;
    EXPECT_FALSE(read(bytes + '\0'));
    for (size_t at = 0; at + 8 <= bytes.size(); at += 8)
        for (uint64_t wrong : {uint64_t{1} << 40, ~uint64_t{0}}) {
            std::string damaged = bytes;
            std::memcpy(&damaged[at], &wrong, 8);
            (void)read(damaged);  // a number that may be anything is one, but nothing is read or taken beyond
        }
}

TEST_F(Runtime, AGraphIsScheduledOncePerStructureAndAgainWhenItsProgramsWent) {
    const auto once = [](float first) {  // of a shape that no other test here has: plans are the process's
        Root x = on_device(counting(15, first)), root;
        {
            GraphScope scope;
            root = Root(sum(reshape(x.get(), {3, 5}) * number(2), {1}));
        }
        return values(realized(root.get()));
    };
    EXPECT_EQ(once(0), (std::vector<float>{20, 70, 120}));
    EXPECT_EQ(once(1), (std::vector<float>{30, 80, 130}));
    EXPECT_EQ(stats().plans_made, 1u);
    EXPECT_EQ(stats().plans_found, 1u);
    Settings tight = settings();
    tight.programs_mb = 1;
    {
        const ScopedSettings scope(tight);
        for (size_t n = 20; n < 60; ++n) {
            Root x = on_device(counting(n)), root;
            {
                GraphScope graph;
                root = Root(x.get() * number(3));
            }
            EXPECT_EQ(values(realized(root.get()))[2], 6);
        }
    }
    EXPECT_GT(stats().evicted_programs, 0u);
    const uint64_t made = stats().plans_made;
    EXPECT_EQ(once(2), (std::vector<float>{40, 90, 140}));
    EXPECT_EQ(stats().plans_made, made + 1);
}

}  // namespace
}  // namespace strata::runtime
