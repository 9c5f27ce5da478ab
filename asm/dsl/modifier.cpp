#include <algorithm>
#include <charconv>
#include <vector>

#include "strata/asm/dsl/modifier_p.h"
#include "strata/asm/isa/dpp.h"
#include "strata/asm/isa/names.h"

// Modifiers and named immediates in LLVM's spelling.
namespace strata::isa {
namespace {

std::optional<int> number(std::string_view text) {
    text = trim(text);
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    const bool hex = text.starts_with("0x");
    if (hex) text.remove_prefix(2);
    uint32_t value = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value, hex ? 16 : 10);
    if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end || value > INT32_MAX) return {};
    return negative ? -static_cast<int>(value) : static_cast<int>(value);
}

/// "5" as one value, "[1,0,1]" as several; empty when it is neither.
std::vector<int> numbers(std::string_view text) {
    std::vector<int> values;
    if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
    while (true) {
        const size_t comma = text.find(',');
        const auto value = number(text.substr(0, comma));
        if (!value) return {};
        values.push_back(*value);
        if (comma == text.npos) return values;
        text.remove_prefix(comma + 1);
    }
}

uint8_t bits_of(const std::vector<int>& flags) {
    uint8_t bits = 0;
    for (size_t i = 0; i < flags.size(); ++i) bits |= static_cast<uint8_t>((flags[i] & 1) << i);
    return bits;
}

struct Flag {
    std::string_view name;
    bool Modifiers::* field;
};
constexpr Flag kFlags[] = {
    {"glc", &Modifiers::glc},     {"slc", &Modifiers::slc},
    {"dlc", &Modifiers::dlc},     {"gds", &Modifiers::gds},
    {"tfe", &Modifiers::tfe},     {"offen", &Modifiers::offen},
    {"idxen", &Modifiers::idxen}, {"clamp", &Modifiers::clamp},
    {"sc0", &Modifiers::glc},     {"nt", &Modifiers::slc},
    {"sc1", &Modifiers::sc1},     {"scc", &Modifiers::sc1},
    {"lds", &Modifiers::lds},     {"unorm", &Modifiers::unnormalized},
};

/// A modifier with values; `apply` returns false when they are out of range.
struct Valued {
    std::string_view name;
    size_t least, most;  ///< values in the list
    bool (*apply)(Modifiers&, const std::vector<int>&);
};

void set_dpp16(Modifiers& m, int ctrl) {
    m.dpp.kind = DppKind::dpp16;
    m.dpp.ctrl = static_cast<uint16_t>(ctrl);
}

bool quad_perm(Modifiers& m, const std::vector<int>& v) {
    int ctrl = 0;
    for (int i = 0; i < 4; ++i) {
        if (v[i] < 0 || v[i] > 3) return false;
        ctrl |= v[i] << (2 * i);
    }
    set_dpp16(m, ctrl);
    return true;
}

bool dpp8(Modifiers& m, const std::vector<int>& v) {
    m.dpp.kind = DppKind::dpp8;
    m.dpp.select = 0;
    for (int i = 0; i < 8; ++i) {
        if (v[i] < 0 || v[i] > 7) return false;
        m.dpp.select |= static_cast<uint32_t>(v[i]) << (3 * i);
    }
    return true;
}

bool small(uint8_t& field, int value, int most) {
    return field = static_cast<uint8_t>(value), value >= 0 && value <= most;
}

