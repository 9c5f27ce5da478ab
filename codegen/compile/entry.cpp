#include "strata/codegen/compile/entry_p.h"

#include <cxxabi.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <vector>

namespace strata::codegen {
namespace {

std::string demangled(const std::string& symbol) {
    int status = 0;
    char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
    std::string name = status == 0 ? text : symbol;
    std::free(text);
    return name;
}

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

}  // namespace

Result<std::string> find_entry(const isa::CodeObject& object, const HipSource& source) {
    if (source.kernel.empty()) return std::string();
    if (object.find(source.kernel)) return source.kernel;
    std::vector<std::string> names, matches;
    for (const isa::KernelInfo& kernel : object.kernels) {
        std::string signature = demangled(kernel.name);
        std::string_view name = function_name(signature);
        if (name == source.kernel || name.substr(0, name.find('<')) == source.kernel) matches.push_back(kernel.name);
        names.emplace_back(signature);
    }
    if (matches.size() == 1) return std::move(matches[0]);
    if (matches.empty())
        return make_error(ErrorKind::Usage, "{} has no kernel '{}'; its kernels: {}", source.file_name, source.kernel,
                          names.empty() ? "none (is __global__ missing?)" : fmt::format("{}", fmt::join(names, ", ")));
    return make_error(ErrorKind::Usage, "{} has {} kernels '{}': {}; give the symbol of one: {}", source.file_name,
                      matches.size(), source.kernel, fmt::join(names, ", "), fmt::join(matches, ", "));
}

}  // namespace strata::codegen
