// describe: what a plan says of itself.
#include <charconv>

#include "strata/core/support/hash.h"
#include "strata/core/support/json.h"
#include "strata/plan/describe_p.h"

namespace strata::plan {
namespace {

Json value_of(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* number = std::get_if<double>(&value)) return fmt::format("{:a}", *number);
    return Json::list(std::get<std::vector<int64_t>>(value));
}

Json attributes_of(const Row& row, const Descriptor& descriptor) {
    Json::Object out;
    for (const AttributeRow& attribute : row.attributes) {
        const auto given = descriptor.attributes.find(attribute.name);
        out[attribute.name] = value_of(given == descriptor.attributes.end() ? *attribute.initial : given->second);
    }
    return out;
}

}  // namespace

std::string sku_of(const Use& use, const Descriptor& descriptor, const Plan::Parts& parts, const std::string& arch,
                   std::string_view target) {
    const Row& row = *use.operation.row;
    Json::Object dtypes, shapes, strides;
    for (const Operand& operand : parts.operands) {
        dtypes[operand.name] = operand.dtype.name();
        shapes[operand.name] = Json::list(operand.shape);
        strides[operand.name] = Json::list(operand.strides);
    }
    Json::Array schedule;
    if (parts.compiled)
        for (const executable::Code& kernel : parts.compiled->kernels) schedule.push_back(kernel.schedule);
    const auto epilogue = descriptor.attributes.find("epilogue");
    return Json(Json::Object{{"category", row.category},
                             {"op", use.operation.name()},
                             {"attributes", attributes_of(row, descriptor)},
                             {"dtypes", dtypes},
                             {"shapes", shapes},
                             {"strides", strides},
                             {"arch", arch},
                             {"target", target},
                             {"epilogue",
                              epilogue == descriptor.attributes.end() ? Json("identity") : value_of(epilogue->second)},
                             {"schedule", schedule}})
        .dump();
}

uint64_t hash_of(const std::string& sku) {
    const std::string digits = content_hash(sku).substr(0, 16);
    uint64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return value;
}

Precision precision_of(const Use& use, const std::vector<Operand>& operands) {
    DType main = operands[0].dtype;
    for (const Use::Input& input : use.inputs)
        if (input.kind == OperandRow::Kind::main) {
            main = input.spec.dtype;
            break;
        }
    const bool is_narrow = main.is_float() && main.bits() < 32;
    Precision out{.math = is_narrow ? dtypes::float32 : main};
    const DType result = operands.back().dtype;
    out.accumulate = out.math.is_float() || !result.is_integer() ? out.math : result;
    out.bit_stable = use.operation.row->is_elementwise() || use.operation.row->category == "gated" ||
                     use.operation.row->category == "shape";
    if (use.operation.row->category == "shape" && !use.operation.is_backward) out.max_ulp = 0;
    return out;
}

}  // namespace strata::plan
