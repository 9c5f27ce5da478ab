#include "strata/codegen/driver/compile_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "../kernel/tensors.h"

namespace strata::codegen {
namespace {

using namespace test;
using executable::Executable, executable::kNone, executable::Role;

const Target by_asm = target_of(isa::Arch::gfx1100, Route::asm_);

/// Graphs of several steps: shared kernels, copies, several results, rows that share a loop.
std::vector<std::vector<UOp>> graphs() {
    const UOp x = filled({64, 32}), y = filled({64, 32});
    const UOp far = filled({1 << 12, 1 << 11}), away = filled({1 << 12, 1 << 11});  // too much to compute together
    const auto rows = [](UOp u) { return sum(contiguous(u + number(1)), {1}); };
    const UOp stored = contiguous(x * number(3));
    return {{x + y},
            {rows(far), rows(away)},
            {contiguous(permute(stored, {1, 0})), sum(stored, {0, 1}), x},
            {contiguous(x)},
            {sum(filled({1 << 16}), {0})}};
}

std::vector<SharedCode> direct(std::span<const Scheduled> kernels) { return compile_codes(kernels, by_asm, Text::no); }

TEST(CompileGraph, StepsReadInputsAndWhatEarlierStepsFill) {
    GraphScope scope;
    for (const std::vector<UOp>& roots : graphs()) {
        const CompiledGraph graph = compile_graph(roots, by_asm, {.verify = true, .provenance = true});
        const Executable& exe = graph.executable;
        ASSERT_EQ(graph.operands.size(), exe.operands.size());
        ASSERT_EQ(exe.origins.size(), exe.operands.size());
        ASSERT_EQ(exe.provenance.size(), exe.steps.size());
        ASSERT_EQ(exe.results.size(), roots.size());
        std::set<uint32_t> there;
        for (uint32_t at = 0; at < exe.inputs; ++at) there.insert(at);
        for (size_t s = 0; s < exe.steps.size(); ++s) {
            const executable::Step& step = exe.steps[s];
            EXPECT_EQ(graph.buffers(s).size(), step.operands.size());
            const auto is_there = [&](uint32_t at) { return there.contains(at); };
            const auto read = std::ranges::find_if(step.operands, is_there);
            EXPECT_NE(read, step.operands.begin()) << "it fills nothing";
            EXPECT_TRUE(std::all_of(read, step.operands.end(), is_there)) << "outputs come first";
            there.insert(step.operands.begin(), read);
            if (step.is_copy()) EXPECT_EQ(step.operands.size(), 2u);
            EXPECT_GE(exe.provenance[s].read + exe.provenance[s].written, step.bytes);
        }
        for (uint32_t at = 0; at < exe.operands.size(); ++at) {
            EXPECT_EQ(exe.operands[at].role == Role::input, at < exe.inputs);
            EXPECT_EQ(exe.operands[at].elements, graph.operands[at].as<BufferArg>().size);
        }
        for (size_t i = 0; i < roots.size(); ++i) {
            EXPECT_TRUE(there.contains(exe.results[i]));
            EXPECT_NE(exe.operands[exe.results[i]].role, Role::workspace);
            EXPECT_EQ(buffer_under(graph.roots[i]), graph.operands[exe.results[i]]);
        }
    }
}

TEST(CompileGraph, StepsThatComputeTheSameShareAKernelWithItsCode) {
    GraphScope scope;
    for (const std::vector<UOp>& roots : graphs()) {
        const CompiledGraph graph = compile_graph(roots, by_asm, {.copy_by_kernels = true, .code = direct});
        const Executable& exe = graph.executable;
        std::unordered_set<UOp, UOpHash> sinks;
        ASSERT_EQ(graph.kernels.size(), exe.kernels.size());
        for (size_t k = 0; k < exe.kernels.size(); ++k) {
            ASSERT_TRUE(exe.kernels[k].code);
            EXPECT_EQ(exe.kernels[k].name, exe.kernels[k].code->entry);
            EXPECT_TRUE(sinks.insert(graph.kernels[k].kernel.sink).second);
        }
        for (const executable::Step& step : exe.steps) {
            ASSERT_LT(step.kernel, exe.kernels.size()) << "a copy has a kernel too";
            const auto& places = exe.kernels[step.kernel].code->places;
            const auto counters = std::ranges::count_if(places, &executable::ParameterPlace::counter);
            EXPECT_EQ(places.size(), step.operands.size() + static_cast<size_t>(counters));
        }
    }
    const CompiledGraph shared = compile_graph(graphs()[1], by_asm);
    EXPECT_LT(shared.executable.kernels.size(), shared.executable.steps.size());
}

TEST(CompileGraph, NamesDifferAsKernelsDoWhereOneObjectHoldsThem) {
    GraphScope scope;
    const Shape shape{1 << 22};  // of more time than a launch, so that each is a step
    const std::vector<UOp> roots{filled(shape) + number(1), filled(shape) * number(2), filled(shape) + number(1)};
    for (const bool distinct : {false, true}) {
        const CompiledGraph graph = compile_graph(roots, by_asm, {.distinct_names = distinct});
        std::map<std::string, std::unordered_set<UOp, UOpHash>> by_name;
        for (const Scheduled& one : graph.kernels) by_name[one.kernel.name].insert(one.kernel.sink);
        size_t most = 0;
        for (const auto& [name, sinks] : by_name) most = std::max(most, sinks.size());
        EXPECT_EQ(most, distinct ? 1u : 2u);
    }
}

TEST(CompileGraph, ACallerSeesEachStepBeforeLaterSchedulesAreChosen) {
    GraphScope scope;
    std::vector<std::string> log;
    GraphOptions options{.code = direct};
    options.schedule = [&](const KernelStart& start) {
        log.push_back("schedule " + std::to_string(start.buffers.size()));
        return heuristic(start.kernel, by_asm);
    };
    options.made = [&](const CompiledGraph& graph, size_t step) {
        const uint32_t kernel = graph.executable.steps[step].kernel;
        EXPECT_TRUE(kernel == kNone || graph.executable.kernels[kernel].code);
        log.push_back("step");
    };
    const UOp one = contiguous(filled({8, 16}) + number(1));
    (void)compile_graph(std::vector<UOp>{sum(one, {1}), contiguous(permute(one, {1, 0}))}, by_asm, options);
    EXPECT_EQ(log, (std::vector<std::string>{"schedule 2", "step", "schedule 2", "step", "schedule 2", "step"}));
}

TEST(CompileGraph, WhatIsInMemoryIsNotComputedAgain) {
    GraphScope scope;
    const UOp x = filled({16}), value = contiguous(x + number(1)), held = filled({16});
    GraphOptions options{.in_memory = [&](UOp u) { return u == value ? held : UOp(); }};
    const CompiledGraph graph = compile_graph(std::vector<UOp>{value * number(2)}, by_asm, options);
    ASSERT_EQ(graph.executable.steps.size(), 1u);
    EXPECT_EQ(graph.operands[0], buffer_under(held));
}

}  // namespace
}  // namespace strata::codegen
