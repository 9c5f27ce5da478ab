#include "strata/codegen/render/foreign_p.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "strata/codegen/render/expression_p.h"
#include "strata/core/support/hash.h"

namespace strata::codegen {
namespace {

std::string string_literal(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (c == '\n')
            out += "\\n";
        else
            out += c;
    }
    return out + "\"";
}

/// The letter of a register for a type: a vector register, or PTX's by the type.
std::string_view constraint(DType type, const Target& target) {
    if (target.arch.is_amd()) return "v";
    return type.is_float() ? (type.bits() == 64 ? "d" : "f") : type.bits() == 64 ? "l" : "r";
}

}  // namespace

std::string foreign_sources(const LinearProgram& program) {
    std::vector<std::string> all;
    for (UOp u : program.ops) {
        if (!u.is(Op::foreign) || u.as<ForeignArg>().name.empty()) continue;
        const std::string& text = u.as<ForeignArg>().text;
        std::string guarded = fmt::format("#ifndef STRATA_SOURCE_{0}\n#define STRATA_SOURCE_{0}\n{1}\n#endif\n",
                                          content_hash(text), text);
        if (std::ranges::find(all, guarded) == all.end()) all.push_back(std::move(guarded));
    }
    return fmt::format("{}", fmt::join(all, ""));
}

std::string result_name(std::string_view name, int i) { return fmt::format("{}_{}", name, i); }

std::vector<std::string> spell_foreign(UOp u, const std::string& name, const UOpMap<Expression>& values,
                                       const Target& target) {
    const ForeignArg& arg = u.as<ForeignArg>();
    const DType type = u.dtype();
    std::vector<std::string> numbers;
    for (UOp s : u.src()) numbers.push_back(values.at(skip_after(s)).text);
    const std::string element = hip_type(type.element());
    if (!arg.name.empty())
        return {fmt::format("const {} {} = {}({});", element, name, arg.name, fmt::join(numbers, ", "))};
    // A text of several instructions may write a result before it has read all numbers.
    const bool several = arg.text.find_first_of("\n;") != arg.text.npos;
    std::vector<std::string> names, outputs, inputs;
    for (int i = 0; i < type.lanes; ++i) {
        names.push_back(type.lanes == 1 ? name : result_name(name, i));
        outputs.push_back(fmt::format("\"={}{}\"({})", several ? "&" : "", constraint(type, target), names.back()));
    }
    for (size_t i = 0; i < numbers.size(); ++i)
        inputs.push_back(fmt::format("\"{}\"({})", constraint(u.src(i).dtype(), target), numbers[i]));
    std::vector<std::string> statements{
        fmt::format("{} {};", element, fmt::join(names, ", ")),
        fmt::format("asm({} : {} : {});", string_literal(arg.text), fmt::join(outputs, ", "), fmt::join(inputs, ", "))};
    return statements;
}

}  // namespace strata::codegen
