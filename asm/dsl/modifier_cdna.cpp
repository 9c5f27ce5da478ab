#include <charconv>

#include "strata/asm/dsl/modifier_p.h"
#include "strata/asm/isa/names.h"

// Names in the modifiers and immediates of CDNA.
namespace strata::isa {
namespace {

struct Name {
    std::string_view name;
    uint8_t value;
};
// CDNA3 ISA, "SDWA"
constexpr Name selects[] = {{"BYTE_0", 0}, {"BYTE_1", 1}, {"BYTE_2", 2}, {"BYTE_3", 3},
                            {"WORD_0", 4}, {"WORD_1", 5}, {"DWORD", 6}};
constexpr Name unused[] = {{"UNUSED_PAD", 0}, {"UNUSED_SEXT", 1}, {"UNUSED_PRESERVE", 2}};
// CDNA3 ISA, "Buffer Resource Descriptor": data format in the low four bits, numeric format in the three above
constexpr Name data_formats[] = {{"INVALID", 0},      {"8", 1},          {"16", 2},           {"8_8", 3},
                                 {"32", 4},           {"16_16", 5},      {"10_11_11", 6},     {"11_11_10", 7},
                                 {"10_10_10_2", 8},   {"2_10_10_10", 9}, {"8_8_8_8", 10},     {"32_32", 11},
                                 {"16_16_16_16", 12}, {"32_32_32", 13},  {"32_32_32_32", 14}, {"RESERVED_15", 15}};
constexpr Name number_formats[] = {{"UNORM", 0}, {"SNORM", 1}, {"USCALED", 2},    {"SSCALED", 3},
                                   {"UINT", 4},  {"SINT", 5},  {"RESERVED_6", 6}, {"FLOAT", 7}};
// CDNA3 ISA, "S_SENDMSG Messages"
constexpr Name operations[] = {{"GS_OP_NOP", 0},
                               {"GS_OP_CUT", 1},
                               {"GS_OP_EMIT", 2},
                               {"GS_OP_EMIT_CUT", 3},
                               {"SYSMSG_OP_ECC_ERR_INTERRUPT", 1},
                               {"SYSMSG_OP_REG_RD", 2},
                               {"SYSMSG_OP_TTRACE_PC", 4}};
constexpr Name indexed[] = {{"SRC0", 1}, {"SRC1", 2}, {"SRC2", 4}, {"DST", 8}};

std::string_view trim(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

/// Cuts the part before the next comma off `text`.
std::string_view next_part(std::string_view& text) {
    const size_t comma = text.find(',');
    const std::string_view part = trim(text.substr(0, comma));
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
    return part;
}

template <size_t N>
std::optional<uint8_t> find(const Name (&names)[N], std::string_view name) {
    for (const Name& row : names)
        if (row.name == name) return row.value;
    return {};
}

std::optional<uint16_t> number(std::string_view text, int bits) {
    uint16_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc() || end != text.data() + text.size() || value >> bits) return {};
    return value;
}

std::optional<uint16_t> message_number(std::string_view text) {
    for (const ImmediateName& row : message_names())
        if (row.name == text && row.of(Family::cdna3)) return static_cast<uint16_t>(row.number);
    return number(text, 4);
}

bool select(std::string_view value, uint8_t& into) {
    const auto found = find(selects, value);
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
        const auto found =
            data ? find(data_formats, part.substr(kData.size())) : find(number_formats, part.substr(kNumber.size()));
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
    const auto found = find(unused, value);
    if (found) sdwa.dst_unused = *found;
    return found.has_value();
}

std::optional<uint16_t> parse_cdna_message(std::string_view inside) {
    const auto message = message_number(next_part(inside));
    std::optional<uint16_t> operation = uint16_t{0}, stream = uint16_t{0};
    if (!inside.empty()) {
        const std::string_view part = next_part(inside);
        operation = find(operations, part);
        if (!operation) operation = number(part, 3);
    }
    if (!inside.empty()) stream = number(next_part(inside), 2);
    if (!message || !operation || !stream || !inside.empty()) return {};
    return static_cast<uint16_t>(*message | *operation << 4 | *stream << 8);
}

std::optional<uint16_t> parse_index_mode(std::string_view inside) {
    uint16_t mask = 0;
    while (!inside.empty()) {
        const auto found = find(indexed, next_part(inside));
        if (!found) return {};
        mask |= *found;
    }
    return mask;
}

}  // namespace strata::isa