using List = const std::vector<int>&;
constexpr Valued kValued[] = {
    {"offset", 1, 1, [](Modifiers& m, List v) { return m.offset = v[0], true; }},
    {"offset0", 1, 1, [](Modifiers& m, List v) { return m.offset = v[0], v[0] >= 0 && v[0] <= 255; }},
    {"offset1", 1, 1, [](Modifiers& m, List v) { return small(m.offset1, v[0], 255); }},
    {"mul", 1, 1, [](Modifiers& m, List v) { return m.omod = v[0] == 4 ? 2 : 1, v[0] == 2 || v[0] == 4; }},
    {"div", 1, 1, [](Modifiers& m, List v) { return m.omod = 3, v[0] == 2; }},
    {"op_sel", 1, 4,
     [](Modifiers& m, List v) {
         m.op_sel_count = static_cast<uint8_t>(v.size());
         return m.op_sel = bits_of(v), true;
     }},
    {"op_sel_hi", 1, 3, [](Modifiers& m, List v) { return m.op_sel_hi = bits_of(v), true; }},
    {"neg_lo", 1, 3, [](Modifiers& m, List v) { return m.neg = bits_of(v), true; }},
    {"neg_hi", 1, 3, [](Modifiers& m, List v) { return m.neg_hi = bits_of(v), true; }},
    {"format", 1, 1,
     [](Modifiers& m, List v) { return m.buffer_format = static_cast<uint8_t>(v[0]), v[0] >= 0 && v[0] <= 127; }},
    {"quad_perm", 4, 4, quad_perm},
    {"dpp8", 8, 8, dpp8},
    {"row_mask", 1, 1, [](Modifiers& m, List v) { return small(m.dpp.row_mask, v[0], 15); }},
    {"bank_mask", 1, 1, [](Modifiers& m, List v) { return small(m.dpp.bank_mask, v[0], 15); }},
    {"bound_ctrl", 1, 1,
     [](Modifiers& m, List v) {
         m.dpp.bound_ctrl = v[0] == 1;
         m.bound_ctrl_zero = v[0] == 0;
         return v[0] == 0 || v[0] == 1;
     }},
    {"cbsz", 1, 1, [](Modifiers& m, List v) { return small(m.cbsz, v[0], 7); }},
    {"abid", 1, 1, [](Modifiers& m, List v) { return small(m.abid, v[0], 15); }},
    {"blgp", 1, 1, [](Modifiers& m, List v) { return small(m.blgp, v[0], 7); }},
    {"neg", 1, 3, [](Modifiers& m, List v) { return m.neg = bits_of(v), true; }},
    {"byte_sel", 1, 1, [](Modifiers& m, List v) { return small(m.byte_sel, v[0], 3); }},
    {"index_key", 1, 1, [](Modifiers& m, List v) { return small(m.index_key, v[0], 3); }},
    {"dmask", 1, 1, [](Modifiers& m, List v) { return small(m.dmask, v[0], 15); }},
    {"wait_exp", 1, 1, [](Modifiers& m, List v) { return small(m.wait_exp, v[0], 7); }},
    {"th", 1, 1, [](Modifiers& m, List v) { return small(m.th, v[0], 7); }},
    {"fi", 1, 1, [](Modifiers& m, List v) { return m.dpp.fi = v[0] == 1, v[0] == 0 || v[0] == 1; }},
};

/// A row of dpp16.def: "row_shl:1", "row_mirror". Several may have one name.
std::optional<uint16_t> dpp16_control(std::string_view name, const std::vector<int>& values) {
    for (const Dpp16Pattern& row : kDpp16Patterns) {
        if (row.text != name || values.size() != (row.last ? 1 : 0)) continue;
        const int number = row.last ? values[0] : 0;
        if (number >= row.first && number <= row.last) return static_cast<uint16_t>(row.control + number - row.first);
    }
    return {};
}

/// A number, or a name of names.def that the family has.
std::optional<int> find(std::span<const ImmediateName> names, Family family, std::string_view name) {
    for (const ImmediateName& row : names)
        if (row.name == name && row.families.has(family)) return static_cast<int>(row.number);
    return number(name);
}

std::optional<int> find(NameList names, std::string_view name) {
    if (const auto known = number_of(names, name)) return *known;
    return number(name);
}

/// The part in parentheses of "name(...)", if the text is that.
std::optional<std::string_view> call(std::string_view text, std::string_view name) {
    text = trim(text);
    if (!text.starts_with(name) || !text.ends_with(')')) return {};
    text = trim(text.substr(name.size(), text.size() - name.size() - 1));
    if (!text.starts_with('(')) return {};
    return trim(text.substr(1));
}

