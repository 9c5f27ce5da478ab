#include <fmt/format.h>

#include <algorithm>

#include "strata/asm/emu/machine/device_memory.h"
#include "strata/asm/emu/machine/operands.h"
#include "strata/asm/emu/memory/buffer_resource.h"
#include "strata/asm/emu/memory/gds.h"

// Memory lane by lane: addresses, apertures, checks. The variants' fast paths come here when an access is not regular.
namespace strata::emu {
namespace {

uint64_t extend(uint32_t offset) { return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(offset))); }

/// The byte of one lane's scratch: lanes are interleaved by dword.
uint8_t* scratch_byte(Wave* wave, int lane, uint32_t offset) {
    return wave->scratch +
           (uint64_t{offset / 4} * static_cast<uint32_t>(wave->lanes) + static_cast<uint32_t>(lane)) * 4 + offset % 4;
}

/// Cuts [offset, offset + bytes) at dword boundaries: move(position, count).
template <class Move>
void for_dwords(uint32_t offset, uint32_t bytes, Move move) {
    for (uint32_t i = 0, count; i < bytes; i += count) {
        count = std::min(4 - (offset + i) % 4, bytes - i);
        move(i, count);
    }
}

/// window: the wave's scratch as it lies in memory. share: GDS.
enum class Where { global, local, scratch, window, share };
Where where(const Op* op, uint64_t address) {
    switch (op->memory().space) {
        case Space::local: return Where::local;
        case Space::scratch: return Where::scratch;
        case Space::gds: return Where::share;
        case Space::flat: {
            const auto aperture = static_cast<uint32_t>(address >> 32);
            if (aperture == kSharedAperture) return Where::local;
            if (aperture == kPrivateAperture) return Where::scratch;
            [[fallthrough]];
        }
        default: return address >> 47 == kScratchWindow >> 47 ? Where::window : Where::global;
    }
}

bool in_range(uint64_t offset, uint32_t bytes, uint64_t size) { return bytes <= size && offset <= size - bytes; }

/// Only an instruction of a launch that is not strict may miss its memory.
void miss(Wave* wave, bool& failed, const auto& report) {
    failed = wave->group->launch->strict;
    if (failed) report();
}

uint8_t* window_place(Wave* wave, const Op* op, int lane, uint64_t offset, uint32_t bytes, bool& failed) {
    const auto row = 4 * static_cast<uint64_t>(wave->lanes);
    if (in_range(offset, bytes, (uint64_t{wave->scratch_size} + 3) / 4 * row)) return wave->scratch + offset;
    miss(wave, failed, [&] { fail_scratch(wave, op, lane, offset / row * 4 + offset % 4, bytes, access_of(op)); });
    return nullptr;
}

/// M0 holds where a kernel's part of the global data share starts (bits 31:16) and its size (bits 15:0).
uint8_t* share_place(Wave* wave, const Op* op, int lane, uint64_t offset, uint32_t bytes, bool& failed) {
    const uint32_t base = wave->s[isa::code::m0] >> 16, size = wave->s[isa::code::m0] & 0xffff;
    if (offset >= base && in_range(offset - base, bytes, size) && in_range(offset, bytes, GlobalShare::kBytes))
        return GlobalShare::of(*wave->group->launch).bytes() + offset;
    miss(wave, failed, [&] {
        fail(wave, op,
             fmt::format("lane {} accesses {} bytes at byte {} of the global data share (GDS), of which M0 gives the "
                         "kernel {} bytes from {} on",
                         lane, bytes, offset, size, base));
    });
    return nullptr;
}

/// Host address of an access outside private memory; nullptr for none (`failed` tells a fault from a dropped access).
uint8_t* place(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, bool store, bool& failed) {
    const Where at = where(op, address);
    if (at == Where::local) {
        const auto offset = static_cast<uint32_t>(address);
        if (in_range(offset, bytes, wave->lds_size)) return wave->lds + offset;
        miss(wave, failed, [&] { fail_local(wave, op, lane, offset, bytes, access_of(op)); });
        return nullptr;
    }
    if (at == Where::window) return window_place(wave, op, lane, address - kScratchWindow, bytes, failed);
    if (at == Where::share) return share_place(wave, op, lane, address, bytes, failed);
    Wave::Hit& hit = wave->hits[op->memory().hit];
    if (address < hit.low || address > hit.high - bytes) {
        if (!find_memory(wave, address, bytes, store, hit)) {
            failed = true;
            fail_global(wave, op, lane, address, bytes, access_of(op));
            return nullptr;
        }
    }
    return reinterpret_cast<uint8_t*>(address + hit.bias);
}

bool scratch_ok(Wave* wave, const Op* op, int lane, uint32_t offset, uint32_t bytes, bool& failed) {
    if (in_range(offset, bytes, wave->scratch_size)) return true;
    failed = wave->group->launch->strict;
    if (failed) fail_scratch(wave, op, lane, offset, bytes, access_of(op));
    return false;
}

}  // namespace

