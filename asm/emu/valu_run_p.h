#pragma once
#include "strata/asm/emu/valu_lanes_p.h"

// The general way to run one vector instruction: every source form, modifier, DPP, any EXEC. The fast handlers of
// valu_fast_p.h take the plain forms of the common operations.
namespace strata::emu::STRATA_EMU_VARIANT {

/// Runs `op` as `shape` says. False: the host cannot do this MODE.
bool execute(Wave* wave, const Op* op, const Shape& shape);

template <const Shape& shape>
const Op* general(Wave* wave, const Op* op) {
    if (!execute(wave, op, shape)) [[unlikely]]
        return fail_valu(wave, op,
                         "this host cannot do the rounding or denormal flush that the MODE register asks for");
    STRATA_EMU_NEXT;
}

}  // namespace strata::emu::STRATA_EMU_VARIANT
