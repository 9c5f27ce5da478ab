// use: checks what a descriptor says of one operation, before a graph is made.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "strata/plan/use_p.h"

namespace strata::plan {
namespace {

using Kind = OperandRow::Kind;
constexpr std::string_view kGradientName = "dy";

Operation operation_of(const std::string& name) {
    const Operation found = find_operation(name);
    if (!found.row) {
        const std::vector<std::string> close = close_names(name);
        plan_error(Status::unsupported, "", {}, "[plan] there is no operation '{}'{}; operations() lists them", name,
                   close.empty() ? "" : fmt::format("; close to it: {}", fmt::join(close, ", ")));
    }
    if (!found.row->function)
        plan_error(Status::unsupported, "", {}, "[plan] '{}' is not served by plans yet; use the functions of tensors",
                   name);
    return found;
}

/// Names of operands of an operation, for messages.
std::string known_names(const Use& use) {
    std::vector<std::string> names;
    for (const OperandRow& operand : use.operation.row->operands) names.push_back(operand.name);
    if (use.operation.is_backward) names.insert(names.begin(), std::string(kGradientName));
    names.insert(names.end(), use.outputs.begin(), use.outputs.end());
    return fmt::format("{}", fmt::join(names, ", "));
}

void collect(Use& use, const Descriptor& descriptor) {
    const Row& row = *use.operation.row;
    const auto given = [&](std::string_view name) {
        const auto found = descriptor.tensors.find(name);
        return found == descriptor.tensors.end() ? nullptr : &found->second;
    };
    if (use.operation.is_backward) {
        use.gradient = kGradientName;
        if (const Spec* spec = given(kGradientName)) use.inputs.push_back({"dy", *spec, Use::kGradient});
    } else {
        use.outputs = row.outputs;
    }
    for (size_t place = 0; place < row.operands.size(); ++place) {
        const OperandRow& operand = row.operands[place];
        const Spec* spec = given(operand.name);
        if (spec) use.inputs.push_back({operand.name, *spec, place, operand.kind});
        if (use.operation.is_backward && operand.kind == Kind::main && (spec || !operand.optional))
            use.outputs.push_back("d" + operand.name);
    }
    for (const std::string& output : use.outputs)
        if (const Spec* spec = given(output)) use.given_outputs.emplace(output, *spec);
}

void check_unknown(const Use& use, const Descriptor& descriptor) {
    const Row& row = *use.operation.row;
    for (const auto& [name, spec] : descriptor.tensors) {
        const bool known = std::ranges::find(use.inputs, name, &Use::Input::name) != use.inputs.end() ||
                           use.given_outputs.contains(name);
        if (!known)
            plan_error(Status::argument, name, {}, "[plan] '{}' has no operand '{}'; it has {}", descriptor.operation,
                       name, known_names(use));
    }
    for (const auto& [name, value] : descriptor.attributes)
        if (!row.attribute(name)) {
            std::vector<std::string> names;
            for (const AttributeRow& attribute : row.attributes) names.push_back(attribute.name);
            plan_error(Status::argument, name, {}, "[plan] '{}' has no attribute '{}'; it has {}", descriptor.operation,
                       name, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
        }
}

void check_missing(const Use& use, const Descriptor& descriptor) {
    const auto missing = [&](std::string_view what, const std::string& name) {
        plan_error(Status::argument, name, {}, "[plan] '{}' needs the {} '{}'", descriptor.operation, what, name);
    };
    if (!use.gradient.empty() && (use.inputs.empty() || use.inputs[0].place != Use::kGradient))
        missing("operand", std::string(use.gradient));
    for (const OperandRow& operand : use.operation.row->operands)
        if (!operand.optional && !descriptor.tensors.contains(operand.name)) missing("operand", operand.name);
    for (const AttributeRow& attribute : use.operation.row->attributes)
        if (!attribute.initial && !descriptor.attributes.contains(attribute.name)) missing("attribute", attribute.name);
}

void check_attribute(const AttributeRow& row, const Value& value, const std::string& operation) {
    const auto wrong = [&](std::string_view wanted) {
        plan_error(Status::argument, row.name, {}, "[plan] the attribute '{}' of '{}' is {}", row.name, operation,
                   wanted);
    };
    const auto* list = std::get_if<std::vector<int64_t>>(&value);
    const auto* text = std::get_if<std::string>(&value);
    switch (row.type) {
        case AttributeRow::Type::integers:
            if (!list) wrong("whole numbers");
            if (row.is_single && list->size() != 1) wrong("one whole number");
            break;
        case AttributeRow::Type::number:
            if (text || (list && list->size() != 1)) wrong("a number");
            break;
        case AttributeRow::Type::text:
            if (!text) wrong("a text");
            if (!row.choices.empty() && std::ranges::find(row.choices, *text) == row.choices.end())
                wrong(fmt::format("one of {}", fmt::join(row.choices, ", ")));
            break;
    }
}

void check_kinds(const Use& use, const Descriptor& descriptor) {
    for (const Use::Input& input : use.inputs) {
        const DType type = input.spec.dtype;
        const bool good = input.kind == Kind::boolean   ? type.is_bool()
                          : input.kind == Kind::integer ? type.is_integer()
                                                        : true;
        if (!good)
            plan_error(Status::argument, input.name, {}, "[plan] '{}' of '{}' is {}, and takes {}", input.name,
                       descriptor.operation, type.name(), input.kind == Kind::boolean ? "bool" : "integers");
        if (input.spec.strides && input.spec.strides->size() != input.spec.shape.size())
            plan_error(Status::argument, input.name, {input.spec.shape.size(), input.spec.strides->size()},
                       "[plan] '{}' has {} sizes and {} strides", input.name, input.spec.shape.size(),
                       input.spec.strides->size());
    }
    for (const auto& [name, value] : descriptor.attributes)
        check_attribute(*use.operation.row->attribute(name), value, descriptor.operation);
}

void check_mixed(const Use& use) {
    const Use::Input* first = nullptr;
    for (const Use::Input& input : use.inputs) {
        if (input.kind != Kind::main) continue;
        if (first && input.spec.dtype != first->spec.dtype)
            plan_error(Status::unsupported, input.name, {}, "[plan] '{}' is {} and '{}' is {}: '{}' takes one type",
                       first->name, first->spec.dtype.name(), input.name, input.spec.dtype.name(),
                       use.operation.name());
        if (!first) first = &input;
    }
}

const Use::Input* of_place(const Use& use, size_t place) {
    const auto found = std::ranges::find(use.inputs, place, &Use::Input::place);
    return found == use.inputs.end() ? nullptr : &*found;
}

void check_axes(const Use& use, const Descriptor& descriptor) {
    const AttributeRow* row = use.operation.row->attribute("axis");
    const Use::Input* x = of_place(use, 0);
    if (!row || !x) return;
    const auto given = descriptor.attributes.find("axis");
    const auto& axes =
        std::get<std::vector<int64_t>>(given == descriptor.attributes.end() ? *row->initial : given->second);
    const int64_t rank = static_cast<int64_t>(x->spec.shape.size());
    if (rank == 0 && !axes.empty())
        plan_error(Status::invalid, x->name, {1, 0}, "[plan] '{}' of '{}' has no axes", x->name, descriptor.operation);
    std::vector<int64_t> seen;
    for (int64_t axis : axes) {
        if (axis < -rank || axis >= rank)
            plan_error(Status::invalid, "axis", {static_cast<uint64_t>(rank), static_cast<uint64_t>(axis)},
                       "[plan] axis {} of '{}', which has {} axes", axis, x->name, rank);
        seen.push_back(axis < 0 ? axis + rank : axis);
        if (std::ranges::count(seen, seen.back()) > 1)
            plan_error(Status::invalid, "axis", {1, 2}, "[plan] the axis {} is named twice", seen.back());
    }
}

void check_sizes(const std::string& name, const Spec& spec) {
    for (int64_t size : spec.shape)
        if (size < 0)
            plan_error(Status::invalid, name, {0, static_cast<uint64_t>(size)}, "[plan] '{}' has a size of {}", name,
                       size);
}

void check_broadcast(const Use& use) {
    Shape all;  // from the last axis on
    for (const Use::Input& input : use.inputs) {
        if (input.place == Use::kGradient) continue;
        const Shape& shape = input.spec.shape;
        for (size_t back = 0; back < shape.size(); ++back) {
            const int64_t size = shape[shape.size() - 1 - back];
            if (all.size() <= back) all.push_back(1);
            if (size != 1 && all[back] != 1 && size != all[back])
                plan_error(
                    Status::invalid, input.name, {static_cast<uint64_t>(all[back]), static_cast<uint64_t>(size)},
                    "[plan] '{}' of shape {} does not broadcast: an axis has size {} where another operand has {}",
                    input.name, to_string(shape), size, all[back]);
            if (size != 1) all[back] = size;
        }
    }
}

void check_halves(const Use& use, const Descriptor& descriptor) {
    const Use::Input& x = *of_place(use, 0);
    const auto given = descriptor.attributes.find("axis");
    const int64_t axis =
        given == descriptor.attributes.end() ? -1 : std::get<std::vector<int64_t>>(given->second).at(0);
    const int64_t size =
        x.spec.shape[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.spec.shape.size()) : axis)];
    if (size % 2 != 0)
        plan_error(Status::invalid, x.name, {static_cast<uint64_t>(size) + 1, static_cast<uint64_t>(size)},
                   "[plan] axis {} of '{}' has size {}, which has no halves", axis, x.name, size);
}

/// Bytes from the lowest element to the end of the highest; none: 2^63 or more.
std::optional<uint64_t> reach(const Spec& spec) {
    __int128 elements = 1, span = 1;
    for (size_t axis = 0; axis < spec.shape.size(); ++axis) {
        if (spec.shape[axis] == 0) return 0;
        const __int128 most = __int128{1} << 63;
        elements *= spec.shape[axis];
        if (elements >= most) return std::nullopt;
        if (spec.strides) {
            const __int128 stride = (*spec.strides)[axis];
            span += (stride < 0 ? -stride : stride) * (spec.shape[axis] - 1);
            if (span >= most) return std::nullopt;
        }
    }
    const __int128 bytes = std::max(elements, span) * spec.dtype.bytes();
    return bytes >> 63 ? std::nullopt : std::optional(static_cast<uint64_t>(bytes));
}

}  // namespace

