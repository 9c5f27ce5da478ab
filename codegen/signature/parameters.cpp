#include "strata/codegen/signature/parameters.h"

#include <algorithm>

#include "strata/codegen/signature/declaration_p.h"

namespace strata::codegen {
namespace {

using executable::Parameter;

bool is_struct_of(std::string_view text, std::string_view type) {
    for (std::string_view keyword : {"struct ", "class ", "union "}) {
        std::string head = std::string(keyword).append(type);
        for (size_t at = 0; (at = text.find(head, at)) != text.npos; at += head.size())
            if (at + head.size() < text.size() && text.find_first_of(" \n{:", at + head.size()) == at + head.size())
                return true;
    }
    return false;
}

/// HIP's vector types, whose names look like numbers' and which take 8 bytes as a double does.
bool is_vector_name(std::string_view type) {
    if (type.find('<') != type.npos) return true;
    if (type.empty() || type.back() < '2' || type.back() > '4') return false;
    type.remove_suffix(1);
    if (type.starts_with('u')) type.remove_prefix(1);
    constexpr std::string_view elements[] = {"char",  "short",  "int",    "long", "longlong",
                                             "float", "double", "__half", "half"};
    return std::ranges::find(elements, type) != std::end(elements);
}

/// The numbers that a pointer's type points to; none: other things, or a type that nobody tells.
std::optional<DType> pointee_of(std::string_view type, std::string_view text) {
    if (type.find('*') + 1 != type.size()) return {};
    return number_type(type.substr(0, type.size() - 1), text);
}

void add_meaning(Parameter& p, const Declared& declared, std::string_view text) {
    p.type = declared.type;
    if (p.name.empty()) p.name = declared.name;
    p.pointee = pointee_of(declared.type, text);
    if (p.kind == Parameter::Kind::pointer) p.writable = p.writable && !declared.points_to_const, p.is_described = true;
    if (p.kind != Parameter::Kind::opaque) return;
    if (declared.pointer && p.size == 8) {  // where the metadata tells places and sizes alone, as NVIDIA's does
        p.kind = Parameter::Kind::pointer, p.writable = !declared.points_to_const, p.is_described = true;
        return;
    }
    if (auto number = number_type(declared.type, text); number && static_cast<uint32_t>(number->bytes()) == p.size) {
        p.kind = Parameter::Kind::number;
        p.dtype = *number;
    }
    p.may_be_number = p.may_be_number && !is_vector_name(declared.type) && !is_struct_of(text, declared.type);
}

Parameter read(const isa::KernelArg& arg) {
    Parameter p{.offset = arg.offset, .size = arg.size, .name = arg.name, .type = arg.type_name};
    if (arg.value_kind == "global_buffer" || arg.value_kind == "dynamic_shared_pointer") {
        p.kind = Parameter::Kind::pointer;
        p.writable = !arg.is_const && arg.access != "read_only";
        p.is_described = arg.is_const || !arg.access.empty();
    } else if (arg.value_kind != "by_value") {
        p.kind = Parameter::Kind::other;
    }
    p.may_be_number = p.size == 1 || p.size == 2 || p.size == 4 || p.size == 8;
    if (p.type.empty() && p.kind != Parameter::Kind::opaque)
        p.type = p.kind == Parameter::Kind::pointer ? "a pointer" : arg.value_kind;
    return p;
}

}  // namespace

std::vector<Parameter> parameters_of(const isa::KernelInfo& kernel, std::string_view text) {
    std::vector<Parameter> parameters;
    std::vector<std::string> typed;  // by the metadata
    for (const isa::KernelArg& arg : kernel.args)
        if (!arg.value_kind.starts_with("hidden_")) {
            parameters.push_back(read(arg));
            typed.push_back(arg.type_name);
        }
    std::string signature = demangled(kernel.name);
    std::vector<Declared> declared =
        signature == kernel.name ? parameters_in_text(text, kernel.name) : parameters_of_signature(signature);
    const bool fits = declared.size() == parameters.size();
    for (size_t i = 0; i < parameters.size(); ++i) {
        if (!typed[i].empty())
            add_meaning(parameters[i], {.type = typed[i]}, {});
        else if (fits && (declared[i].pointer || parameters[i].kind != Parameter::Kind::pointer))
            add_meaning(parameters[i], declared[i], text);
    }
    return parameters;
}

}  // namespace strata::codegen