std::optional<uint16_t> parse_waits(std::string_view text, Family family) {
    Waits waits;
    while (!(text = trim(text)).empty()) {
        if (text.front() == '&' || text.front() == ',') {
            text.remove_prefix(1);
            continue;
        }
        const size_t end = text.find(')');
        if (end == text.npos) return {};
        const std::string_view item = text.substr(0, end + 1);
        text.remove_prefix(end + 1);
        bool known = false;
        for (auto [name, field] :
             {std::pair("vmcnt", &Waits::vmcnt), {"lgkmcnt", &Waits::lgkmcnt}, {"expcnt", &Waits::expcnt}})
            if (auto inside = call(item, name)) {
                const auto value = number(*inside);
                if (!value || *value < 0 || *value > 63) return {};
                waits.*field = static_cast<uint8_t>(*value);
                known = true;
            }
        if (!known) return {};
    }
    return wait_immediate(waits, family);
}

/// "instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)"
std::optional<uint16_t> parse_delay(std::string_view text) {
    int value = 0;
    while (!text.empty()) {
        const size_t bar = text.find('|');
        const std::string_view item = trim(text.substr(0, bar));
        text = bar == text.npos ? std::string_view() : text.substr(bar + 1);
        std::optional<int> field;
        if (auto inside = call(item, "instid0"))
            field = find(kDelays, *inside);
        else if (auto inside = call(item, "instid1"))
            field = find(kDelays, *inside) ? std::optional(*find(kDelays, *inside) << 7) : std::nullopt;
        else if (auto inside = call(item, "instskip"))
            field = find(kDelaySkips, *inside) ? std::optional(*find(kDelaySkips, *inside) << 4) : std::nullopt;
        if (!field) return {};
        value |= *field;
    }
    return static_cast<uint16_t>(value);
}

std::optional<uint16_t> parse_hwreg(std::string_view inside, Family family) {
    int offset = 0, size = 32;
    const size_t comma = inside.find(',');
    const auto id = find(hardware_register_names(), family, trim(inside.substr(0, comma)));
    if (comma != inside.npos) {
        const std::vector<int> rest = numbers(inside.substr(comma + 1));
        if (rest.size() != 2) return {};
        offset = rest[0];
        size = rest[1];
    }
    if (!id || *id > 63 || offset < 0 || offset > 31 || size < 1 || size > 32) return {};
    return static_cast<uint16_t>(*id | offset << 6 | (size - 1) << 11);
}

/// "MSG_INTERRUPT", or three numbers of which the first is the message.
std::optional<uint16_t> parse_message(std::string_view inside, Family family) {
    const auto message = find(message_names(), family, trim(inside.substr(0, inside.find(','))));
    if (!message) return {};
    return static_cast<uint16_t>(*message);
}

/// Counters of s_wait_alu and s_waitcnt_depctr; those not named stay at their maximum, which is no wait.
std::optional<uint16_t> parse_depctr(std::string_view text) {
    int value = 0xff9f;
    while (!(text = trim(text)).empty()) {
        const size_t end = text.find(')');
        if (end == text.npos) return {};
        bool known = false;
        for (const CounterField& counter : kDepctrCounters) {
            const auto inside = call(text.substr(0, end + 1), counter.name);
            const auto count = inside ? number(*inside) : std::nullopt;
            if (!count || *count < 0 || *count >> counter.bits) continue;
            value = (value & ~(((1 << counter.bits) - 1) << counter.shift)) | *count << counter.shift;
            known = true;
        }
        if (!known) return {};
        text.remove_prefix(end + 1);
    }
    return static_cast<uint16_t>(value);
}

/// Versions and flags joined by "|", with or without parentheses.
std::optional<uint16_t> parse_version(std::string_view text) {
    int value = 0;
    while (!text.empty()) {
        const size_t bar = text.find('|');
        std::string_view item = trim(text.substr(0, bar));
        while (item.starts_with('(')) item.remove_prefix(1);
        while (item.ends_with(')')) item.remove_suffix(1);
        std::optional<int> part = number(item);
        for (const VersionName& row : kVersions)
            if (row.name == item) part = static_cast<int>(row.number);
        if (!part) return {};
        value |= *part;
        text = bar == text.npos ? std::string_view() : text.substr(bar + 1);
    }
    return static_cast<uint16_t>(value);
}

}  // namespace

