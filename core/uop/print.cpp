#include <fmt/format.h>

#include "strata/core/uop/uop.h"

namespace strata {

std::string to_string(const Shape& shape) {
    std::string out = "(";
    for (size_t i = 0; i < shape.size(); ++i) out += fmt::format("{}{}", i ? ", " : "", shape[i]);
    return out + (shape.size() == 1 ? ",)" : ")");
}

std::string to_string(UOp u) {
    if (!u) return "(none)";
    std::string out(info(u.op()).name);
    if (u.dtype().scalar != Scalar::none) {
        out += fmt::format(" {}", u.dtype().name());
        if (u.dtype().lanes > 1) out += fmt::format("x{}", u.dtype().lanes);
    }
    if (!u.shape().empty()) out += fmt::format(" {}", to_string(u.shape()));
    if (std::string arg = to_string(u.arg(), u.dtype()); !arg.empty()) out += fmt::format(" {}", arg);
    return out;
}

std::string tree(UOp root) {
    std::string out;
    UOpMap<int> number;
    for (UOp u : toposort(root)) {
        int id = static_cast<int>(number.size());
        number[u] = id;
        out += fmt::format("%{} = {}", id, to_string(u));
        for (size_t i = 0; i < u.src().size(); ++i) out += fmt::format("{}%{}", i ? ", " : "  <- ", number[u.src()[i]]);
        out += "\n";
    }
    return out;
}

}  // namespace strata
