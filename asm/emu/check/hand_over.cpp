#include "strata/asm/emu/check/hand_over.h"

namespace strata::emu {
namespace {

constexpr int kDevice = 2;  // of RDNA4's scopes

/// AMDGPUUsage, "Memory Model": loads of atomics at agent scope. `nontemporal` loads of gfx90a have slc beside glc.
bool has_device_scope(isa::Family family, const isa::Inst& inst) {
    switch (family) {
        case isa::Family::rdna3: return inst.glc;
        case isa::Family::rdna4: return inst.scope >= kDevice;
        case isa::Family::cdna3: return inst.sc1;
        case isa::Family::cdna2: return inst.glc && !inst.slc;
    }
    return false;
}

}  // namespace

HandOver hand_over_of(isa::Family family, const isa::Inst& inst) {
    const std::string_view name = inst.row->mnemonic;
#define HAND_OVER(which, mnemonic, does, where) \
    if (isa::families::which.has(family) && name == #mnemonic && (where)) return HandOver::does;
#include "strata/asm/emu/check/hand_over.def"
#undef HAND_OVER
    return HandOver::none;
}

Atomic atomic_of(isa::Family family, const isa::Inst& inst) {
    if (inst.row->flags & isa::kAtomic) return Atomic::update;
    if (!(inst.row->flags & isa::kStore)) return has_device_scope(family, inst) ? Atomic::load : Atomic::no;
    if (family == isa::Family::rdna3 || family == isa::Family::cdna2) return Atomic::maybe;
    return has_device_scope(family, inst) ? Atomic::update : Atomic::no;
}

}  // namespace strata::emu
