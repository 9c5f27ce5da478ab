#include "strata/runtime/kernel_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "strata/codegen/driver/route.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/replay.h"
#include "strata/runtime/run_program_p.h"

namespace strata::runtime {
std::vector<providers::DevicePtr> addresses(std::span<const UOp> buffers) {
    std::vector<providers::DevicePtr> out;
    for (UOp b : buffers) out.push_back(find_buffer(b)->address());
    return out;
}

KernelCall::KernelCall(Device& device, const CustomLaunch& launch, size_t tensors)
    : program_(runtime::program(device, *launch.kernel)), route_(codegen::route_in_force(device.arch())) {
    take(launch, tensors);
}

void KernelCall::take(const CustomLaunch& launch, size_t tensors) {
    const executable::Code& code = program_->code;
    shape_ = shape_of(launch, code);
    if (!shape_.grid[0] || !shape_.block[0])
        user_error(ErrorKind::Launch, "kernel '{}' has no {}: give grid= (workgroups) and block= (threads of one)",
                   code.entry, shape_.grid[0] ? "block" : "grid");
    const std::vector<Argument> only_tensors(launch.arguments.empty() ? tensors : 0);
    const std::span<const Argument> arguments = launch.arguments.empty() ? only_tensors : launch.arguments;
    writes_.clear(), parameters_.clear();
    if (const auto* graph = std::get_if<codegen::Kernel>(&launch.kernel->body)) {
        take_slots(arguments, launch.kernel->loaded->written_slots(graph->sink));
        return;
    }
    if (std::holds_alternative<executable::Code>(launch.kernel->body)) {
        take_slots(arguments, launch.kernel->loaded->written_slots({}));
        return;
    }
    arguments_ = PackedArguments::pack(code, arguments).value();
    parameters_ = arguments_->tensor_parameters();
    for (size_t place : parameters_) {
        const bool is_described = place < code.parameters.size() && code.parameters[place].is_described;
        writes_.push_back(is_described ? std::optional(code.parameters[place].writable) : std::nullopt);
    }
}

/// Takes the slots of a graph: each argument has the slot of its place.
void KernelCall::take_slots(std::span<const Argument> arguments, const std::vector<size_t>& written) {
    const executable::Code& code = program_->code;
    slots_.assign(arguments.size(), 0);
    for (size_t slot = 0; slot < arguments.size(); ++slot) {
        const auto place = std::ranges::find(code.places, static_cast<int>(slot), &executable::ParameterPlace::slot);
        const auto* number = std::get_if<Argument::Number>(&arguments[slot].value);
        const bool tensor = std::holds_alternative<Argument::Tensor>(arguments[slot].value);
        const auto* address = std::get_if<Argument::Address>(&arguments[slot].value);
        if (place != code.places.end() && (place->number ? !number : !tensor && !address))
            user_error(ErrorKind::Launch, "kernel '{}', parameter {}: the graph has {} there", code.entry, slot,
                       place->number ? fmt::format("a number ({})", place->number->name()) : "a buffer");
        if (tensor) {
            parameters_.push_back(slot);
            writes_.push_back(std::ranges::binary_search(written, slot));
        } else if (address) {
            slots_[slot] = address->address;
        } else if (place != code.places.end()) {
            slots_[slot] = bits_of_number(*number, *place->number).value();
        }
    }
}

void KernelCall::rest() {
    resting_ = program_;
    if (!arguments_) program_.reset();
}

bool KernelCall::wake(const Device& device) {
    if (!program_) program_ = resting_.lock();
    return program_ && &program_->device() == &device && program_->has_wanted_text() &&
           route_ == codegen::route_in_force(device.arch());
}

std::unique_ptr<KernelCall> IdleCalls::find(const Device& device) {
    std::lock_guard lock(mutex_);
    for (size_t i = idle_.size(); i-- > 0;) {
        std::unique_ptr<KernelCall> call = std::move(idle_[i]);
        if (call->wake(device)) {
            idle_.erase(idle_.begin() + static_cast<ptrdiff_t>(i));
            return call;
        }
        call->rest();
        idle_[i] = std::move(call);
    }
    return nullptr;
}

void IdleCalls::add(std::unique_ptr<KernelCall> call) {
    std::unique_ptr<KernelCall> last;  // freed outside the lock
    call->rest();
    std::lock_guard lock(mutex_);
    if (idle_.size() == kMost) {
        last = std::move(idle_.front());
        idle_.erase(idle_.begin());
    }
    idle_.push_back(std::move(call));
}

TakenCall::TakenCall(Device& device, const CustomLaunch& launch, size_t tensors)
    : from_(launch.kernel->loaded->idle_calls()), call_(from_.find(device)) {
    if (call_)
        call_->take(launch, tensors);
    else
        call_ = std::make_unique<KernelCall>(device, launch, tensors);
}

TakenCall::~TakenCall() { from_.add(std::move(call_)); }

void KernelCall::check_types(std::span<const std::shared_ptr<Buffer>> memory) const {
    const executable::Code& code = program_->code;
    for (size_t i = 0; i < memory.size() && arguments_; ++i) {
        if (parameters_[i] >= code.parameters.size()) continue;
        const executable::Parameter& p = code.parameters[parameters_[i]];
        const DType type = memory[i]->dtype();
        if (points_to(p, type)) continue;
        user_error(
            ErrorKind::DType,
            "kernel '{}', parameter {} ({} {}): the tensor is of {}; give tensor.cast(\"{}\"), or bitcast for the "
            "same bits",
            code.entry, parameters_[i], p.type, p.name, type.name(), p.pointee->name());
    }
}

bool KernelCall::tells_writes() const {
    return std::ranges::all_of(writes_, [](const std::optional<bool>& writes) { return writes.has_value(); });
}

Launched KernelCall::launch(std::span<const std::shared_ptr<Buffer>> memory) {
    check_types(memory);
    std::vector<providers::DevicePtr> addresses;
    for (const std::shared_ptr<Buffer>& buffer : memory) addresses.push_back(buffer->address());
    for (size_t i = 0; i < memory.size(); ++i) memory[i]->order(writes_[i].value_or(true));
    return launch_at(addresses);
}

void run_call(KernelCall& call, std::span<const std::shared_ptr<Buffer>> memory) {
    if (Recorder* recorder = Recorder::active()) recorder->called(call, memory);
    uint64_t bytes = 0;
    for (const std::shared_ptr<Buffer>& buffer : memory) bytes += buffer->bytes();
    run_program(*call.program(), call.shape(), bytes, [&] { return call.launch(memory); });
}

Launched KernelCall::launch_at(std::span<const providers::DevicePtr> memory) {
    if (arguments_) {  // the bodies of these promise what their parameters say, and may break it by a cast
        providers::LaunchRequest asked;
        for (size_t i = 0; i < memory.size(); ++i)
            (writes_[i].value_or(true) ? asked.written : asked.read_only).push_back(memory[i]);
        return program_->launch(shape_, arguments_->bytes(memory), Wait::yes, Sample::usual, std::move(asked));
    }
    for (size_t i = 0; i < memory.size(); ++i) slots_[parameters_[i]] = memory[i];
    return program_->with_arguments(slots_, [&](std::span<const uint8_t> packed) {
        program_->order();
        return program_->launch(shape_, packed, Wait::yes, Sample::usual, {.in_place = true});
    });
}

bool KernelCall::same_arguments(const KernelCall& other) const {
    const bool same_shape = shape_.grid == other.shape_.grid && shape_.block == other.shape_.block &&
                            shape_.dynamic_lds == other.shape_.dynamic_lds;
    if (!same_shape || parameters_ != other.parameters_ || bool(arguments_) != bool(other.arguments_)) return false;
    if (arguments_) {
        const std::vector<providers::DevicePtr> nowhere(parameters_.size());
        std::optional<PackedArguments> mine = arguments_, others = other.arguments_;
        return std::ranges::equal(mine->bytes(nowhere), others->bytes(nowhere));
    }
    std::vector<uint64_t> mine = slots_, others = other.slots_;
    for (size_t at : parameters_) mine[at] = others[at] = 0;
    return mine == others;
}

}  // namespace strata::runtime
