// rows: the tables of operations, read once.
#include <algorithm>
#include <charconv>

#include "strata/ops/convolution.h"
#include "strata/ops/nn.h"
#include "strata/plan/functions_p.h"
#include "strata/plan/row.h"

namespace strata::plan {
namespace {

constexpr uint32_t bit(DType type) { return 1u << static_cast<uint32_t>(type.scalar); }
constexpr uint32_t kFloats = bit(dtypes::float16) | bit(dtypes::bfloat16) | bit(dtypes::float32) | bit(dtypes::float64);
constexpr uint32_t kIntegers = bit(dtypes::int8) | bit(dtypes::uint8) | bit(dtypes::int16) | bit(dtypes::uint16) |
                               bit(dtypes::int32) | bit(dtypes::uint32) | bit(dtypes::int64) | bit(dtypes::uint64);
constexpr uint32_t kNarrowest =
    bit(dtypes::fp8e4m3) | bit(dtypes::fp8e5m2) | bit(dtypes::fp8e4m3fnuz) | bit(dtypes::fp8e5m2fnuz);
constexpr uint32_t kNumbers = kFloats | kIntegers, kBits = kIntegers | bit(dtypes::boolean), kReal = kNumbers | kBits,
                   kGemm = kFloats | kNarrowest | bit(dtypes::int8), kAll = kReal | kNarrowest;

/// Types of the column `accepts` of elementwise.def.
namespace accepts {
constexpr uint32_t any = kReal, comparable = kReal, number = kNumbers, integer = kIntegers, bits = kBits, logic = kReal,
                   wide_number = kNumbers, floating = kReal, wide = kReal;
}

std::vector<std::string_view> words_of(std::string_view text, char between = ' ') {
    std::vector<std::string_view> out;
    while (!text.empty()) {
        const size_t end = std::min(text.find(between), text.size());
        if (end > 0) out.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

OperandRow operand_of(std::string_view word) {
    OperandRow out;
    out.optional = word.ends_with('?');
    if (out.optional) word.remove_suffix(1);
    const size_t colon = word.find(':');
    out.name = word.substr(0, colon);
    if (colon == word.npos) return out;
    const std::string_view kind = word.substr(colon + 1);
    out.kind = kind == "bool"  ? OperandRow::Kind::boolean
               : kind == "int" ? OperandRow::Kind::integer
                               : OperandRow::Kind::any;
    return out;
}

template <class T>
std::optional<T> number_of(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

AttributeRow attribute_of(std::string_view word) {
    using Type = AttributeRow::Type;
    AttributeRow out;
    const size_t at = word.find_first_of(":=");
    out.name = word.substr(0, at);
    const std::string_view rest = word.substr(at + 1);
    if (word[at] == ':') {
        out.type = rest == "float" ? Type::number : rest == "text" ? Type::text : Type::integers;
        out.is_single = rest == "int";
    } else if (rest.starts_with('[')) {
        std::vector<int64_t> list;
        for (std::string_view one : words_of(rest.substr(1, rest.size() - 2), ','))
            list.push_back(number_of<int64_t>(one).value());
        out.initial = list;
    } else if (const auto whole = number_of<int64_t>(rest)) {
        out.initial = std::vector<int64_t>{*whole}, out.is_single = true;
    } else if (const auto number = number_of<double>(rest)) {
        out.type = Type::number, out.initial = *number;
    } else {
        out.type = Type::text;
        for (std::string_view one : words_of(rest, '|')) out.choices.emplace_back(one);
        out.initial = out.choices[0];
    }
    return out;
}

Row row_of(std::string_view category, std::string_view name, std::string_view operands, std::string_view attributes,
           uint32_t types, ShapeRule rule, Computing computing, bool has_backward, Function function) {
    Row out{.category = category,
            .name = name,
            .types = types,
            .rule = rule,
            .computing = computing,
            .has_backward = has_backward,
            .function = function};
    bool is_output = false;
    for (std::string_view word : words_of(operands)) {
        if (word == "->")
            is_output = true;
        else if (is_output)
            out.outputs.emplace_back(word);
        else
            out.operands.push_back(operand_of(word));
    }
    for (std::string_view word : words_of(attributes)) out.attributes.push_back(attribute_of(word));
    return out;
}

/// Whether an elementwise function of floats gives floats.
bool gives_floats(Function function, const Row& row, uint32_t types) {
    if (!(types & bit(dtypes::float32))) return false;
    const Tensor one = Tensor::full({}, 1.0, dtypes::float32);
    const Descriptor nothing;
    return function(Call(row, {one, one}, nothing)).all[0].dtype().is_float();
}

Row elementwise(std::string_view category, std::string_view name, std::string_view operands, uint32_t types,
                Function function) {
    Row out = row_of(category, name, operands, "", types, ShapeRule::broadcasts, Computing::wide, false, function);
    out.has_backward = gives_floats(function, out, types);
    return out;
}

std::vector<Row> all_rows() {
    std::vector<Row> out;
#define UNARY(name, takes, ...)                                         \
    out.push_back(elementwise("unary", #name, "x -> y", accepts::takes, \
                              [](const Call& call) -> Results { return ops::name(call.at(0)); }));
#define BINARY(name, takes, ...)                                           \
    out.push_back(elementwise("binary", #name, "a b -> y", accepts::takes, \
                              [](const Call& call) -> Results { return ops::name(call.at(0), call.at(1)); }));
#include "strata/ops/elementwise.def"
#undef UNARY
#undef BINARY
#define OP(category, name, operands, attributes, types, rule, computing, slope, ...)                                  \
    out.push_back(row_of(#category, #name, operands, attributes, types, ShapeRule::rule, Computing::computing,        \
                         Slope::slope == Slope::there, [](const Call& call) -> Results {                              \
                             [[maybe_unused]] const Tensor &x = call.at(0), &a = x, &b = call.at(1), &c = call.at(2); \
                             return __VA_ARGS__;                                                                      \
                         }));
#define NOT_SERVED(category, name) \
    out.push_back(row_of(#category, #name, "", "", 0, ShapeRule::free, Computing::as_is, false, nullptr));
#include "strata/plan/ops.def"
#undef OP
#undef NOT_SERVED
    return out;
}

/// Insertions, deletions and replacements from one word to the other.
size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
            diagonal = above;
        }
    }
    return row[b.size()];
}

constexpr std::string_view kBackward = "_backward";

}  // namespace

const AttributeRow* Row::attribute(std::string_view wanted) const {
    const auto found = std::ranges::find(attributes, wanted, &AttributeRow::name);
    return found == attributes.end() ? nullptr : &*found;
}

const Tensor& Call::at(size_t operand) const {
    static const Tensor kNone;
    return operand < operands_.size() ? operands_[operand] : kNone;
}

std::optional<Tensor> Call::maybe(size_t operand) const {
    return at(operand) ? std::optional(at(operand)) : std::nullopt;
}

const Value& Call::value(std::string_view attribute) const {
    const auto given = given_.attributes.find(attribute);
    return given == given_.attributes.end() ? row_.attribute(attribute)->initial.value() : given->second;
}

const std::vector<int64_t>& Call::integers(std::string_view attribute) const {
    return std::get<std::vector<int64_t>>(value(attribute));
}

int64_t Call::integer(std::string_view attribute) const { return integers(attribute).at(0); }

double Call::number(std::string_view attribute) const {
    const Value& v = value(attribute);
    const auto* whole = std::get_if<std::vector<int64_t>>(&v);
    return whole ? static_cast<double>(whole->at(0)) : std::get<double>(v);
}

const std::string& Call::text(std::string_view attribute) const { return std::get<std::string>(value(attribute)); }

Axes Call::axes(std::string_view attribute) const {
    const std::vector<int64_t>& list = integers(attribute);
    return list.empty() ? Axes() : Axes(std::vector<int>(list.begin(), list.end()));
}

std::span<const Row> rows() {
    static const auto* all = new std::vector<Row>(all_rows());
    return *all;
}

Operation find_operation(std::string_view name) {
    for (const Row& row : rows()) {
        if (row.name == name) return {&row};
        if (row.has_backward && name.size() == row.name.size() + kBackward.size() && name.starts_with(row.name) &&
            name.ends_with(kBackward))
            return {&row, true};
    }
    return {};
}

std::vector<std::string> close_names(std::string_view name) {
    std::vector<std::pair<size_t, std::string>> found;
    for (const Row& row : rows())
        for (bool is_backward : {false, true})
            if (!is_backward || row.has_backward) {
                std::string known = Operation{&row, is_backward}.name();
                const size_t far = distance(name, known);
                if (far <= std::max<size_t>(1, name.size() / 3)) found.emplace_back(far, std::move(known));
            }
    std::ranges::sort(found);
    if (found.size() > 3) found.resize(3);
    std::vector<std::string> out;
    for (auto& [far, known] : found) out.push_back(std::move(known));
    return out;
}

}  // namespace strata::plan
