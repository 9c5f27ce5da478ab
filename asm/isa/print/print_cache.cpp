#include "strata/asm/isa/image.h"
#include "strata/asm/isa/print/print_p.h"

namespace strata::isa {
namespace {

constexpr uint8_t kScopeDevice = 2, kScopeSystem = 3;

std::string atomic_hint(uint8_t th, uint8_t scope) {
    bool returns = th & 1, nontemporal = th & 2, cascade = th & 4;
    if (cascade && scope >= kScopeDevice) return nontemporal ? "CASCADE_NT" : "CASCADE_RT";
    if (cascade) return fmt::format("{:#x}", th);
    return nontemporal ? (returns ? "NT_RETURN" : "NT") : "RETURN";
}

}  // namespace

/// RDNA4 ISA, "Memory Scopes and Temporal Hints": what th means depends on the kind of instruction.
std::string print_cache_control(const Inst& inst) {
    static constexpr std::string_view hints[] = {"", "NT", "HT", "", "NT_RT", "RT_NT", "NT_HT", "NT_WB"};
    static constexpr std::string_view scopes[] = {"", "SE", "DEV", "SYS"};
    bool image = inst.encoding == Format::MIMG;
    bool store = inst.row->flags & kStore || (image && ImageForm::unpack(inst.offset).kind == ImageKind::store),
         atomic = inst.row->flags & kAtomic;
    uint8_t th = inst.th & 7, scope = inst.scope & 3;
    std::string text;
    if (th && atomic) {
        text = " th:TH_ATOMIC_" + atomic_hint(th, scope);
    } else if (th == 7 && !store) {
        text = " th:0x7";
    } else if (th) {
        std::string_view third = scope == kScopeSystem ? "BYPASS" : store ? "RT_WB" : "LU";
        text = fmt::format(" th:TH_{}_{}", store ? "STORE" : "LOAD", th == 3 ? third : hints[th]);
    }
    if (scope) text += fmt::format(" scope:SCOPE_{}", scopes[scope]);
    return text;
}

}  // namespace strata::isa
