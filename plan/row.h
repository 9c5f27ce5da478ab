#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/ops/tensor.h"
#include "strata/plan/descriptor.h"

namespace strata::plan {

struct Row;

/// Operands and attributes of one use of a row.
class Call {
  public:
    Call(const Row& row, std::vector<Tensor> operands, const Descriptor& given)
        : row_(row), operands_(std::move(operands)), given_(given) {}

    const Tensor& at(size_t operand) const;  ///< by operand of the row; empty: it is absent
    std::optional<Tensor> maybe(size_t operand) const;
    const Value& value(std::string_view attribute) const;  ///< given, or the row's default
    int64_t integer(std::string_view attribute) const;
    bool flag(std::string_view attribute) const { return integer(attribute) != 0; }
    const std::vector<int64_t>& integers(std::string_view attribute) const;
    double number(std::string_view attribute) const;
    const std::string& text(std::string_view attribute) const;
    int axis() const { return static_cast<int>(integer("axis")); }
    Axes axes(std::string_view attribute = "axis") const;  ///< of an empty list: all

  private:
    const Row& row_;
    std::vector<Tensor> operands_;
    const Descriptor& given_;
};

/// Results of a row's function.
struct Results {
    std::vector<Tensor> all;
    Results(Tensor one) : all{std::move(one)} {}
    Results(std::vector<Tensor> several) : all(std::move(several)) {}
    Results(TensorPair pair) : all{std::move(pair.first), std::move(pair.second)} {}
};
using Function = Results (*)(const Call&);

/// The rule that shapes of a row's operands keep; functions check the rest.
enum class ShapeRule : uint8_t {
    free,
    broadcasts,  ///< all operands broadcast
    halves,      ///< the axis has two halves
};
/// How narrow floats are computed: read to float32 and rounded once, or as the function has them.
enum class Computing : uint8_t { wide, as_is };
enum class Slope : uint8_t { none, there };  ///< there: NAME_backward is an operation

struct OperandRow {
    enum class Kind : uint8_t {
        main,  ///< of the row's types; all of this kind have one type
        boolean,
        integer,
        any,
    };
    std::string name;
    Kind kind = Kind::main;
    bool optional = false;
};
struct AttributeRow {
    std::string name;
    enum class Type : uint8_t { integers, number, text } type = Type::integers;
    std::optional<Value> initial = {};
    std::vector<std::string> choices = {};  ///< of text
    bool is_single = false;                 ///< of integers: one
};

/// A row of ops.def or of ops/elementwise.def.
struct Row {
    std::string_view category, name;
    std::vector<OperandRow> operands;
    std::vector<std::string> outputs;
    std::vector<AttributeRow> attributes;
    uint32_t types = 0;  ///< a bit for each Scalar of main operands
    ShapeRule rule = ShapeRule::free;
    Computing computing = Computing::as_is;
    bool has_backward = false;
    Function function = nullptr;  ///< null: it is known by name alone

    /// True if each element of its result is made of those at the same place.
    bool is_elementwise() const { return category == "unary" || category == "binary" || category == "ternary"; }
    bool takes(DType type) const { return types >> static_cast<uint32_t>(type.scalar) & 1; }
    const AttributeRow* attribute(std::string_view name) const;  ///< null: there is none
};

/// A row, or its gradients.
struct Operation {
    const Row* row = nullptr;
    bool is_backward = false;
    std::string name() const { return std::string(row->name) + (is_backward ? "_backward" : ""); }
};

std::span<const Row> rows();
/// By name; a row of null: there is none.
Operation find_operation(std::string_view name);
/// Known names that are close to this one.
std::vector<std::string> close_names(std::string_view name);

}  // namespace strata::plan
