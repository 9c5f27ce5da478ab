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

std::string cdna_message(uint32_t value, Family family) {
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

}  // namespace

std::string print_message(uint32_t value, Family family) {
    if (is_cdna(family)) return cdna_message(value, family);
    uint32_t id = value & 255;
    std::string_view known = name_of(message_names(), family, id);
    if (known.empty() && value >> 8) return std::to_string(value);
    return known.empty() ? fmt::format("sendmsg({}, 0, 0)", id) : fmt::format("sendmsg({})", known);
}

}  // namespace strata::isa
