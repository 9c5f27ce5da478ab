#pragma once
#include <vector>

#include "strata/codegen/linear/linear.h"

namespace strata::codegen {

/// Where the text writes each node of a program, by its place in the list.
struct InlinePlan {
    enum class Form : uint8_t {
        statement,  ///< loops, effects
        named,      ///< a constant of its own
        inlined,    ///< written where it is used
    };
    std::vector<Form> form;
    std::vector<size_t> statement;  ///< place of the statement or named value that an inlined node is written in
    std::vector<bool> addresses;    ///< computes an offset or predicate
    UOpMap<UOp> conditions;         ///< loops of one step that threads leave before anything else, and for which
    std::vector<bool> declares;     ///< a store that is the first use of its register, within the scope of all others
};

/// A value used once is written where it is used. It is not if that would move it into a loop, or a load past a store
/// or barrier. Each load of a user's kernel for AMD is a statement: line tables name its line, not that of its use.
InlinePlan plan_inlining(const LinearProgram& program, const Target& target);

}  // namespace strata::codegen
