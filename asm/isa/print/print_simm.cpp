#include <algorithm>
#include <bit>

#include "strata/asm/isa/names.h"
#include "strata/asm/isa/print/print_p.h"

namespace strata::isa {
namespace {

/// RDNA3: vmcnt in bits 15:10, lgkmcnt in 9:4, expcnt in 2:0; CDNA: vmcnt in bits 15:14 and 3:0, lgkmcnt in 11:8,
/// expcnt in 6:4. A counter at its maximum is not waited for.
std::string waitcnt(uint16_t value, bool cdna) {
    uint32_t vm = cdna ? (value & 15u) | (value >> 10 & 48u) : value >> 10;
    uint32_t expcnt = value >> (cdna ? 4 : 0) & 7, lgkm_maximum = cdna ? 15 : 63;
    uint32_t lgkm = value >> (cdna ? 8 : 4) & lgkm_maximum;
    bool none = vm == 63 && expcnt == 7 && lgkm == lgkm_maximum;
    std::string text;
    auto counter = [&](const char* name, uint32_t count, uint32_t maximum) {
        if (count != maximum || none) text += fmt::format("{}{}({})", text.empty() ? "" : " ", name, count);
    };
    counter("vmcnt", vm, 63);
    counter("expcnt", expcnt, 7);
    counter("lgkmcnt", lgkm, lgkm_maximum);
    return text;
}

/// Which operands s_set_gpr_idx_* makes relative to M0.
std::string index_mode(uint16_t value) {
    if (value > 15) return fmt::format("{:#x}", value);
    std::string text;
    for (uint32_t i = 0; i < 4; ++i)
        if (value >> i & 1) text += fmt::format("{}{}", text.empty() ? "" : ",", kIndexedOperands[i]);
    return "gpr_idx(" + text + ")";
}

std::string delay_alu(uint16_t value) {
    std::string text;
    auto part = [&](const char* name, uint32_t index, NameList names, const char* kind) {
        if (index == 0) return;
        std::string spelled(name_at(names, index));
        if (spelled.empty()) spelled = fmt::format("/* invalid {} value */", kind);
        text += fmt::format("{}{}({})", text.empty() ? "" : " | ", name, spelled);
    };
    part("instid0", value & 15, kDelays, "instid");
    part("instskip", value >> 4 & 7, kDelaySkips, "instskip");
    part("instid1", value >> 7 & 15, kDelays, "instid");
    return text.empty() ? "0" : text;
}

std::string hardware_register(uint16_t value, Family family) {
    uint32_t id = value & 63, first = value >> 6 & 31, size = (value >> 11) + 1u;
    std::string_view known = name_of(hardware_register_names(), family, id);
    std::string name = known.empty() ? std::to_string(id) : std::string(known);
    return first == 0 && size == 32 ? fmt::format("hwreg({})", name)
                                    : fmt::format("hwreg({}, {}, {})", name, first, size);
}

std::string depctr(uint16_t value) {
    uint32_t used = 0;
    for (const CounterField& c : kDepctrCounters) used |= ((1u << c.bits) - 1) << c.shift;
    if ((value & ~used) != 0) return fmt::format("{:#x}", value);
    bool none = value == used;
    std::string text;
    for (const CounterField& c : kDepctrCounters) {
        uint32_t maximum = (1u << c.bits) - 1, count = value >> c.shift & maximum;
        if (count != maximum || none) text += fmt::format("{}{}({})", text.empty() ? "" : " ", c.name, count);
    }
    return text;
}

/// An expression of flags, as LLVM prints one; bits that are no flag make it a number.
std::string version(uint16_t value) {
    if (value & 0x1f00) return fmt::format("{:#x}", value);
    std::string text = std::to_string(value & 0xff);
    bool compound = false;
    for (const VersionName& row : kVersions) {
        if (!row.is_flag() && row.number == (value & 0xffu)) text = row.name;
        if (!(row.is_flag() && value & row.number)) continue;
        text = fmt::format("{}{}{}|{}", compound ? "(" : "", text, compound ? ")" : "", row.name);
        compound = true;
    }
    return text;
}

enum class Style { hex, decimal, decimal_small };

Style style(std::string_view mnemonic) {
    static constexpr std::string_view branches[] = {"s_branch", "s_call_b64", "s_endpgm"};
    static constexpr std::string_view small[] = {"s_nop",          "s_setkill",     "s_sethalt",     "s_barrier_wait",
                                                 "s_sleep",        "s_trap",        "s_denorm_mode", "s_setprio",
                                                 "s_incperflevel", "s_decperflevel"};
    if (std::find(std::begin(branches), std::end(branches), mnemonic) != std::end(branches)) return Style::decimal;
    if (mnemonic.starts_with("s_cbranch") || mnemonic.starts_with("s_subvector")) return Style::decimal;
    return std::find(std::begin(small), std::end(small), mnemonic) != std::end(small) ? Style::decimal_small
                                                                                      : Style::hex;
}

}  // namespace

/// RDNA3 ISA, "DS_SWIZZLE_B32": bit 15 selects four lanes, else AND, OR and XOR masks of the lane number.
std::string print_swizzle(uint16_t offset) {
    if ((offset & 0xff00) == 0x8000)
        return fmt::format("swizzle(QUAD_PERM,{},{},{},{})", offset & 3, offset >> 2 & 3, offset >> 4 & 3,
                           offset >> 6 & 3);
    if (offset & 0x8000) return std::to_string(offset);
    uint32_t keep = offset & 31, set = offset >> 5 & 31, flip = offset >> 10 & 31;
    if (keep == 31 && set == 0 && std::has_single_bit(flip)) return fmt::format("swizzle(SWAP,{})", flip);
    if (keep == 31 && set == 0 && flip && std::has_single_bit(flip + 1))
        return fmt::format("swizzle(REVERSE,{})", flip + 1);
    uint32_t group = 32 - keep;
    if (group > 1 && std::has_single_bit(group) && set < group && flip == 0)
        return fmt::format("swizzle(BROADCAST,{},{})", group, set);
    std::string mask;  // for each bit of the lane number: kept, inverted, zero, one
    for (uint32_t bit = 16; bit; bit >>= 1) {
        bool of_zero = (set ^ flip) & bit, of_one = ((keep | set) ^ flip) & bit;
        mask += of_zero == of_one ? (of_one ? '1' : '0') : of_one ? 'p' : 'i';
    }
    return fmt::format("swizzle(BITMASK_PERM,\"{}\")", mask);
}

std::string print_simm(std::string_view mnemonic, uint16_t value, Family family) {
    if (mnemonic == "s_waitcnt") return waitcnt(value, is_cdna(family));
    if (mnemonic == "s_delay_alu") return delay_alu(value);
    if (mnemonic == "s_waitcnt_depctr" || mnemonic == "s_wait_alu") return depctr(value);
    if (mnemonic == "s_version") return version(value);
    if (mnemonic.starts_with("s_sendmsg")) return print_message(value, family);
    if (mnemonic.starts_with("s_set_gpr_idx")) return index_mode(value);
    if (mnemonic.find("etreg") != std::string_view::npos) return hardware_register(value, family);
    Style spelled = style(mnemonic);
    bool decimal = spelled == Style::decimal || (spelled == Style::decimal_small && value <= 64);
    return decimal ? std::to_string(value) : fmt::format("{:#x}", value);
}

}  // namespace strata::isa