uint64_t lane_addresses(Wave* wave, const Op* op, uint64_t* addresses) {
    const int lanes = wave->lanes;
    const uint32_t* low = row_at(wave, op->memory().address);
    const uint64_t imm = extend(op->memory().offset);
    switch (op->memory().space) {
        case Space::global_saddr: {
            const uint64_t base = scalar64(wave, op->memory().base) + imm;
            for (int lane = 0; lane < lanes; ++lane) addresses[lane] = base + low[lane];
            break;
        }
        case Space::global_vaddr:
        case Space::flat:
            for (int lane = 0; lane < lanes; ++lane)
                addresses[lane] = (low[lane] | uint64_t{low[lane + lanes]} << 32) + imm;
            break;
        case Space::scratch: {
            const uint32_t base = *row_at(wave, op->memory().base) + op->memory().offset;
            const bool rows = !op->memory().is(kNoAddress);
            for (int lane = 0; lane < lanes; ++lane)
                addresses[lane] = uint64_t{kPrivateAperture} << 32 | (base + (rows ? low[lane] : 0));
            break;
        }
        case Space::local:
            for (int lane = 0; lane < lanes; ++lane)
                addresses[lane] = uint64_t{kSharedAperture} << 32 | (low[lane] + op->memory().offset);
            break;
        case Space::gds:
            for (int lane = 0; lane < lanes; ++lane)
                addresses[lane] = uint64_t{low[lane]} + op->memory().offset + (wave->s[isa::code::m0] >> 16);
            break;
        case Space::buffer: return BufferView(wave, op).lanes(op->memory().bytes, addresses) & wave->exec();
    }
    return wave->exec();
}

bool read_lane(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, void* to) {
    bool failed = false;
    if (where(op, address) != Where::scratch) {
        const uint8_t* from = place(wave, op, lane, address, bytes, false, failed);
        if (from)
            memcpy(to, from, bytes);
        else
            memset(to, 0, bytes);
        return !failed;
    }
    const uint32_t offset = static_cast<uint32_t>(address);
    memset(to, 0, bytes);
    if (scratch_ok(wave, op, lane, offset, bytes, failed))
        for_dwords(offset, bytes, [&](uint32_t i, uint32_t count) {
            memcpy(static_cast<uint8_t*>(to) + i, scratch_byte(wave, lane, offset + i), count);
        });
    return !failed;
}

bool write_lane(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, const void* from) {
    bool failed = false;
    if (where(op, address) != Where::scratch) {
        if (uint8_t* to = place(wave, op, lane, address, bytes, true, failed)) memcpy(to, from, bytes);
        return !failed;
    }
    const uint32_t offset = static_cast<uint32_t>(address);
    if (scratch_ok(wave, op, lane, offset, bytes, failed))
        for_dwords(offset, bytes, [&](uint32_t i, uint32_t count) {
            memcpy(scratch_byte(wave, lane, offset + i), static_cast<const uint8_t*>(from) + i, count);
        });
    return !failed;
}

uint8_t* atomic_place(Wave* wave, const Op* op, int lane, uint64_t address, uint32_t bytes, bool& failed) {
    if (address % bytes != 0) {
        failed = true;
        fail_alignment(wave, op, lane, address, bytes);
        return nullptr;
    }
    return place(wave, op, lane, address, bytes, true, failed);
}

bool in_private(const Op* op, uint64_t address) { return where(op, address) == Where::scratch; }

bool plain_item(std::string_view mnemonic, Item& item, bool& store) {
    struct Row {
        std::string_view name;
        Item item;
    };
    static constexpr Row kLoads[] = {
        {"u8", Item::u8},
        {"i8", Item::i8},
        {"u16", Item::u16},
        {"i16", Item::i16},
        {"b32", Item::b32},
        {"b64", Item::b64},
        {"b96", Item::b96},
        {"b128", Item::b128},
        {"d16_u8", Item::d16_u8},
        {"d16_i8", Item::d16_i8},
        {"d16_b16", Item::d16_b16},
        {"d16_hi_u8", Item::d16_hi_u8},
        {"d16_hi_i8", Item::d16_hi_i8},
        {"d16_hi_b16", Item::d16_hi_b16},
        // DS spells the halves after the width
        {"u8_d16", Item::d16_u8},
        {"i8_d16", Item::d16_i8},
        {"u16_d16", Item::d16_b16},
        {"u8_d16_hi", Item::d16_hi_u8},
        {"i8_d16_hi", Item::d16_hi_i8},
        {"u16_d16_hi", Item::d16_hi_b16},
        {"addtid_b32", Item::b32},
    };
    static constexpr Row kStores[] = {
        {"b8", Item::low8},           {"b16", Item::low16},         {"b32", Item::b32},
        {"b64", Item::b64},           {"b96", Item::b96},           {"b128", Item::b128},
        {"d16_hi_b8", Item::high8},   {"d16_hi_b16", Item::high16}, {"b8_d16_hi", Item::high8},
        {"b16_d16_hi", Item::high16}, {"addtid_b32", Item::b32},
    };
    size_t load = mnemonic.find("_load_"), save = mnemonic.find("_store_");
    store = save != std::string_view::npos;
    if (!store && load == std::string_view::npos) return false;
    std::string_view rest = mnemonic.substr(store ? save + 7 : load + 6);
    auto look = [&](const auto& rows) {
        auto it = std::ranges::find(rows, rest, &Row::name);
        if (it == std::end(rows)) return false;
        item = it->item;
        return true;
    };
    return store ? look(kStores) : look(kLoads);
}

}  // namespace strata::emu
