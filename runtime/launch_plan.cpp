#include "strata/runtime/launch_plan.h"

#include <algorithm>

#include "strata/codegen/driver/compile_graph.h"
#include "strata/core/support/settings.h"
#include "strata/executable/memory.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/kernel_call.h"
#include "strata/runtime/replay.h"
#include "strata/runtime/run_program_p.h"

namespace strata::runtime {

using executable::kNone;

LaunchPlan::LaunchPlan(const codegen::CompiledGraph& graph, const Loaded& programs) : executable_(graph.executable) {
    STRATA_CHECK(programs.size() == executable_.kernels.size(), "{} programs of {} kernels", programs.size(),
                 executable_.kernels.size());
    for (executable::Kernel& kernel : executable_.kernels) kernel.code = nullptr;  // the programs have it
    for (size_t i = 0; i < programs.size(); ++i) kernels_.push_back({graph.kernels[i].kernel.sink, programs[i]});
    for (size_t i = 0; i < graph.roots.size(); ++i) roots_.push_back(view_of(graph.roots[i], executable_.results[i]));
    look_for_donors();
    for (size_t s = 0; s < executable_.steps.size(); ++s) {
        std::vector<View>& held = held_.emplace_back();
        for (size_t slot = 0; slot < graph.kept[s].size(); ++slot)
            held.push_back(graph.kept[s][slot] ? view_of(graph.kept[s][slot], executable_.steps[s].operands[slot])
                                               : View());
    }
}

void LaunchPlan::look_for_donors() {
    takes_inputs_ = std::ranges::any_of(std::span(executable_.operands).first(executable_.inputs),
                                        [](const executable::Operand& input) { return input.heir != kNone; });
}

LaunchPlan::View LaunchPlan::view_of(UOp u, uint32_t operand) {
    View view{.operand = operand};
    for (; info(u.op()).is(kMovement); u = u.src(0)) view.movements.push_back({u.op(), u.arg()});
    STRATA_CHECK(u.is(Op::buffer), "a result is no view of memory: {}", to_string(u));
    std::ranges::reverse(view.movements);
    return view;
}

size_t LaunchPlan::bytes() const {
    return sizeof *this + executable_.host_bytes() + kernels_.size() * sizeof(Kernel) + roots_.size() * sizeof(View) +
           held_.size() * sizeof(std::vector<View>);
}

std::optional<LaunchPlan::Loaded> LaunchPlan::programs(const Device& device) const {
    Loaded loaded;
    for (const Kernel& kernel : kernels_) {
        loaded.push_back(context().programs.find(kernel.key, device));
        if (!loaded.back() || loaded.back() != kernel.program.lock()) return std::nullopt;
        if (!loaded.back()->has_wanted_text()) return std::nullopt;
    }
    return loaded;
}

void PlannedCall::run(std::span<const std::shared_ptr<Buffer>> memory, std::vector<Root> held) const {
    run_call(*kernel, memory);
    if (!kernel->tells_writes()) context().results.forget_all();
    context().custom.remember(node, std::move(held));
}

/// One run of a plan: what its memory is.
class PlanRun {
  public:
    PlanRun(const LaunchPlan& plan, Device& device, const LaunchPlan::Loaded& programs, LaunchPlan::Run&& with)
        : plan_(plan),
          exe_(plan.executable_),
          programs_(programs),
          with_(with),
          device_(device),
          shares_(settings().check == "off" && !settings().check_races),
          nodes_(exe_.operands.size()),
          memory_(std::move(with.memory)),
          scratch_(exe_.places) {
        std::ranges::copy(with.inputs, nodes_.begin());
        memory_.resize(nodes_.size());
        if (plan.takes_inputs_)
            for (size_t at = 0; at < exe_.inputs; ++at)
                if (const uint32_t heir = exe_.operands[at].heir; heir != kNone) memory_[heir] = memory_[at];
        for (size_t at = exe_.inputs; at < nodes_.size(); ++at) {
            const executable::Operand& made = exe_.operands[at];
            if (made.role != executable::Role::result || memory_[at]) continue;
            nodes_[at] = new_buffer(device, made.dtype, made.elements);
            kept_.emplace_back(nodes_[at]);
            memory_[at] = find_buffer(nodes_[at]);
        }
    }

