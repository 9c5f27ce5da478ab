// loaded_sequence: runs what an artifact holds, in order, over memory that it is given.
#include "strata/runtime/loaded_sequence.h"

#include <array>
#include <cstring>

#include "strata/runtime/run_program_p.h"

namespace strata::runtime {

using Kind = executable::SequenceArgument::Kind;

LoadedSequence::LoadedSequence(Device& device, std::shared_ptr<const executable::Sequence> sequence,
                               std::vector<std::shared_ptr<Buffer>> constants)
    : device_(device), sequence_(std::move(sequence)), constants_(std::move(constants)) {
    if (device.arch().name() != sequence_->arch)
        user_error(ErrorKind::Device, "this code is of {} and the device {} is {}", sequence_->arch, device.name(),
                   device.arch().name());
    for (const std::shared_ptr<Buffer>& constant : constants_) addresses_.push_back(constant->address());
    for (const executable::Kernel& kernel : sequence_->kernels) {
        executable::Code code = *kernel.code;
        code.places = {};  // a step says where its arguments go, and has the counter
        programs_.push_back(Program::load(device, std::move(code)));
    }
}

uint64_t LoadedSequence::value_of(const executable::SequenceArgument& argument, const Memory& memory) const {
    const auto at = static_cast<size_t>(argument.value);
    switch (argument.kind) {
        case Kind::operand: return memory.operands[at];
        case Kind::constant: return addresses_[at];
        case Kind::workspace: return memory.workspace + argument.value;
        case Kind::number: return memory.numbers[at];
        case Kind::bits: break;
    }
    return argument.value;
}

void LoadedSequence::launch(const executable::SequenceStep& step, const Memory& memory) const {
    alignas(uint64_t) std::array<uint8_t, 512> few{};
    std::vector<uint8_t> many;
    const size_t bytes = step.argument_bytes();
    if (bytes > few.size()) many.resize(bytes);
    const std::span<uint8_t> packed = many.empty() ? std::span(few).first(bytes) : std::span(many);
    for (const executable::SequenceArgument& argument : step.arguments) {
        const uint64_t value = value_of(argument, memory);
        std::memcpy(&packed[argument.offset], &value, argument.bytes);
    }
    const Program& program = *programs_[step.kernel];
    const LaunchShape shape{step.grid, step.block, step.lds};
    run_program(program, shape, step.bytes, [&] {
        providers::LaunchRequest request{.last_waits = step.last_waits, .in_place = true};
        return program.launch(shape, packed, wait_for(device_), Sample::usual, std::move(request));
    });
}

void LoadedSequence::run(const Memory& memory) const {
    static constexpr std::array<uint8_t, executable::kAlignment> kZeros{};
    const auto copy = [&](providers::CopyKind kind, uint64_t to, uint64_t from, size_t bytes) {
        device_
            .started([&](providers::StreamHandle* stream) {
                return device_.api().memcpy_async(stream, kind, to, from, bytes);
            })
            .value();
    };
    if (sequence_->cleared > 0)
        copy(providers::CopyKind::to_device, memory.workspace, reinterpret_cast<uint64_t>(kZeros.data()),
             sequence_->cleared);
    for (const executable::SequenceStep& step : sequence_->steps) {
        if (step.is_copy())
            copy(providers::CopyKind::on_device, value_of(step.arguments[0], memory),
                 value_of(step.arguments[1], memory), step.bytes);
        else
            launch(step, memory);
    }
}

}  // namespace strata::runtime
