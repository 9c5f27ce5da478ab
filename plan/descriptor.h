#pragma once
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "strata/core/dtype/dtype.h"
#include "strata/core/uop/args.h"

namespace strata::plan {

/// An operand without memory.
struct Spec {
    DType dtype;
    Shape shape;
    std::optional<Shape> strides = {};  ///< in elements; none: row-major
};

/// The value of an attribute: whole numbers and bools are lists of one.
using Value = std::variant<std::vector<int64_t>, double, std::string>;

/// An operation of ops.def by its name, with operands and attributes by theirs. Outputs may be left out: they are
/// row-major then.
struct Descriptor {
    std::string operation;
    std::map<std::string, Spec, std::less<>> tensors = {};
    std::map<std::string, Value, std::less<>> attributes = {};
};

/// How an operation is to be done. What cannot be met is an error, never another way.
struct Preference {
    std::string target = {};                     ///< "asm", "hip"; "": by the settings
    bool deterministic = false;                  ///< two runs give the same bits
    std::optional<uint64_t> max_workspace = {};  ///< bytes; none: any
    int beam = 0;                                ///< width of the schedule search; 0: by the settings
};

}  // namespace strata::plan
