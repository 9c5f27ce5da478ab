#include <iterator>

#include "strata/asm/isa/names.h"
#include "strata/asm/isa/print_p.h"

namespace strata::isa {
namespace {

// Operations of the messages that have them (CDNA3 ISA, "S_SENDMSG Messages").
constexpr std::string_view gs_operations[] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
constexpr std::string_view system_operations[] = {"", "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD", "",
                                                  "SYSMSG_OP_TTRACE_PC"};
constexpr uint32_t kGs = 2, kGsDone = 3, kSystem = 15;

std::string message(uint32_t value, Family family) {
    uint32_t id = value & 15, operation = value >> 4 & 7, stream = value >> 8 & 3;
    std::string_view name = name_of(message_names(), family, id);
    bool named = !name.empty();
    if (named && (id == kGs || id == kGsDone) && operation < std::size(gs_operations)) {
        if (operation) return fmt::format("sendmsg({}, {}, {})", name, gs_operations[operation], stream);
        if (id == kGsDone && !stream) return fmt::format("sendmsg({}, {})", name, gs_operations[0]);
    } else if (id == kSystem && operation > 0 && operation < std::size(system_operations) &&
               !system_operations[operation].empty() && !stream) {
        return fmt::format("sendmsg({}, {})", name, system_operations[operation]);
    } else if (named && id != kGs && id != kGsDone && id != kSystem && !operation && !stream) {
        return fmt::format("sendmsg({})", name);
    }
    bool fields = value == (id | operation << 4 | stream << 8);
    return fields ? fmt::format("sendmsg({}, {}, {})", id, operation, stream) : std::to_string(value);
}

/// vmcnt in bits 15:14 and 3:0, lgkmcnt in 11:8, expcnt in 6:4; a counter at its maximum is not waited for.
std::string waitcnt(uint16_t value) {
    uint32_t vm = (value & 15u) | (value >> 10 & 48u), expcnt = value >> 4 & 7, lgkm = value >> 8 & 15;
    bool none = vm == 63 && expcnt == 7 && lgkm == 15;
    std::string text;
    auto counter = [&](const char* name, uint32_t count, uint32_t maximum) {
        if (count != maximum || none) text += fmt::format("{}{}({})", text.empty() ? "" : " ", name, count);
    };
    counter("vmcnt", vm, 63);
    counter("expcnt", expcnt, 7);
    counter("lgkmcnt", lgkm, 15);
    return text;
}

/// Which operands s_set_gpr_idx_* makes relative to M0.
std::string index_mode(uint16_t value) {
    if (value > 15) return fmt::format("{:#x}", value);
    static constexpr std::string_view names[] = {"SRC0", "SRC1", "SRC2", "DST"};
    std::string text;
    for (uint32_t i = 0; i < 4; ++i)
        if (value >> i & 1) text += fmt::format("{}{}", text.empty() ? "" : ",", names[i]);
    return "gpr_idx(" + text + ")";
}

}  // namespace

std::string print_cdna_simm(std::string_view mnemonic, uint16_t value, Family family) {
    if (mnemonic == "s_waitcnt") return waitcnt(value);
    if (mnemonic.starts_with("s_sendmsg")) return message(value, family);
    if (mnemonic.starts_with("s_set_gpr_idx")) return index_mode(value);
    if (mnemonic.find("etreg") != std::string_view::npos) return print_simm(mnemonic, value, family);
    return print_plain_simm(mnemonic == "s_cbranch_i_fork" ? "s_branch" : mnemonic, value);
}

}  // namespace strata::isa
