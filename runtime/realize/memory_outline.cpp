#include "strata/runtime/memory_outline.h"

#include <fmt/format.h>

#include <algorithm>

#include "strata/codegen/driver/compile_kernel.h"
#include "strata/codegen/schedule/named_storage.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/launch_plan.h"
#include "strata/runtime/search/search.h"

namespace strata::runtime {
namespace {

std::string described(DType type, const Shape& shape) { return fmt::format("{} {}", type.name(), to_string(shape)); }

/// A step as LaunchPlan takes it, but for its program.
PlannedStep step_of(const codegen::ScheduleItem& item, codegen::SharedKernels& kernels, std::string& name) {
    if (item.body.is(Op::custom)) {
        PlannedStep step;
        for (UOp view : item.body.src()) step.buffers.push_back(buffer_under(view));
        name = find_custom(item.body.as<CustomArg>().id)->kernel->name;
        return step;
    }
    if (UOp copied = item.beside.empty() ? whole_buffer(item.body) : UOp()) {
        name = "copy";
        return {.buffers = {item.output, copied}};
    }
    codegen::SharedKernels::Use use = kernels.start(item);
    const codegen::Kernel& kernel = kernels.all()[use.kernel];
    name = kernel.name;
    return {.buffers = std::move(use.buffers), .in_place = codegen::in_place(kernel.sink)};
}

}  // namespace

MemoryOutline memory_outline(std::span<const UOp> roots) {
    GraphScope scope;
    codegen::NamedStorage storage;
    const codegen::Schedule schedule = codegen::make_schedule(roots, storage, usual_fusion());
    codegen::SharedKernels kernels;
    MemoryOutline out;
    std::vector<PlannedStep> steps;
    UOpMap<std::pair<size_t, FilledMemory>> made;  // by buffer: the step
    for (const codegen::ScheduleItem& item : schedule.items) {
        steps.push_back(step_of(item, kernels, out.steps.emplace_back()));
        const auto note = [&](const auto& self, const codegen::ScheduleItem& part) -> void {
            made.try_emplace(part.output, out.steps.size() - 1,
                             FilledMemory{.value = described(part.body.dtype(), part.body.shape()),
                                          .why = std::string(to_string(part.why))});
            for (const codegen::ScheduleItem& other : part.beside) self(self, other);
            for (const codegen::ScheduleItem& last : part.finish) self(self, last);
        };
        if (!item.body.is(Op::custom)) note(note, item);
    }
    std::vector<UOp> inputs, filled;
    UOpMap<bool> seen;
    const auto meet = [&](UOp buffer) {
        if (seen.try_emplace(buffer, true).second) (made.contains(buffer) ? filled : inputs).push_back(buffer);
    };
    for (const PlannedStep& step : steps)
        for (UOp buffer : step.buffers) meet(buffer);
    for (UOp root : schedule.roots) meet(buffer_under(root));
    LaunchPlan::Loaded none;
    const LaunchPlan plan(steps, inputs, schedule.roots, none);
    out.kept = plan.bytes_at();
    const std::vector<LaunchPlan::Life> lives = plan.lives();
    for (size_t i = 0; i < filled.size(); ++i) {
        FilledMemory& memory = out.filled.emplace_back(made.at(filled[i]).second);
        memory.filled = made.at(filled[i]).first;
        memory.bytes = lives[i].bytes;
        memory.read = lives[i].last;
    }
    for (size_t i = 0; i < filled.size(); ++i)
        if (lives[i].heir >= 0) out.filled[static_cast<size_t>(lives[i].heir)].over = static_cast<int>(i);
    for (UOp input : inputs) {
        const int64_t size = input.as<BufferArg>().size;
        out.inputs.emplace_back(static_cast<uint64_t>(size * input.dtype().bytes()), described(input.dtype(), {size}));
    }
    return out;
}

}  // namespace strata::runtime