    void run(size_t number) {
        const executable::Step& step = exe_.steps[number];
        if (plan_.takes_inputs_) take_over(step);
        if (step.is_copy())
            copy_memory(memory(step.operands[1]), memory(step.operands[0]));
        else if (step.call != kNone)
            call(step, plan_.held_[number]);
        else
            launch(step);
        for (uint32_t place : step.freed) scratch_[place].reset();
    }

    Root view(const LaunchPlan::View& view) const {
        UOp u = nodes_[view.operand];
        for (const LaunchPlan::Movement& m : view.movements) u = make(m.op, u.dtype(), {u}, m.arg);
        return Root(u);
    }

    /// True if an operand was filled over an input.
    bool took_input(uint32_t at) const {
        const auto inputs = std::span(exe_.operands).first(exe_.inputs);
        return nodes_[at] && std::ranges::find(inputs, at, &executable::Operand::heir) != inputs.end();
    }

  private:
    /// Results that the step fills over inputs have nodes from now on.
    void take_over(const executable::Step& step) {
        for (const executable::InPlace& pair : step.in_place) {
            const uint32_t from = step.operands[static_cast<size_t>(pair.input)],
                           to = step.operands[static_cast<size_t>(pair.output)];
            if (from >= exe_.inputs || exe_.operands[from].heir != to) continue;
            nodes_[to] = context().buffers.take_over(nodes_[from]);
            kept_.emplace_back(nodes_[to]);
        }
    }

    void launch(const executable::Step& step) {
        slots_.clear();
        slots_.reserve(step.operands.size() + step.numbers.size());
        for (uint32_t at : step.operands) {
            Buffer& buffer = memory(at);
            slots_.push_back(buffer.address());
            buffer.order(at >= exe_.inputs);
        }
        for (const executable::Number& number : step.numbers)
            slots_.push_back(number.place < 0 ? number.bits : with_.numbers[static_cast<size_t>(number.place)]);
        const Program& program = *programs_[step.kernel];
        if (Recorder* recorder = Recorder::active()) {
            const std::vector<std::shared_ptr<Buffer>> used = buffers(step);
            recorder->launched(programs_[step.kernel], used, std::span(slots_).subspan(used.size()), step.in_place);
        }
        run_program(program, {program.code.grid, program.code.block}, step.bytes,
                    [&] { return program.launch(slots_, wait_for(device_)); });
    }

    void call(const executable::Step& step, const std::vector<LaunchPlan::View>& kept) {
        std::vector<Root> held;
        for (const LaunchPlan::View& one : kept) held.push_back(one.operand == kNone ? Root() : view(one));
        with_.calls[step.call].run(buffers(step), std::move(held));
    }

    std::vector<std::shared_ptr<Buffer>> buffers(const executable::Step& step) {
        std::vector<std::shared_ptr<Buffer>> used;
        for (uint32_t at : step.operands) used.push_back(memory(at).shared_from_this());
        return used;
    }

    /// Strict mode sees each value in memory of its own, or over the input that it is written over.
    Buffer& memory(uint32_t at) {
        const executable::Operand& made = exe_.operands[at];
        if (made.role != executable::Role::workspace) return *memory_[at];
        std::shared_ptr<Buffer>& last = memory_[executable::last_heir(exe_, at)];
        if (made.place == kNone) return *last;
        std::shared_ptr<Buffer>& held = shares_ ? scratch_[made.place] : last;
        if (!held) held = std::make_shared<Buffer>(device_, made.dtype, made.elements);
        return *held;
    }

    const LaunchPlan& plan_;
    const executable::Executable& exe_;
    const LaunchPlan::Loaded& programs_;
    const LaunchPlan::Run& with_;
    Device& device_;
    bool shares_;
    std::vector<UOp> nodes_;  ///< by operand; none of the workspace
    std::vector<std::shared_ptr<Buffer>> memory_, scratch_;
    std::vector<uint64_t> slots_;  ///< of the step that is launched
    std::vector<Root> kept_;
};

std::vector<Root> LaunchPlan::run(Device& device, const Loaded& programs, Run with) const {
    PlanRun run(*this, device, programs, std::move(with));
    try {
        for (size_t step = 0; step < executable_.steps.size(); ++step) run.run(step);
    } catch (...) {
        for (size_t i = 0; takes_inputs_ && i < roots_.size(); ++i)
            if (run.took_input(roots_[i].operand)) with.keep(i, run.view(roots_[i]));
        throw;
    }
    std::vector<Root> views;
    for (const View& root : roots_) views.push_back(run.view(root));
    return views;
}

}  // namespace strata::runtime