Modifiers operator|(const Modifiers& a, const Modifiers& b) {
    Modifiers m = a;
    if (b.encoding != Modifiers::Encoding::any) m.encoding = b.encoding;
    if (b.dpp.kind != DppKind::none) m.dpp = b.dpp;
    m.neg |= b.neg;
    m.abs |= b.abs;
    m.op_sel |= b.op_sel;
    m.neg_hi |= b.neg_hi;
    m.omod |= b.omod;
    if (b.op_sel_hi) m.op_sel_hi = b.op_sel_hi;
    m.offset += b.offset;
    m.offset1 |= b.offset1;
    m.bound_ctrl_zero |= b.bound_ctrl_zero;
    m.cbsz |= b.cbsz;
    m.abid |= b.abid;
    m.blgp |= b.blgp;
    if (b.sdwa.present) m.sdwa = b.sdwa;
    for (const Flag& flag : kFlags) m.*flag.field |= b.*flag.field;
    if (b.buffer_format) m.buffer_format = b.buffer_format;
    m.th |= b.th;
    m.scope |= b.scope;
    m.byte_sel |= b.byte_sel;
    m.index_key |= b.index_key;
    m.wait_exp |= b.wait_exp;
    m.op_sel_count |= b.op_sel_count;
    m.dmask |= b.dmask;
    if (b.image_dim) m.image_dim = b.image_dim;
    return m;
}

Result<void> parse_modifier(std::string_view text, Modifiers& modifiers) {
    for (const Flag& flag : kFlags)
        if (text == flag.name) return modifiers.*flag.field = true, Result<void>();
    const size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    if (colon != text.npos && parse_named_value(name, text.substr(colon + 1), modifiers)) return {};
    if (colon != text.npos && parse_cdna_value(name, text.substr(colon + 1), modifiers)) return {};
    const std::vector<int> values = colon == text.npos ? std::vector<int>() : numbers(text.substr(colon + 1));
    if (const auto ctrl = dpp16_control(name, values)) return set_dpp16(modifiers, *ctrl), Result<void>();
    const Valued* row = std::ranges::find(kValued, name, &Valued::name);
    if (row == std::end(kValued) &&
        std::ranges::find(kDpp16Patterns, name, &Dpp16Pattern::text) == std::end(kDpp16Patterns))
        return make_error(ErrorKind::Assembly, "'{}' is no modifier", text);
    if (row != std::end(kValued) && values.size() >= row->least && values.size() <= row->most &&
        row->apply(modifiers, values))
        return {};
    return make_error(ErrorKind::Assembly, "'{}': the value is missing or out of range", text);
}

uint16_t wait_immediate(const Waits& waits, Family family) {
    auto clamp = [](uint8_t value, uint16_t most) { return value > most ? most : static_cast<uint16_t>(value); };
    if (is_cdna(family)) {  // CDNA3 ISA, "S_WAITCNT": vmcnt in bits 15:14 and 3:0, lgkmcnt in 11:8, expcnt in 6:4
        const uint16_t vm = clamp(waits.vmcnt, 63);
        return static_cast<uint16_t>((vm & 15) | (vm & 48) << 10 | clamp(waits.lgkmcnt, 15) << 8 |
                                     clamp(waits.expcnt, 7) << 4);
    }
    // RDNA3 ISA, "S_WAITCNT": vmcnt in bits 15:10, lgkmcnt in 9:4, expcnt in 2:0.
    return static_cast<uint16_t>(clamp(waits.vmcnt, 63) << 10 | clamp(waits.lgkmcnt, 63) << 4 | clamp(waits.expcnt, 7));
}

std::optional<uint16_t> parse_immediate(Family family, std::string_view mnemonic, std::string_view text) {
    if (mnemonic == "s_waitcnt" && text.find('(') != text.npos) return parse_waits(text, family);
    if (mnemonic == "s_delay_alu" && text.find('(') != text.npos) return parse_delay(text);
    if (text.starts_with("depctr_")) return parse_depctr(text);
    if (mnemonic == "s_version") return parse_version(text);
    if (auto inside = call(text, "hwreg")) return parse_hwreg(*inside, family);
    if (auto inside = call(text, "sendmsg"))
        return is_cdna(family) ? parse_cdna_message(*inside) : parse_message(*inside, family);
    if (auto inside = call(text, "gpr_idx"); inside && is_cdna(family)) return parse_index_mode(*inside);
    return {};
}

}  // namespace strata::isa
