#include <array>
#include <charconv>

#include "strata/asm/dsl/modifier_p.h"
#include "strata/asm/isa/image.h"

namespace strata::isa {
namespace {

struct Name {
    std::string_view name;
    uint8_t value;
};
// RDNA4 ISA, "Memory Scopes and Temporal Hints". The bit of an atomic that returns is set by its destination too.
constexpr Name kHints[] = {
    {"TH_LOAD_RT", 0},          {"TH_LOAD_NT", 1},           {"TH_LOAD_HT", 2},           {"TH_LOAD_LU", 3},
    {"TH_LOAD_BYPASS", 3},      {"TH_LOAD_NT_RT", 4},        {"TH_LOAD_RT_NT", 5},        {"TH_LOAD_NT_HT", 6},
    {"TH_STORE_RT", 0},         {"TH_STORE_NT", 1},          {"TH_STORE_HT", 2},          {"TH_STORE_RT_WB", 3},
    {"TH_STORE_BYPASS", 3},     {"TH_STORE_NT_RT", 4},       {"TH_STORE_RT_NT", 5},       {"TH_STORE_NT_HT", 6},
    {"TH_STORE_NT_WB", 7},      {"TH_ATOMIC_RT", 0},         {"TH_ATOMIC_RETURN", 1},     {"TH_ATOMIC_NT", 2},
    {"TH_ATOMIC_NT_RETURN", 3}, {"TH_ATOMIC_CASCADE_RT", 4}, {"TH_ATOMIC_CASCADE_NT", 6}, {"TH_ATOMIC_0x4", 4},
    {"TH_ATOMIC_0x5", 5},       {"TH_ATOMIC_0x6", 6},        {"TH_ATOMIC_0x7", 7},
};
constexpr Name kScopes[] = {{"SCOPE_CU", 0}, {"SCOPE_SE", 1}, {"SCOPE_DEV", 2}, {"SCOPE_SYS", 3}};
constexpr Name kBufferFormats[] = {
#define BUFFER_FORMAT(number, name) {"BUF_FMT_" #name, number},
#include "strata/asm/isa/rdna3_buffer_formats.def"
#undef BUFFER_FORMAT
};

template <size_t N>
bool take(const Name (&names)[N], std::string_view name, uint8_t& field) {
    for (const Name& row : names)
        if (row.name == name) return field = row.value, true;
    return false;
}

/// Up to four numbers separated by commas; the count, or -1.
int numbers(std::string_view text, std::array<int, 4>& values) {
    for (int count = 0; count < 4;) {
        const size_t comma = text.find(',');
        const std::string_view part = text.substr(0, comma);
        auto& value = values[static_cast<size_t>(count++)];
        const auto [end, status] = std::from_chars(part.data(), part.data() + part.size(), value);
        if (status != std::errc() || end != part.data() + part.size() || value < 0 || value > 32) return -1;
        if (comma == text.npos) return count;
        text.remove_prefix(comma + 1);
    }
    return -1;
}

/// Five of "01pi": the bits of a lane number from the highest, set, cleared, kept or inverted.
int bitmask(std::string_view text) {
    if (text.size() != 7 || text.front() != '"' || text.back() != '"') return -1;
    int keep = 0, set = 0, flip = 0;
    for (int i = 0; i < 5; ++i) {
        const int bit = 16 >> i;
        switch (text[static_cast<size_t>(i) + 1]) {
            case '0': break;
            case '1': set |= bit; break;
            case 'p': keep |= bit; break;
            case 'i': keep |= bit, flip |= bit; break;
            default: return -1;
        }
    }
    return keep | set << 5 | flip << 10;
}

/// The pattern of ds_swizzle_b32 (RDNA3 ISA, "DS_SWIZZLE_B32"), or -1.
int swizzle(std::string_view text) {
    if (!text.starts_with("swizzle(") || !text.ends_with(')')) return -1;
    text = text.substr(8, text.size() - 9);
    const size_t comma = text.find(',');
    if (comma == text.npos) return -1;
    const std::string_view mode = text.substr(0, comma), rest = text.substr(comma + 1);
    if (mode == "BITMASK_PERM") return bitmask(rest);
    std::array<int, 4> v{};
    const int count = numbers(rest, v);
    if (mode == "SWAP" && count == 1) return 31 | v[0] << 10;
    if (mode == "REVERSE" && count == 1) return 31 | (v[0] - 1) << 10;
    if (mode == "BROADCAST" && count == 2) return (32 - v[0]) | v[1] << 5;
    if (mode == "QUAD_PERM" && count == 4) return 0x8000 | v[0] | v[1] << 2 | v[2] << 4 | v[3] << 6;
    return -1;
}

}  // namespace

bool parse_named_value(std::string_view name, std::string_view value, Modifiers& modifiers) {
    if (name == "th") return take(kHints, value, modifiers.th);
    if (name == "scope") return take(kScopes, value, modifiers.scope);
    if (name == "dim") return (modifiers.image_dim = image_dim(value)).has_value();
    if (name == "format" && value.starts_with('[') && value.ends_with(']')) {
        uint8_t format = 0;
        if (!take(kBufferFormats, value.substr(1, value.size() - 2), format)) return false;
        return modifiers.buffer_format = format, true;
    }
    if (name != "offset") return false;
    const int pattern = swizzle(value);
    if (pattern >= 0) modifiers.offset = pattern;
    return pattern >= 0;
}

}  // namespace strata::isa
