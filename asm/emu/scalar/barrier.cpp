#include <fmt/format.h>

#include <algorithm>

#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/emu/scalar/scalar.h"

// Barriers (RDNA3 ISA and CDNA3 ISA, "S_BARRIER"; RDNA4 ISA, "Split Barriers"). Waves that ended count as arrived.
// RDNA4 has one barrier a workgroup, number -1; -2 is the trap handler's.
namespace strata::emu {

namespace {

constexpr i32 kWorkgroup = -1;

const Op* s_barrier(Wave* wave, const Op* op) { return leave(wave, op, op + 1, Stop::barrier); }

/// False after fail(): no such barrier.
bool exists(Wave* wave, const Op* op, i32 number) {
    if (number <= 0) return true;
    fail(wave, op, fmt::format("barrier {} does not exist: there are no named barriers", number));
    return false;
}

bool signal(Wave* wave, i32 number) {
    if (number != kWorkgroup) return false;  // number 0 and, for user code, the trap handler's: nothing happens
    Workgroup& group = *wave->group;
    const bool first = group.signals == 0;
    wave->barriers_signalled = group.completed + 1;
    ++group.signals;
    check_split_barrier(group);
    return first;
}

const Op* s_barrier_signal(Wave* wave, const Op* op) {
    const i32 number = static_cast<i32>(source<u32>(wave, op, 0));
    if (!exists(wave, op, number)) return nullptr;
    signal(wave, number);
    STRATA_EMU_NEXT;
}
const Op* s_barrier_signal_isfirst(Wave* wave, const Op* op) {
    const i32 number = static_cast<i32>(source<u32>(wave, op, 0));
    if (!exists(wave, op, number)) return nullptr;
    wave->scc = signal(wave, number);
    STRATA_EMU_NEXT;
}
const Op* s_barrier_wait(Wave* wave, const Op* op) {
    if (static_cast<i32>(op->scalar().imm) != kWorkgroup)
        return fail(wave, op, "waits for another barrier than the workgroup's (-1): there are no named barriers");
    Workgroup& group = *wave->group;
    if (wave->barriers_passed == group.completed) return leave(wave, op, op + 1, Stop::split_barrier);
    wave->barriers_passed = group.completed;
    STRATA_EMU_NEXT;
}
/// Bit 0: valid; 10:4 members; 22:16 signals (RDNA4 ISA, S_GET_BARRIER_STATE).
const Op* s_get_barrier_state(Wave* wave, const Op* op) {
    const i32 number = static_cast<i32>(source<u32>(wave, op, 0));
    const Workgroup& group = *wave->group;
    u32 state = 0;
    if (number == kWorkgroup) state = 1 | (group.waves - group.ended) << 4 | group.signals << 16;
    put<u32>(wave, op->scalar().dst, state);
    STRATA_EMU_NEXT;
}

constexpr NamedHandler kRows[] = {
    {"s_barrier", s_barrier},
    {"s_barrier_signal", s_barrier_signal},
    {"s_barrier_signal_isfirst", s_barrier_signal_isfirst},
    {"s_barrier_wait", s_barrier_wait},
    {"s_get_barrier_state", s_get_barrier_state},
};

}  // namespace

Handler choose_barrier(const Decoded& decoded) {
    auto it = std::ranges::find(kRows, decoded.name, &NamedHandler::mnemonic);
    return it != std::end(kRows) ? it->run : nullptr;
}

}  // namespace strata::emu
