#include "strata/providers/amd/abi.h"

#include <algorithm>
#include <cstring>

namespace strata::providers::abi {
namespace {

constexpr CodeRow kRows[] = {
#define AMD_ERROR(name, code, kind, lost, text) {name, #name, ErrorKind::kind, lost, text},
#include "strata/providers/amd/errors.def"
#undef AMD_ERROR
};

size_t bytes_of(Layout layout) { return layout == Layout::hip5 ? kPropertiesBytes5 : kPropertiesBytesR0600; }

/// Calls visit(field, its offset) for each of the table.
template <class P, class Visitor>
void visit_fields(P& properties, Layout layout, Visitor&& visit) {
#define PROPERTY(field, type, offset5, offset6) visit(properties.field, layout == Layout::hip5 ? offset5 : offset6);
#define PROPERTY_6(field, type, offset6) \
    if (layout == Layout::r0600) visit(properties.field, offset6);
#include "strata/providers/amd/properties.def"
#undef PROPERTY
#undef PROPERTY_6
}

}  // namespace

const CodeRow& row_of(int code) {
    const auto* found = std::ranges::find(kRows, code, [](const CodeRow& row) { return static_cast<int>(row.code); });
    return found == std::end(kRows) ? *(std::end(kRows) - 1) : *found;
}

Properties read_properties(Layout layout, std::span<const std::byte> bytes) {
    STRATA_CHECK(bytes.size() >= bytes_of(layout));
    Properties out;
    visit_fields(out, layout, [&](auto& field, size_t at) { std::memcpy(&field, &bytes[at], sizeof field); });
    return out;
}

void write_properties(const Properties& properties, Layout layout, std::span<std::byte> bytes) {
    STRATA_CHECK(bytes.size() >= bytes_of(layout));
    std::ranges::fill(bytes.first(bytes_of(layout)), std::byte{0});
    visit_fields(properties, layout,
                 [&](const auto& field, size_t at) { std::memcpy(&bytes[at], &field, sizeof field); });
}

Text256 text256(std::string_view text) {
    Text256 out{};
    text.copy(out.data(), out.size() - 1);
    return out;
}

}  // namespace strata::providers::abi
