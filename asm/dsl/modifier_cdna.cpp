#include <charconv>

#include "strata/asm/dsl/modifier_p.h"
#include "strata/asm/isa/names.h"

// Names in the modifiers and immediates of CDNA.
namespace strata::isa {
namespace {

/// Cuts the part before the next comma off `text`.
std::string_view next_part(std::string_view& text) {
    const size_t comma = text.find(',');
    const std::string_view part = trim(text.substr(0, comma));
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
    return part;
}

std::optional<uint16_t> number(std::string_view text, int bits) {
    uint16_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc() || end != text.data() + text.size() || value >> bits) return {};
    return value;
}

std::optional<uint16_t> message_number(std::string_view text) {
    for (const ImmediateName& row : message_names())
        if (row.name == text && row.families.has(Family::cdna3)) return static_cast<uint16_t>(row.number);
    return number(text, 4);
}

bool select(std::string_view value, uint8_t& into) {
    const auto found = number_of(kSdwaSelects, value);
    if (found) into = *found;
    return found.has_value();
}

bool buffer_format(std::string_view value, Modifiers& modifiers) {
    if (!value.starts_with('[') || !value.ends_with(']')) return false;
    value = value.substr(1, value.size() - 2);
    constexpr std::string_view kData = "BUF_DATA_FORMAT_", kNumber = "BUF_NUM_FORMAT_";
    int format = 1, number = 0;  // what is not named is 8_unorm
    while (!value.empty()) {
        const std::string_view part = next_part(value);
        const bool data = part.starts_with(kData);
        if (!data && !part.starts_with(kNumber)) return false;
        const auto found = data ? number_of(kDataFormats, part.substr(kData.size()))
                                : number_of(kNumberFormats, part.substr(kNumber.size()));
        if (!found) return false;
        (data ? format : number) = *found;
    }
    modifiers.buffer_format = static_cast<uint8_t>(format | number << 4);
    return true;
}

}  // namespace

bool parse_cdna_value(std::string_view name, std::string_view value, Modifiers& modifiers) {
    Sdwa& sdwa = modifiers.sdwa;
    if (name == "format") return buffer_format(value, modifiers);
    if (name == "dst_sel") return select(value, sdwa.dst_sel);
    if (name == "src0_sel") return select(value, sdwa.src_sel[0]);
    if (name == "src1_sel") return select(value, sdwa.src_sel[1]);
    if (name != "dst_unused") return false;
    const auto found = number_of(kSdwaUnused, value);
    if (found) sdwa.dst_unused = *found;
    return found.has_value();
}

std::optional<uint16_t> parse_cdna_message(std::string_view inside) {
    const auto message = message_number(next_part(inside));
    std::optional<uint16_t> operation = uint16_t{0}, stream = uint16_t{0};
    if (!inside.empty()) {
        const std::string_view part = next_part(inside);
        operation = number_of(kGsOperations, part);
        if (!operation) operation = number_of(kSystemOperations, part);
        if (!operation) operation = number(part, 3);
    }
    if (!inside.empty()) stream = number(next_part(inside), 2);
    if (!message || !operation || !stream || !inside.empty()) return {};
    return static_cast<uint16_t>(*message | *operation << 4 | *stream << 8);
}

std::optional<uint16_t> parse_index_mode(std::string_view inside) {
    uint16_t mask = 0;
    while (!inside.empty()) {
        const auto found = number_of(kIndexedOperands, next_part(inside));
        if (!found) return {};
        mask |= static_cast<uint16_t>(1 << *found);
    }
    return mask;
}

}  // namespace strata::isa