Use use_of(const Descriptor& descriptor) {
    Use use{operation_of(descriptor.operation)};
    collect(use, descriptor);
    check_unknown(use, descriptor);
    check_missing(use, descriptor);
    check_kinds(use, descriptor);
    check_mixed(use);
    return use;
}

void check_shapes(const Use& use, const Descriptor& descriptor) {
    check_axes(use, descriptor);
    for (const Use::Input& input : use.inputs) check_sizes(input.name, input.spec);
    for (const auto& [name, spec] : use.given_outputs) check_sizes(name, spec);
    switch (use.operation.row->rule) {
        case ShapeRule::broadcasts: return check_broadcast(use);
        case ShapeRule::halves: return check_halves(use, descriptor);
        case ShapeRule::free: break;
    }
}

void check_limits(const Use& use) {
    for (const Use::Input& input : use.inputs)
        if (input.spec.shape.size() > kMostRank)
            plan_error(Status::unsupported, input.name, {kMostRank, input.spec.shape.size()},
                       "[plan] '{}' has {} axes, {} are the most", input.name, input.spec.shape.size(), kMostRank);
    for (const Use::Input& input : use.inputs)
        if (input.kind == Kind::main && !use.operation.row->takes(input.spec.dtype))
            plan_error(Status::unsupported, input.name, {}, "[plan] '{}' does not take {}", use.operation.name(),
                       input.spec.dtype.name());
    for (const Use::Input& input : use.inputs)
        if (use.operation.is_backward && input.kind == Kind::main && !input.spec.dtype.is_float())
            plan_error(Status::unsupported, input.name, {}, "[plan] '{}' takes floats, and '{}' is {}",
                       use.operation.name(), input.name, input.spec.dtype.name());
    for (const Use::Input& input : use.inputs)
        if (!reach(input.spec))
            plan_error(Status::invalid, input.name, {uint64_t{1} << 63, ~uint64_t{0}},
                       "[plan] '{}' of shape {} would have 2^63 bytes or more", input.name,
                       to_string(input.spec.shape));
}

bool can_be_built(const Use& use) {
    return std::ranges::all_of(use.inputs, [](const Use::Input& input) { return reach(input.spec).has_value(); });
}

}  // namespace strata::plan
