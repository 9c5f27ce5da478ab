#include "strata/asm/emu/machine/handler.h"
#include "strata/asm/emu/memory/ops.h"

// RDNA4's loads that transpose a 16x16 matrix on its way into registers, in wave32. Every lane reads 64 or 128
// consecutive bits, half a row; the matrix product wants columns. Of 16-bit elements each group of eight lanes
// transposes the 8x8 elements it reads. Of 8-bit elements sixteen lanes transpose 8x16. Lanes 0-3 read the left halves
// of rows 0-3, lanes 4-7 their right halves, lanes 8-15 those of rows 4-7.
namespace strata::emu {
namespace {

constexpr uint32_t kElements = 8;  ///< of a lane

/// The lane that reads the element `i` of `lane`'s result; its place among what that lane reads is lane % 8.
template <uint32_t bytes>
uint32_t reader(uint32_t lane, uint32_t i) {
    if (bytes == 16) return (lane & ~7u) + i;
    return (lane & 16) + (i & 4) * 2 + (lane >> 3 & 1) * 4 + (i & 3);
}

template <uint32_t bytes>
bool load_transposed(Wave* wave, const Op* op) {
    if (wave->s[isa::code::exec_lo] != ~0u) {
        fail(wave, op,
             "what a transposing load gives while lanes are switched off is not documented; set EXEC to all ones");
        return false;
    }
    u64 addresses[64];
    lane_addresses(wave, op, addresses);
    uint8_t read[32][bytes];
    for (int lane = 0; lane < 32; ++lane)
        if (!read_lane(wave, op, lane, addresses[lane], bytes, read[lane])) return false;
    constexpr uint32_t kSize = bytes / kElements;
    uint32_t* rows = row_at(wave, op->memory().dst);
    for (uint32_t lane = 0; lane < 32; ++lane) {
        uint32_t result[bytes / 4];
        for (uint32_t i = 0; i < kElements; ++i)
            memcpy(reinterpret_cast<uint8_t*>(result) + i * kSize, read[reader<bytes>(lane, i)] + lane % 8 * kSize,
                   kSize);
        for (uint32_t row = 0; row < bytes / 4; ++row) rows[row * 32 + lane] = result[row];
    }
    return true;
}

template <uint32_t bytes>
const Op* transpose(Wave* wave, const Op* op) {
    if (!load_transposed<bytes>(wave, op)) return nullptr;
    STRATA_EMU_NEXT;
}

}  // namespace

std::optional<Op> choose_transpose(const Decoded& decoded, MemoryFields fields) {
    const bool wide = decoded.name == "global_load_tr_b128";
    if (!wide && decoded.name != "global_load_tr_b64") return {};
    if (decoded.wave_size != 32) return {};  // the layout of wave64, whose result is half as long, is not public
    fields.bytes = wide ? 16 : 8;
    return Op(wide ? transpose<16> : transpose<8>, fields);
}

}  // namespace strata::emu
