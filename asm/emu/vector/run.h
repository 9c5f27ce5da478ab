#pragma once
#include "strata/asm/emu/vector/lanes.h"

// The general way to run one vector instruction: every source form, modifier, DPP, any EXEC. The fast handlers of
// fast.h take the plain forms of the common operations.
namespace strata::emu::STRATA_EMU_VARIANT {

/// Moves the lanes of one row as DPP asks; clears in *live the lanes that must not be written. `exec` are the lanes
/// that may be read.
void apply_dpp(const Op* op, const uint32_t* from, uint32_t* to, uint32_t exec, int half, uint32_t* live);

/// Runs `op` as `signature` says. False: the host cannot do this MODE.
bool execute(Wave* wave, const Op* op, const Signature& signature);

/// Runs `op` on its scalar source: `signature` has one, and a scalar destination. False as of execute().
bool execute_scalar(Wave* wave, const Op* op, const Signature& signature);

/// The constant or scalar of source i as up to two dwords.
STRATA_EMU_INLINE uint64_t uniform_value(Wave* wave, const Op* op, int i, Kind kind) {
    if (!(op->vector().constant >> i & 1)) {
        const uint32_t* from = place(wave, op->vector().src[i]);
        return is_64bit(kind) ? from[0] | uint64_t{from[1]} << 32 : from[0];
    }
    const uint64_t value = op->vector().value[i];
    if (op->vector().flags & vector_flag::kLow2Pi << i) return value << 32 | 0x6dc9c882u;
    if (op->vector().flags & vector_flag::kHighDword << i) return value << 32;
    if (op->vector().flags & vector_flag::kSignExtend << i)
        return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(op->vector().value[i])));
    return value;
}

/// A mask source; the fourth source is VCC.
STRATA_EMU_INLINE uint32_t mask_source(Wave* wave, const Op* op, int i, int half) {
    if (i == 3) return wave->s[isa::code::vcc_lo + half];
    return op->vector().constant >> i & 1 ? op->vector().value[i] : place(wave, op->vector().src[i])[half];
}

/// The upper half of the register that a 16-bit result keeps.
STRATA_EMU_INLINE uint32_t kept_high(const Op* op) {
    return op->vector().flags & vector_flag::kZeroHigh ? 0 : 0xffff0000u;
}
/// A register with a 16-bit result in the half that the instruction names.
STRATA_EMU_INLINE U32 merged_half(const Op* op, const U32& old, const U32& x) {
    return op->vector().op_sel & 8 ? (old & 0xffff) | x << 16 : (old & kept_high(op)) | (x & 0xffff);
}

template <int sources>
struct DirectBuffers {
    alignas(64) uint32_t src[sources ? (sources < 3 ? sources : 3) : 1][2][kLanes];
    alignas(64) uint32_t dst[2][kLanes];
};

/// Source i as rows: where the registers are, or in `buffer` if it is uniform or has a sign modifier.
STRATA_EMU_INLINE void direct_source(Wave* wave, const Op* op, int i, Kind kind, int half, Lanes& x,
                                     uint32_t (*buffer)[kLanes], uint32_t* live) {
    if (kind == Kind::mask) {
        x.mask_in = mask_source(wave, op, i, half);
        return;
    }
    const int count = dwords(kind);
    if (op->vector().uniform >> i & 1) {
        const uint64_t value = uniform_value(wave, op, i, kind);
        store(buffer[0], broadcast(static_cast<uint32_t>(value)));
        if (count > 1) store(buffer[1], broadcast(static_cast<uint32_t>(value >> 32)));
        for (int w = 0; w < count; ++w) x.src[i][w] = buffer[w];
    } else {
        const uint32_t* row = place(wave, op->vector().src[i]) + kLanes * half;
        for (int w = 0; w < count; ++w) x.src[i][w] = row + w * wave->lanes;
    }
    if (i == 0 && op->vector().flags & vector_flag::kDpp) [[unlikely]] {
        for (int w = 0; w < count; ++w) {
            apply_dpp(op, x.src[0][w], buffer[w], x.exec, half, live);
            x.src[0][w] = buffer[w];
        }
    }
    if ((op->vector().neg | op->vector().abs) >> i & 1) {
        const uint32_t sign = is_16bit(kind) ? 0x8000u : 0x80000000u;
        const uint32_t keep = op->vector().abs >> i & 1 ? ~sign : ~0u, flip = op->vector().neg >> i & 1 ? sign : 0;
        store(buffer[count - 1], (load(x.src[i][count - 1]) & broadcast(keep)) ^ broadcast(flip));
        x.src[i][count - 1] = buffer[count - 1];
    }
}

constexpr const char* kNoSuchMode =
    "this host cannot do the rounding or denormal flush that the MODE register asks for";

template <const Signature& signature>
const Op* general(Wave* wave, const Op* op) {
    if (!execute(wave, op, signature)) [[unlikely]]
        return fail_valu(wave, op, kNoSuchMode);
    STRATA_EMU_NEXT;
}

template <const Signature& signature>
const Op* scalar(Wave* wave, const Op* op) {
    if (!execute_scalar(wave, op, signature)) [[unlikely]]
        return fail_valu(wave, op, kNoSuchMode);
    STRATA_EMU_NEXT;
}

}  // namespace strata::emu::STRATA_EMU_VARIANT
