#include "methods_p.h"

namespace strata::python {
namespace {

/// The Python value of a default, as C++ writes it.
py::object initial_value(std::string_view text) {
    constexpr std::string_view types = "dtypes::";
    if (text == "{}") return py::none();
    if (text == "true" || text == "false") return py::bool_(text == "true");
    if (text.starts_with(types)) return py::str(text.substr(types.size()));
    if (text.find('.') != text.npos) return py::float_(std::stod(std::string(text)));
    return py::int_(std::stoll(std::string(text)));
}

}  // namespace

Parameter::Parameter(std::string_view text) : py::arg(nullptr) {
    constexpr std::string_view equals = " = ";
    size_t end = text.find(equals);
    if (end != text.npos) initial = initial_value(text.substr(end + equals.size()));
    std::string_view declared = text.substr(0, end);
    text_name = declared.substr(declared.find_last_of(" &") + 1);
}

std::vector<Parameter> parameters_of(std::string_view row) {
    std::vector<Parameter> out;
    size_t start = 1;
    int depth = 0;
    for (size_t i = 1; i < row.size(); ++i) {
        bool last = i + 1 == row.size();
        depth += (row[i] == '<') - (row[i] == '>');
        if (depth || (row[i] != ',' && !last)) continue;
        if (i > start) out.emplace_back(row.substr(start, i - start));
        start = i + 2;
    }
    return out;
}

}  // namespace strata::python
