#include "strata/asm/emu/machine/handler.h"
#include "strata/asm/emu/memory/ops.h"

// RDNA4: up to 32 registers of every lane at once, those whose bit in M0 is set. Register i goes with the dword at
// 4 * i after the lane's address (RDNA4 ISA, "GLOBAL_LOAD_BLOCK").
namespace strata::emu {
namespace {

bool move_block(Wave* wave, const Op* op, bool store) {
    const uint32_t first = store ? op->memory().data : op->memory().dst;
    const uint32_t end = Wave::vector_place(wave->vgprs, wave->lanes);
    const auto row_bytes = 4u * static_cast<uint32_t>(wave->lanes);
    u64 addresses[64];
    const u64 active = lane_addresses(wave, op, addresses);
    for (uint32_t mask = wave->s[isa::code::m0]; mask; mask &= mask - 1) {
        const auto i = static_cast<uint32_t>(std::countr_zero(mask));
        if (first + i * row_bytes >= end) {
            fail(wave, op, "the block names vector registers that the kernel does not allocate");
            return false;
        }
        uint32_t* row = row_at(wave, first + i * row_bytes);
        for (u64 left = active; left; left &= left - 1) {
            const int lane = std::countr_zero(left);
            const u64 address = addresses[lane] + 4 * i;
            if (!(store ? write_lane(wave, op, lane, address, 4, row + lane)
                        : read_lane(wave, op, lane, address, 4, row + lane)))
                return false;
        }
    }
    return true;
}

template <bool store>
const Op* block(Wave* wave, const Op* op) {
    if (!move_block(wave, op, store)) return nullptr;
    STRATA_EMU_NEXT;
}

}  // namespace

std::optional<Op> choose_block(const Decoded& decoded, MemoryFields fields) {
    const std::string_view name = decoded.name;
    if (name.ends_with("_load_block")) return Op(block<false>, fields);
    if (name.ends_with("_store_block")) return Op(block<true>, fields);
    if (name == "global_inv" || name == "global_wb" || name == "global_wbinv") return Op(nop);
    return {};
}

}  // namespace strata::emu
