#include <algorithm>

#include "strata/asm/emu/buffer_resource_p.h"
#include "strata/asm/emu/scalar_p.h"

// Loads and stores through buffer descriptors: address and range check lane by lane and, of several dwords, dword by
// dword. Out of range: loads give 0, stores do nothing (RDNA3 ISA, "Range Checking").
namespace strata::emu {
namespace {

constexpr uint32_t part_bytes(Item item) { return std::min(item_bytes(item), 4u); }

/// Host address of the lanes' consecutive dwords, or nullptr. GFX9 spills through such a descriptor.
uint8_t* consecutive(const Wave* wave, const BufferView& view, uint32_t bytes) {
    const u64 address = view.consecutive_address(0);
    const u64 low = address - kScratchWindow,
              size = u64{(wave->scratch_size + 3) / 4 * 4} * static_cast<u64>(wave->lanes);
    const u64 row = 4 * static_cast<u64>(wave->lanes), extent = bytes / 4 * row;
    if (address < kScratchWindow || low % row != 0 || extent > size || low > size - extent) return nullptr;
    const int last = wave->lanes - 1;
    return view.inside(0, 0, 4) && view.inside(last, bytes - 4, 4) ? wave->scratch + low : nullptr;
}

template <Item item>
const Op* buffer_load(Wave* wave, const Op* op) {
    const BufferView view(wave, op);
    const u64 exec = wave->exec();
    uint32_t* rows = row_at(wave, op->dst);
    if constexpr (item_bytes(item) >= 4) {
        if (const uint8_t* from = consecutive(wave, view, item_bytes(item))) {
            for (int i = 0; i < item_rows(item) * wave->lanes; ++i)
                if (exec >> i % wave->lanes & 1) memcpy(rows + i, from + 4 * i, 4);
            return op + 1;
        }
    }
    for (u64 left = exec; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        alignas(16) uint8_t data[16] = {};
        for (uint32_t at = 0; at < item_bytes(item); at += 4) {
            if (!view.inside(lane, at, part_bytes(item))) continue;
            if (!read_lane(wave, op, lane, view.address(lane, at), part_bytes(item), data + at)) return nullptr;
        }
        load_item<item>(rows, wave->lanes, lane, data);
    }
    return op + 1;
}

template <Item item>
const Op* buffer_store(Wave* wave, const Op* op) {
    const BufferView view(wave, op);
    const u64 exec = wave->exec();
    const uint32_t* rows = row_at(wave, op->src[2]);
    if constexpr (item_bytes(item) >= 4) {
        if (uint8_t* to = consecutive(wave, view, item_bytes(item))) {
            for (int i = 0; i < item_rows(item) * wave->lanes; ++i)
                if (exec >> i % wave->lanes & 1) memcpy(to + 4 * i, rows + i, 4);
            return op + 1;
        }
    }
    for (u64 left = exec; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        alignas(16) uint8_t data[16];
        store_item<item>(rows, wave->lanes, lane, data);
        for (uint32_t at = 0; at < item_bytes(item); at += 4) {
            if (!view.inside(lane, at, part_bytes(item))) continue;
            if (!write_lane(wave, op, lane, view.address(lane, at), part_bytes(item), data + at)) return nullptr;
        }
    }
    return op + 1;
}

// The work is in functions that return, so that their frames are gone when the next handler runs.
template <Item item>
const Op* load(Wave* wave, const Op* op) {
    if (!buffer_load<item>(wave, op)) return nullptr;
    if ((op->op_sel_hi & kStatus) && !clear_status(wave, op, item_rows(item))) return nullptr;
    STRATA_EMU_NEXT;
}
template <Item item>
const Op* store(Wave* wave, const Op* op) {
    if (!buffer_store<item>(wave, op)) return nullptr;
    STRATA_EMU_NEXT;
}

struct LoadRow {
    Item item;
    Handler run;
};
#define LOAD(item) {Item::item, load<Item::item>}
constexpr LoadRow kLoads[] = {LOAD(u8),      LOAD(i8),        LOAD(u16),       LOAD(i16),       LOAD(b32),
                              LOAD(b64),     LOAD(b96),       LOAD(b128),      LOAD(d16_u8),    LOAD(d16_i8),
                              LOAD(d16_b16), LOAD(d16_hi_u8), LOAD(d16_hi_i8), LOAD(d16_hi_b16)};
#undef LOAD
#define STORE(item) {Item::item, store<Item::item>}
constexpr LoadRow kStores[] = {STORE(low8), STORE(low16), STORE(high8), STORE(high16),
                               STORE(b32),  STORE(b64),   STORE(b96),   STORE(b128)};
#undef STORE

template <size_t n>
Handler find(const LoadRow (&rows)[n], Item item) {
    auto it = std::ranges::find(rows, item, &LoadRow::item);
    return it == std::end(rows) ? nullptr : it->run;
}

/// Cache control: memory is coherent here.
constexpr std::string_view kCache[] = {"buffer_gl0_inv", "buffer_gl1_inv", "buffer_wbl2",       "buffer_inv",
                                       "buffer_invl2",   "buffer_wbinvl1", "buffer_wbinvl1_vol"};

}  // namespace

bool clear_status(Wave* wave, const Op* op, int rows) {
    const uint32_t place = op->dst + 4u * static_cast<uint32_t>(rows * wave->lanes);
    if (place >= Wave::vector_place(wave->vgprs, wave->lanes)) {
        fail(wave, op, "the status of tfe goes to a vector register that the kernel does not allocate");
        return false;
    }
    for (u64 left = wave->exec(); left; left &= left - 1) row_at(wave, place)[std::countr_zero(left)] = 0;
    return true;
}

Handler choose_buffer(const Choice& choice) {
    if (std::ranges::find(kCache, choice.name) != std::end(kCache)) return nop;
    Item item;
    bool is_store;
    if (!plain_item(choice.name, item, is_store)) return nullptr;
    if (is_store && choice.inst.tfe) return nullptr;
    return is_store ? find(kStores, item) : find(kLoads, item);
}

}  // namespace strata::emu
