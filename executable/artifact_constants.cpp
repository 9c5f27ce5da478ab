// artifact_constants: constants.safetensors, which is eight bytes of length, a header in JSON, and the tensors' bytes.
#include "strata/executable/artifact_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "strata/executable/artifact_container_p.h"

namespace strata::executable {
namespace {

constexpr std::string_view kFile = "constants.safetensors";

struct TypeName {
    std::string_view name;
    DType dtype;
};
constexpr TypeName kTypes[] = {{"F64", dtypes::float64},
                               {"F32", dtypes::float32},
                               {"F16", dtypes::float16},
                               {"BF16", dtypes::bfloat16},
                               {"F8_E4M3", dtypes::fp8e4m3},
                               {"F8_E5M2", dtypes::fp8e5m2},
                               {"F8_E4M3FNUZ", dtypes::fp8e4m3fnuz},
                               {"F8_E5M2FNUZ", dtypes::fp8e5m2fnuz},
                               {"I64", dtypes::int64},
                               {"I32", dtypes::int32},
                               {"I16", dtypes::int16},
                               {"I8", dtypes::int8},
                               {"U64", dtypes::uint64},
                               {"U32", dtypes::uint32},
                               {"U16", dtypes::uint16},
                               {"U8", dtypes::uint8},
                               {"BOOL", dtypes::boolean}};

/// True if the row is of this type and of as many bytes, which it says the places of.
bool fits(const Json& row, const ConstantOperand& constant, uint64_t size, uint64_t (&place)[2]) {
    const Json *type = row.find("dtype"), *shape = row.find("shape"), *offsets = row.find("data_offsets");
    if (!type || !type->text() || !shape || !shape->array() || !offsets || !offsets->array()) return false;
    if (offsets->array()->size() != 2 || !(*offsets->array())[0].whole(place[0]) ||
        !(*offsets->array())[1].whole(place[1]))
        return false;
    const bool is_known = std::ranges::any_of(
        kTypes, [&](const TypeName& known) { return known.name == *type->text() && known.dtype == constant.dtype; });
    if (!is_known) return false;
    uint64_t elements = 1;
    for (const Json& one : *shape->array()) {
        uint64_t n = 0;
        if (!one.whole(n) || __builtin_mul_overflow(elements, n, &elements)) return false;
    }
    return elements == static_cast<uint64_t>(constant.elements) && place[0] <= place[1] && place[1] <= size &&
           place[1] - place[0] == constant.bytes();
}

}  // namespace

std::string_view safetensors_name(DType type) { return std::ranges::find(kTypes, type, &TypeName::dtype)->name; }

Result<std::vector<std::string_view>> constants_of(const ArtifactFiles& artifact,
                                                   const std::vector<ConstantOperand>& constants) {
    const std::string_view title = artifact.title;
    if (constants.empty()) return std::vector<std::string_view>();
    const auto found = artifact.files.find(kFile);
    if (found == artifact.files.end())
        return wrong_file(title, kFile, "the file is missing: copy the whole artifact, or save it again");
    const std::string_view content = found->second;
    uint64_t length = 0;
    if (content.size() >= sizeof length) std::memcpy(&length, content.data(), sizeof length);
    if (length == 0 || length > content.size() - sizeof length)
        return wrong_file(title, kFile,
                          fmt::format("no safetensors: the header would have {} of {} bytes", length, content.size()));
    const Result<Json> header = Json::parse(content.substr(sizeof length, length));
    if (!header) return wrong_file(title, kFile, "the header is no JSON: " + header.error().message);
    const std::string_view data = content.substr(sizeof length + length);
    std::vector<std::string_view> out;
    for (const ConstantOperand& constant : constants) {
        const Json* row = header->find(constant.name);
        uint64_t place[2] = {0, 0};
        if (!row || !fits(*row, constant, data.size(), place))
            return wrong_file(
                title, kFile,
                fmt::format("it has no '{}' of {} {}", constant.name, constant.elements, constant.dtype.name()));
        out.push_back(data.substr(place[0], place[1] - place[0]));
    }
    return out;
}

}  // namespace strata::executable
