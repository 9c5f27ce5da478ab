#include <algorithm>

#include "strata/asm/emu/machine/handler.h"
#include "strata/asm/emu/memory/buffer_resource.h"

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

}  // namespace

template <Item item>
bool buffer_load(Wave* wave, const Op* op) {
    const BufferView view(wave, op);
    const u64 exec = wave->exec();
    uint32_t* rows = row_at(wave, op->memory().dst);
    if constexpr (item_bytes(item) >= 4) {
        if (const uint8_t* from = consecutive(wave, view, item_bytes(item))) {
            for (int i = 0; i < item_rows(item) * wave->lanes; ++i)
                if (exec >> i % wave->lanes & 1) memcpy(rows + i, from + 4 * i, 4);
            return true;
        }
    }
    for (u64 left = exec; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        alignas(16) uint8_t data[16] = {};
        for (uint32_t at = 0; at < item_bytes(item); at += 4) {
            if (!view.inside(lane, at, part_bytes(item))) continue;
            if (!read_lane(wave, op, lane, view.address(lane, at), part_bytes(item), data + at)) return false;
        }
        load_item<item>(rows, wave->lanes, lane, data);
    }
    return true;
}

template <Item item>
bool buffer_store(Wave* wave, const Op* op) {
    const BufferView view(wave, op);
    const u64 exec = wave->exec();
    const uint32_t* rows = row_at(wave, op->memory().data);
    if constexpr (item_bytes(item) >= 4) {
        if (uint8_t* to = consecutive(wave, view, item_bytes(item))) {
            for (int i = 0; i < item_rows(item) * wave->lanes; ++i)
                if (exec >> i % wave->lanes & 1) memcpy(to + 4 * i, rows + i, 4);
            return true;
        }
    }
    for (u64 left = exec; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        alignas(16) uint8_t data[16];
        store_item<item>(rows, wave->lanes, lane, data);
        for (uint32_t at = 0; at < item_bytes(item); at += 4) {
            if (!view.inside(lane, at, part_bytes(item))) continue;
            if (!write_lane(wave, op, lane, view.address(lane, at), part_bytes(item), data + at)) return false;
        }
    }
    return true;
}

#define STRATA_LOADS(DO) DO(u8) DO(i8) DO(u16) DO(i16) DO(b32) DO(b64) DO(b96) DO(b128)
#define STRATA_HALF_LOADS(DO) DO(d16_u8) DO(d16_i8) DO(d16_b16) DO(d16_hi_u8) DO(d16_hi_i8) DO(d16_hi_b16)
#define STRATA_STORES(DO) DO(low8) DO(low16) DO(high8) DO(high16) DO(b32) DO(b64) DO(b96) DO(b128)
#define LOAD(item) template bool buffer_load<Item::item>(Wave*, const Op*);
#define STORE(item) template bool buffer_store<Item::item>(Wave*, const Op*);
STRATA_LOADS(LOAD)
STRATA_HALF_LOADS(LOAD)
STRATA_STORES(STORE)
#undef LOAD
#undef STORE

namespace {

/// With tfe. The work is in a function that returns, so that its frame is gone when the next handler runs.
template <Item item>
const Op* load_with_status(Wave* wave, const Op* op) {
    if (!buffer_load<item>(wave, op) || !clear_status(wave, op, item_rows(item))) return nullptr;
    STRATA_EMU_NEXT;
}

struct LoadRow {
    Item item;
    Handler run;
};
#define LOAD(item) {Item::item, load_with_status<Item::item>},
constexpr LoadRow kLoads[] = {STRATA_LOADS(LOAD) STRATA_HALF_LOADS(LOAD)};
#undef LOAD

/// Cache control: memory is coherent here.
constexpr std::string_view kCache[] = {"buffer_gl0_inv", "buffer_gl1_inv", "buffer_wbl2",       "buffer_inv",
                                       "buffer_invl2",   "buffer_wbinvl1", "buffer_wbinvl1_vol"};

}  // namespace

bool clear_status(Wave* wave, const Op* op, int rows) {
    const uint32_t place = op->memory().dst + 4u * static_cast<uint32_t>(rows * wave->lanes);
    if (place >= Wave::vector_place(wave->vgprs, wave->lanes)) {
        fail(wave, op, "the status of tfe goes to a vector register that the kernel does not allocate");
        return false;
    }
    for (u64 left = wave->exec(); left; left &= left - 1) row_at(wave, place)[std::countr_zero(left)] = 0;
    return true;
}

std::optional<Op> choose_buffer(const Decoded& decoded, MemoryFields fields) {
    if (std::ranges::find(kCache, decoded.name) != std::end(kCache)) return Op(nop);
    Item item;
    bool store;
    if (!plain_item(decoded.name, item, store) || store || !decoded.inst.tfe) return {};
    auto it = std::ranges::find(kLoads, item, &LoadRow::item);
    return it == std::end(kLoads) ? std::nullopt : std::optional(Op(it->run, fields));
}

}  // namespace strata::emu
