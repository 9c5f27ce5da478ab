#include "strata/asm/emu/machine/handler.h"
#include "strata/asm/emu/memory/atomic_lanes.h"

// DS instructions of a shape of their own.
namespace strata::emu {
namespace {

/// ds_condxchg32_rtn_b64: each dword of an aligned pair is exchanged where the data's top bit is set, without that bit.
const Op* condxchg32(Wave* wave, const Op* op) {
    const u64 aperture = op->memory().space == Space::gds ? 0 : u64{kSharedAperture} << 32;
    u64 addresses[64];
    for (u64 left = lane_addresses(wave, op, addresses); left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const u64 address = aperture | (addresses[lane] & 0xfff8);
        const u64 data = register_value<u64>(row_at(wave, op->memory().data), wave->lanes, lane);
        u32 old[2];
        for (int i = 0; i < 2; ++i) {
            const auto half = static_cast<u32>(data >> 32 * i);
            auto change = [half](u32 now) { return half >> 31 ? half & 0x7fffffff : now; };
            if (!exchange_lane<u32>(wave, op, lane, address + 4 * static_cast<u64>(i), old[i], change)) return nullptr;
        }
        set_register<u64>(row_at(wave, op->memory().dst), wave->lanes, lane, old[0] | u64{old[1]} << 32);
    }
    STRATA_EMU_NEXT;
}

}  // namespace

std::optional<Op> choose_local_oddity(const Decoded& decoded, MemoryFields fields) {
    if (decoded.name != "ds_condxchg32_rtn_b64") return {};
    fields.bytes = 4;
    return Op(condxchg32, fields);
}

}  // namespace strata::emu
