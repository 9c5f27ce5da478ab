#pragma once
#include <functional>
#include <optional>
#include <span>
#include "strata/codegen/optimize/action.h"

namespace strata::codegen {

/// An action about to be applied: to axes[at] of the ranges that it may name.
struct Site {
    const Kernel& kernel;
    std::span<const UOp> axes;
    size_t at;
    int64_t amount;
    const Target& target;
    const std::function<Result<Kernel>(ActionKind)>&
        by;  ///< another action at the same place, which may name the same ranges

    UOp range() const { return axes[at]; }
};

/// The kernel after an action; Usage error when it does not fit.
using Change = Result<Kernel>(const Site& site);

/// Applies another action to a kernel.
using Others = std::function<Result<Kernel>(const Action&)>;
/// For who knows some of them already.
Result<Kernel> apply(const Kernel& kernel, const Action& action, const Target& target, const Others& others);

/// How far an access moves in memory when `range` steps from 0 to 1; nothing where that is not one number.
std::optional<int64_t> step_of(UOp offset, UOp range);
/// The same where all other ranges are at their start; far where it moves back or stays.
int64_t first_step(UOp offset, UOp range);

namespace actions {
#define ACTION(name, ...) Change name;
#include "strata/codegen/optimize/actions.def"
#undef ACTION
}  // namespace actions

/// Ranges that an action may name, as bits.
enum RangeKind : unsigned { kOutput = 1, kReduction = 2, kMatrices = 4 };

/// One row of actions.def; its place is its ActionKind.
struct ActionRow {
    std::string_view name;
    unsigned ranges;        ///< of RangeKind
    std::string_view what;  ///< it does, for people
    Change* change;
    std::vector<int64_t> amounts;
};
std::span<const ActionRow> action_rows();
bool makes_tiles(ActionKind kind);

}  // namespace strata::codegen
