#include "strata/asm/emu/machine/workgroup.h"

#include "strata/asm/emu/machine/handler.h"

namespace strata::emu {

const Op* nop(Wave* wave, const Op* op) { STRATA_EMU_NEXT; }

const Op* wait_for_loads(Wave* wave, const Op* op) {
    const uint16_t patience = op->scalar().patience;
    if (patience && clock_of(wave, op) - wave->turn_start < patience && !wave->group->in_turns) STRATA_EMU_NEXT;
    return leave(wave, op, op + 1, Stop::wait);
}

void check_split_barrier(Workgroup& group) {
    if (group.signals == 0 || group.signals + group.ended < group.waves) return;
    group.signals = 0;
    ++group.completed;
}

const Op* code_at(Wave* wave, const Op* op, uint64_t address) {
    Result<const Op*> to = wave->group->code->at_address(address);
    return to ? *to : fail(wave, op, to.error().message);
}

}  // namespace strata::emu
