#pragma once
#include <bit>
#include <cstring>

#include "strata/asm/emu/machine/wave.h"
#include "strata/asm/emu/machine/workgroup.h"

// Parts that the memory handlers of all host variants share: items to move, and work that is done lane by lane.
namespace strata::emu {

/// The item that one lane moves, and between which bits of which registers.
enum class Item : uint8_t {
    u8,
    i8,
    u16,
    i16,
    b32,
    b64,
    b96,
    b128,  // loads that fill registers; b32.. also stores
    d16_u8,
    d16_i8,
    d16_b16,
    d16_hi_u8,
    d16_hi_i8,
    d16_hi_b16,  // loads of one half
    low8,
    low16,
    high8,
    high16,  // stores of part of a register
};
constexpr uint32_t item_bytes(Item item) {
    constexpr uint8_t bytes[] = {1, 1, 2, 2, 4, 8, 12, 16, 1, 1, 2, 1, 1, 2, 1, 2, 1, 2};
    return bytes[static_cast<int>(item)];
}
constexpr int item_rows(Item item) { return item_bytes(item) > 4 ? static_cast<int>(item_bytes(item) / 4) : 1; }

inline Access access_of(const Op* op) {
    const MemoryFields& fields = op->memory();
    return fields.is(kIsAtomic) ? Access::atomic : fields.is(kIsStore) ? Access::store : Access::load;
}

inline uint32_t* row_at(Wave* wave, uint32_t place) {
    return reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(wave) + place);
}
inline uint64_t scalar64(const Wave* wave, uint32_t place) {
    const char* const at = reinterpret_cast<const char*>(wave) + place;
    uint32_t low, high;
    memcpy(&low, at, 4);
    memcpy(&high, at + 4, 4);
#if defined(__x86_64__)
    asm(""
        : "+r"(high));  // as one load it would wait until the two instructions that wrote the halves are in the cache
#endif
    return low | uint64_t{high} << 32;
}

/// Lane addresses of any memory Op; local and scratch ones carry their aperture. Returns the lanes that take part: EXEC
/// without the lanes that a buffer's range check drops.
uint64_t lane_addresses(Wave* wave, const Op* op, uint64_t* addresses);

/// One lane's access wherever its address leads; false after a fault. Local accesses out of range of a launch that is
/// not strict read 0 and write nothing.
bool read_lane(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, void* to);
bool write_lane(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, const void* from);

/// True if a lane's address lies in private memory, whose dwords are interleaved.
bool in_private(const Op* op, uint64_t address);
/// Host address of an atomic outside private memory; nullptr for none (a fault if `failed`).
uint8_t* atomic_place(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, bool& failed);

/// Zeroes the status dword that follows `rows` loaded ones (tfe: no page is missing here); false after a fault.
bool clear_status(Wave* wave, const Op* op, int rows);

/// Buffer loads and stores of any descriptor, in range or not; false after a fault.
template <Item item>
bool buffer_load(Wave* wave, const Op* op);
template <Item item>
bool buffer_store(Wave* wave, const Op* op);

/// Handlers that exist once: atomics, buffers, loads into local memory, register blocks, transposes, global wave sync,
/// DS oddities. `fields` are those of prepare_memory(); a chooser changes its copy of them.
std::optional<Op> choose_atomic(const Decoded& decoded, MemoryFields fields);
bool adds_floats(std::string_view operation);
std::optional<Op> choose_float_atomic(const Decoded& decoded, MemoryFields fields, std::string_view operation);
std::optional<Op> choose_buffer(const Decoded& decoded, MemoryFields fields);
std::optional<Op> choose_typed_buffer(const Decoded& decoded, MemoryFields fields);
std::optional<Op> choose_to_local(const Decoded& decoded, MemoryFields fields);
std::optional<Op> choose_block(const Decoded& decoded, MemoryFields fields);
std::optional<Op> choose_transpose(const Decoded& decoded, MemoryFields fields);
std::optional<Op> choose_gws(const Decoded& decoded, MemoryFields fields);
std::optional<Op> choose_local_oddity(const Decoded& decoded, MemoryFields fields);
/// The handler of a plain load or store of DS that goes to the global data share, or nullptr.
Handler gds_handler(Item item, bool store);

/// The fields that follow from the instruction's operands; none: the form is not supported.
std::optional<MemoryFields> prepare_memory(const Decoded& decoded);
/// The item of a plain load or store by its mnemonic ("global_load_d16_hi_b16"); false for other instructions.
bool plain_item(std::string_view mnemonic, Item& item, bool& store);

/// Moves one lane between memory bytes and registers. `rows` is the first data row, `lanes` the row length.
template <Item item>
inline void load_item(uint32_t* rows, int lanes, int lane, const void* from) {
    uint32_t& low = rows[lane];
    auto as = [&]<class T>(T value) {
        memcpy(&value, from, sizeof value);
        return value;
    };
    if constexpr (item == Item::u8)
        low = as(uint8_t{});
    else if constexpr (item == Item::i8)
        low = static_cast<uint32_t>(static_cast<int32_t>(as(int8_t{})));
    else if constexpr (item == Item::u16)
        low = as(uint16_t{});
    else if constexpr (item == Item::i16)
        low = static_cast<uint32_t>(static_cast<int32_t>(as(int16_t{})));
    else if constexpr (item == Item::d16_u8)
        low = (low & 0xffff0000) | as(uint8_t{});
    else if constexpr (item == Item::d16_i8)
        low = (low & 0xffff0000) | static_cast<uint16_t>(static_cast<int16_t>(as(int8_t{})));
    else if constexpr (item == Item::d16_b16)
        low = (low & 0xffff0000) | as(uint16_t{});
    else if constexpr (item == Item::d16_hi_u8)
        low = (low & 0xffff) | uint32_t{as(uint8_t{})} << 16;
    else if constexpr (item == Item::d16_hi_i8)
        low = (low & 0xffff) | static_cast<uint32_t>(static_cast<uint16_t>(static_cast<int16_t>(as(int8_t{})))) << 16;
    else if constexpr (item == Item::d16_hi_b16)
        low = (low & 0xffff) | uint32_t{as(uint16_t{})} << 16;
    else {
        uint32_t data[item_rows(item)];
        memcpy(data, from, sizeof data);
        for (int i = 0; i < item_rows(item); ++i) rows[i * lanes + lane] = data[i];
    }
}

template <Item item>
inline void store_item(const uint32_t* rows, int lanes, int lane, void* to) {
    const uint32_t low = rows[lane];
    if constexpr (item == Item::low8 || item == Item::high8) {
        uint8_t value = static_cast<uint8_t>(item == Item::low8 ? low : low >> 16);
        memcpy(to, &value, 1);
    } else if constexpr (item == Item::low16 || item == Item::high16) {
        uint16_t value = static_cast<uint16_t>(item == Item::low16 ? low : low >> 16);
        memcpy(to, &value, 2);
    } else {
        uint32_t data[item_rows(item)];
        for (int i = 0; i < item_rows(item); ++i) data[i] = rows[i * lanes + lane];
        memcpy(to, data, sizeof data);
    }
}

}  // namespace strata::emu
