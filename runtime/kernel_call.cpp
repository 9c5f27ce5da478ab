#include "strata/runtime/kernel_call.h"

#include <numeric>

#include "strata/runtime/buffer.h"

namespace strata::runtime {
namespace {

/// The slots of the parameters that a kernel's graph stores to.
std::vector<std::optional<bool>> stored_slots(UOp sink, size_t count) {
    std::vector<std::optional<bool>> stored(count, false);
    for (UOp u : toposort(sink)) {
        if (!u.is(Op::store) && !u.is(Op::atomic_add)) continue;
        UOp memory = u.src(0);
        while (!memory.is(Op::param)) memory = memory.src(0);
        const auto& param = memory.as<ParamArg>();
        if (param.space == Space::global && static_cast<size_t>(param.slot) < count)
            stored[static_cast<size_t>(param.slot)] = true;
    }
    return stored;
}

}  // namespace

std::vector<hip::DevicePtr> addresses(std::span<const UOp> buffers) {
    std::vector<hip::DevicePtr> out;
    for (UOp b : buffers) out.push_back(find_buffer(b)->address());
    return out;
}

KernelCall::KernelCall(Device& device, const CustomLaunch& launch, size_t tensors)
    : program_(runtime::program(device, *launch.kernel)), shape_(shape_of(launch, program_->code)) {
    const codegen::Compiled& code = program_->code;
    if (!shape_.grid[0] || !shape_.block[0])
        user_error(ErrorKind::Launch, "kernel '{}' has no {}: give grid= (workgroups) and block= (threads of one)",
                   code.entry, shape_.grid[0] ? "block" : "grid");
    if (const auto* graph = std::get_if<codegen::Kernel>(&launch.kernel->body)) {
        parameters_.resize(tensors);
        std::iota(parameters_.begin(), parameters_.end(), size_t{0});
        writes_ = stored_slots(graph->sink, tensors);
        return;
    }
    const std::vector<Argument> only_tensors(launch.arguments.empty() ? tensors : 0);
    arguments_ = PackedArguments::pack(code, launch.arguments.empty() ? only_tensors : launch.arguments).value();
    parameters_ = arguments_->tensor_parameters();
    for (size_t place : parameters_) {
        const bool told = place < code.parameters.size() && code.parameters[place].told;
        writes_.push_back(told ? std::optional(code.parameters[place].writable) : std::nullopt);
    }
}

Launched KernelCall::launch(std::span<const UOp> buffers) {
    if (!arguments_) return program_->launch(addresses(buffers));
    return program_->launch(shape_, arguments_->bytes(addresses(buffers)));
}

}  // namespace strata::runtime
