#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/codegen/kernel/kernel.h"
#include "strata/codegen/target/target.h"
#include "strata/core/support/result.h"
#include "strata/core/uop/places.h"
#include "strata/core/uop/scopes.h"
#include "strata/executable/parameter.h"

namespace strata::codegen {

/// A kernel as a list in order of execution. `range` opens a loop that the matching `end` (effect, range) closes. Grid
/// and block axes are `special`, index arithmetic is int32 or int64, and memory may be accessed as vectors (load, vec,
/// lane). Every node stands once, after its sources; what is computed in a loop is used in that loop. Sources may be
/// `after` and `group` nodes, which are not in the list: look through them. A load reads at its place in the list.
struct LinearProgram {
    std::string name;
    std::vector<UOp> ops;
    std::vector<UOp> params;                 ///< global Op::param and Op::define_var by slot; unused slots are absent
    std::array<uint32_t, 3> grid{1, 1, 1};   ///< workgroups
    std::array<uint32_t, 3> block{1, 1, 1};  ///< threads of a workgroup
    uint32_t lds = 0;                        ///< bytes of local params
    int waves = 0, registers = 0;            ///< SinkArg's
    bool has_counter = false;  ///< its last parameter, which no kernel names: a zero that each launch leaves one
    bool copies_ahead =
        false;  ///< what stores copy from global to local memory need be there from the next barrier on alone
    bool async_products =
        false;  ///< products of groups of waves in a loop need not be done before those of its next step
    const Places* places = nullptr;  ///< of a user's kernel: the line of its tree() that each operation comes from

    /// The line that `u` comes from, 0 where nothing tells.
    uint32_t line_of(UOp u) const { return places ? places->of(u) : 0; }
    /// The error with the line of the operation that it is about.
    Error about(UOp u, Error error) const;
};

/// The place of each parameter, one after the other as C lays them out.
std::vector<executable::ParameterPlace> parameter_places(const LinearProgram& program);

/// Lowers a kernel. A kernel that breaks the rules of kernel.h is an Error: Internal for Strata's own, Usage for a
/// user's (the message names the node).
Result<LinearProgram> linearize(const Kernel& kernel, const Target& target);

/// A kernel's nodes in order of execution, with its loops nested; no pass is applied.
Result<std::vector<UOp>> order(const Scopes& scopes);

}  // namespace strata::codegen
