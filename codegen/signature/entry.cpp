#include "strata/codegen/signature/entry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "strata/codegen/signature/declaration_p.h"
#include "strata/codegen/signature/parameters.h"

namespace strata::codegen {
namespace {

/// "void space::sum<float>(float*)" -> "space::sum<float>": without the result type, that templates have, and
/// parameters.
std::string_view function_name(std::string_view signature) {
    int depth = 0;
    size_t end = signature.size();
    for (size_t i = 0; i < signature.size(); ++i) {
        char c = signature[i];
        if (c == '<') ++depth;
        if (c == '>') --depth;
        if (c == '(' && depth == 0 && !signature.substr(i).starts_with("(anonymous namespace)")) {
            end = i;
            break;
        }
    }
    signature = signature.substr(0, end);
    depth = 0;
    for (size_t i = signature.size(); i-- > 0;) {
        if (signature[i] == '>' || signature[i] == ')') ++depth;
        if (signature[i] == '<' || signature[i] == '(') --depth;
        if (signature[i] == ' ' && depth == 0) return signature.substr(i + 1);
    }
    return signature;
}

std::string without_spaces(std::string_view text) {
    std::string out(text);
    std::erase(out, ' ');
    return out;
}

/// "scale" of "scale(float*, int)".
std::string_view without_parameters(std::string_view name) {
    if (!name.ends_with(')') || name.ends_with("(anonymous namespace)")) return name;
    int depth = 0;
    for (size_t i = name.size(); i-- > 0;) {
        if (name[i] == ')') ++depth;
        if (name[i] == '(' && --depth == 0) return name.substr(0, i);
    }
    return name;
}

/// True if the parameters that the wanted name has, if any, are those of a signature.
bool same_parameters(std::string_view wanted, std::string_view signature) {
    if (without_parameters(wanted) == wanted) return true;
    return std::ranges::equal(parameters_of_signature(wanted), parameters_of_signature(signature),
                              [](const Declared& a, const Declared& b) {
                                  if (a.pointer != b.pointer || a.points_to_const != b.points_to_const) return false;
                                  auto number = number_type(a.type, {});
                                  if (number && number == number_type(b.type, {})) return true;
                                  return without_spaces(a.type) == without_spaces(b.type);
                              });
}

constexpr std::string_view kEntryVariable = "__strata_entry";

/// The kernel whose address the variable of entry_request() holds.
Result<std::string> requested_entry(const isa::CodeObject& object, const HipSource& source) {
    auto variable = std::ranges::find(object.symbols, kEntryVariable, &isa::Symbol::name);
    if (variable != object.symbols.end())
        for (const isa::Relocation& relocation : object.relocations) {
            if (relocation.address != variable->address) continue;
            for (const isa::KernelInfo& kernel : object.kernels)
                if (kernel.entry_address == relocation.addend) return kernel.name;
        }
    return make_error(ErrorKind::Usage, "{}: '{}' is no kernel (is __global__ missing?)", source.file_name,
                      source.kernel);
}

}  // namespace

std::string entry_request(const HipSource& source) {
    const std::string& name = source.kernel;
    if (source.freestanding || name.starts_with("_Z") || name.find('<') == name.npos) return {};
    std::string_view function = without_parameters(name), parameters = std::string_view(name).substr(function.size());
    std::string address = fmt::format("(&{})", function);
    if (!parameters.empty()) address = fmt::format("static_cast<void (*){}>{}", parameters, address);  // of overloads
    return fmt::format(
        "\n#line 1 \"{}\"\nextern \"C\" __attribute__((device, used)) const void* const {} = (const void*){};\n",
        kEntryFile, kEntryVariable, address);
}

Result<std::string> find_entry(const isa::CodeObject& object, const HipSource& source) {
    if (!source.kernel.empty() && !object.find(source.kernel) && !entry_request(source).empty())
        return requested_entry(object, source);
    return find_entry_by_name(object, source);
}

Result<std::string> find_entry_by_name(const isa::CodeObject& object, const HipSource& source) {
    if (source.kernel.empty()) return std::string();
    if (object.find(source.kernel)) return source.kernel;
    std::string_view wanted = without_parameters(source.kernel);
    std::vector<std::string> names, matches;
    for (const isa::KernelInfo& kernel : object.kernels) {
        std::string signature = demangled(kernel.name);
        std::string_view name = function_name(signature);
        if ((name == wanted || name.substr(0, name.find('<')) == wanted) && same_parameters(source.kernel, signature))
            matches.push_back(kernel.name);
        names.emplace_back(signature);
    }
    if (matches.size() == 1) return std::move(matches[0]);
    if (matches.empty())
        return make_error(ErrorKind::Usage, "{} has no kernel '{}'; its kernels: {}", source.file_name, source.kernel,
                          names.empty() ? "none (is __global__ missing?)" : fmt::format("{}", fmt::join(names, ", ")));
    return make_error(ErrorKind::Usage, "{} has {} kernels '{}': {}; say the parameters, or the symbol of one: {}",
                      source.file_name, matches.size(), source.kernel, fmt::join(names, ", "),
                      fmt::join(matches, ", "));
}

}  // namespace strata::codegen
