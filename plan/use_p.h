#pragma once
#include <map>
#include <string>
#include <vector>

#include "strata/plan/row.h"
#include "strata/plan/status.h"

namespace strata::plan {

/// A descriptor whose names and attributes are those of its operation.
struct Use {
    Operation operation;
    std::string_view gradient = {};  ///< of a backward operation: the name of the operand that arrives
    struct Input {
        std::string name;
        Spec spec;
        size_t place = 0;  ///< among the operands of the row; kGradient: none of them
        OperandRow::Kind kind = OperandRow::Kind::main;
    };
    static constexpr size_t kGradient = ~size_t{0};
    std::vector<Input> inputs;                  ///< in the plan's order, without absent ones
    std::vector<std::string> outputs;           ///< names in the plan's order
    std::map<std::string, Spec> given_outputs;  ///< those that the descriptor says
};

/// Throws the first that is wrong: UNSUPPORTED an operation, ARGUMENT a name or its kind, UNSUPPORTED mixed types.
Use use_of(const Descriptor& descriptor);
/// INVALID axes, sizes, and what breaks the row's rule, in this order.
void check_shapes(const Use& use, const Descriptor& descriptor);
/// UNSUPPORTED ranks and types; INVALID sizes that no memory has.
void check_limits(const Use& use);
/// True if all sizes and strides of inputs are those of memory that there can be.
bool can_be_built(const Use& use);

inline constexpr size_t kMostRank = 8;

}  // namespace strata::plan
