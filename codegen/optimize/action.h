#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strata/codegen/kernel/kernel.h"
#include "strata/codegen/target/target.h"
#include "strata/core/support/result.h"

namespace strata::codegen {

/// The kinds of a schedule's steps; the rows of actions.def describe each.
enum class ActionKind : uint8_t {
#define ACTION(name, ...) name,
#include "strata/codegen/optimize/actions.def"
#undef ACTION
};

/// One step of a schedule. `axis` counts the ranges that the action may name, in the order of axes_of().
struct Action {
    ActionKind kind;
    int axis = 0;
    int64_t amount = 0;
    bool operator==(const Action&) const = default;
};

std::string to_string(const Action& action);             ///< "upcast(0, 4)"
std::string to_string(std::span<const Action> actions);  ///< "upcast(0, 4) local(0, 64)"
Result<std::vector<Action>> parse_actions(std::string_view text);

/// The actions that the search can try, as text. It changes when an action is added or tried with other amounts;
/// results of earlier searches are then out of date.
std::string action_rules();

/// The kernel with its output ranges spread over the grid: what every schedule starts from.
Kernel start_schedule(const Kernel& kernel);

/// The ranges that an action of this kind may name, in order of their ids.
std::vector<UOp> axes_of(const Kernel& kernel, ActionKind kind);

/// The kernel after the action. Usage error when the axis does not exist, the amount does not divide it, or the block
/// would grow past the target's limit.
Result<Kernel> apply(const Kernel& kernel, const Action& action, const Target& target);
Result<Kernel> apply_all(const Kernel& kernel, std::span<const Action> actions, const Target& target);

/// The finish of a kernel (codegen/kernel/last_block.h), on which no action acts, spread over the threads of its block,
/// or of its first wave.
Kernel spread_finish(const Kernel& kernel, const Target& target);

/// Threads of a block that the kernel's local and group ranges ask for.
int64_t block_size(const Kernel& kernel);

/// A kernel and the actions that made it from start_schedule's.
struct Scheduled {
    Kernel kernel;
    std::vector<Action> actions;
};

/// A schedule by hand-written rules. It has wide loads along memory, blocks of 64 to 256 threads, tiles for matrix
/// products, and reductions over threads where there are few results.
Scheduled heuristic(const Kernel& kernel, const Target& target);

/// Actions that may be applied, drawn by the seed and the kernel: for tests, as none of them may change its values.
Scheduled random_schedule(const Kernel& kernel, const Target& target, uint64_t seed);

}  // namespace strata::codegen
