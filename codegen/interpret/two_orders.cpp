// two_orders: a kernel whose threads take their turns in two orders between barriers leaves the same in both.
#include <fmt/format.h>

#include <algorithm>

#include "strata/codegen/interpret/interpret.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

/// True if the order may show: in what atomics find, and in sums of floats.
bool may_differ(std::span<const UOp> ops) {
    return std::ranges::any_of(ops, [](UOp u) {
        if (u.is(Op::fetched)) return true;
        const bool is_atomic = u.is(Op::atomic_add) || u.is(Op::atomic);
        return is_atomic && (u.src(1).dtype().is_float() || u.src().size() > 2 ||
                             (u.is(Op::atomic) && u.as<AtomicArg>().operation == AtomicOp::exchange));
    });
}

UOp writer_of(std::span<const UOp> ops, int slot) {
    const auto writes = [&](UOp u) {
        if (!writes_memory(u)) return false;
        const ParamArg& memory = memory_of(u).as<ParamArg>();
        return memory.space == Space::global && memory.slot == slot;
    };
    const auto found = std::ranges::find_if(ops, writes);
    return found == ops.end() ? ops.back() : *found;
}

}  // namespace

std::optional<Finding> interpret_in_two_orders(std::span<const UOp> ops, const InterpretedLaunch& launch,
                                               std::span<const InterpretedArgument> arguments) {
    std::vector<std::vector<uint8_t>> copies;
    for (const InterpretedArgument& argument : arguments)
        copies.emplace_back(argument.bytes.begin(), argument.bytes.end());
    if (auto wrong = interpret(ops, launch, arguments)) return wrong;
    std::vector<InterpretedArgument> others(arguments.begin(), arguments.end());
    for (size_t i = 0; i < others.size(); ++i) others[i].bytes = copies[i];
    InterpretedLaunch backwards = launch;
    backwards.from_last_thread = !launch.from_last_thread;
    backwards.observe = {};
    if (auto wrong = interpret(ops, backwards, others)) return wrong;
    if (may_differ(ops)) return {};
    for (size_t slot = 0; slot < others.size(); ++slot)
        if (!std::ranges::equal(copies[slot], arguments[slot].bytes))
            return Finding{
                ErrorKind::Check,
                fmt::format("the bytes of parameter {} depend on the order in which threads take their turns: put a "
                            "barrier between threads that share memory",
                            slot),
                writer_of(ops, static_cast<int>(slot))};
    return {};
}

}  // namespace strata::codegen
