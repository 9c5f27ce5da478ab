#include <algorithm>

#include "strata/asm/emu/memory_ops_p.h"
#include "strata/asm/emu/scalar_p.h"

// Loads and stores through buffer descriptors: address and range check lane by lane. Out of range: loads give 0, stores
// do nothing (RDNA3 ISA, "Range Checking").
namespace strata::emu {
namespace {

template <Item item>
const Op* buffer_load(Wave* wave, const Op* op) {
    u64 addresses[64];
    const u64 inside = lane_addresses(wave, op, addresses);
    const u64 exec = wave->exec();
    for (int lane = 0; lane < wave->lanes; ++lane) {
        if (!(exec >> lane & 1)) continue;
        alignas(16) uint8_t data[16] = {};
        if ((inside >> lane & 1) && !read_lane(wave, op, lane, addresses[lane], item_bytes(item), data)) return nullptr;
        load_item<item>(row_at(wave, op->dst), wave->lanes, lane, data);
    }
    STRATA_EMU_NEXT;
}

template <Item item>
const Op* buffer_store(Wave* wave, const Op* op) {
    u64 addresses[64];
    u64 inside = lane_addresses(wave, op, addresses);
    for (; inside; inside &= inside - 1) {
        const int lane = std::countr_zero(inside);
        alignas(16) uint8_t data[16];
        store_item<item>(row_at(wave, op->src[2]), wave->lanes, lane, data);
        if (!write_lane(wave, op, lane, addresses[lane], item_bytes(item), data)) return nullptr;
    }
    STRATA_EMU_NEXT;
}

Handler load_handler(Item item) {
    switch (item) {
        case Item::u8: return buffer_load<Item::u8>;
        case Item::i8: return buffer_load<Item::i8>;
        case Item::u16: return buffer_load<Item::u16>;
        case Item::i16: return buffer_load<Item::i16>;
        case Item::b32: return buffer_load<Item::b32>;
        case Item::b64: return buffer_load<Item::b64>;
        case Item::b96: return buffer_load<Item::b96>;
        case Item::b128: return buffer_load<Item::b128>;
        case Item::d16_u8: return buffer_load<Item::d16_u8>;
        case Item::d16_i8: return buffer_load<Item::d16_i8>;
        case Item::d16_b16: return buffer_load<Item::d16_b16>;
        case Item::d16_hi_u8: return buffer_load<Item::d16_hi_u8>;
        case Item::d16_hi_i8: return buffer_load<Item::d16_hi_i8>;
        case Item::d16_hi_b16: return buffer_load<Item::d16_hi_b16>;
        default: return nullptr;
    }
}

Handler store_handler(Item item) {
    switch (item) {
        case Item::low8: return buffer_store<Item::low8>;
        case Item::low16: return buffer_store<Item::low16>;
        case Item::high8: return buffer_store<Item::high8>;
        case Item::high16: return buffer_store<Item::high16>;
        case Item::b32: return buffer_store<Item::b32>;
        case Item::b64: return buffer_store<Item::b64>;
        case Item::b96: return buffer_store<Item::b96>;
        case Item::b128: return buffer_store<Item::b128>;
        default: return nullptr;
    }
}

}  // namespace

Handler choose_buffer(const Choice& choice) {
    std::string_view mnemonic = choice.name;
    if (mnemonic == "buffer_gl0_inv" || mnemonic == "buffer_gl1_inv") return nop;
    Item item;
    bool store;
    if (!plain_item(mnemonic, item, store)) return nullptr;
    return store ? store_handler(item) : load_handler(item);
}

}  // namespace strata::emu
