#include "strata/asm/isa/names.h"
#include "strata/asm/isa/print/print_p.h"

namespace strata::isa {
namespace {

constexpr uint32_t kGs = 2, kGsDone = 3, kSystem = 15;

std::string cdna_message(uint32_t value, Family family) {
    uint32_t id = value & 15, operation = value >> 4 & 7, stream = value >> 8 & 3;
    std::string_view name = name_of(message_names(), family, id);
    bool named = !name.empty();
    std::string_view gs = name_at(kGsOperations, operation), system = name_at(kSystemOperations, operation);
    if (named && (id == kGs || id == kGsDone) && !gs.empty()) {
        if (operation) return fmt::format("sendmsg({}, {}, {})", name, gs, stream);
        if (id == kGsDone && !stream) return fmt::format("sendmsg({}, {})", name, gs);
    } else if (id == kSystem && !system.empty() && !stream) {
        return fmt::format("sendmsg({}, {})", name, system);
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
