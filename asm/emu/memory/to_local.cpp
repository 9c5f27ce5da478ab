#include <algorithm>

#include "strata/asm/emu/machine/handler.h"
#include "strata/asm/emu/memory/buffer_resource.h"

// Loads that go to local memory and no register: buffer_load_lds_*, global_load_lds_*, scratch_load_lds_*, and GFX9's
// loads with the lds bit. A lane's dword lies at M0[15:0] + the instruction's offset + 4 * lane (CDNA3 ISA 9.1.9,
// "Memory Buffer Load to LDS"). Smaller items are extended to a dword.
namespace strata::emu {
namespace {

u64 local_address(const Wave* wave, const Op* op, int lane) {
    return u64{kSharedAperture} << 32 |
           ((wave->s[isa::code::m0] & 0xffff) + op->memory().offset + 4 * static_cast<u32>(lane));
}

/// The same Op as seen by a local access.
Op local_op(const Op* op, bool store) {
    MemoryFields fields = op->memory();
    fields.space = Space::local;
    fields.flags = store ? kIsStore : 0;
    Op local(op->run, fields);
    local.index = op->index;
    return local;
}

/// A fault of the stand-in is the instruction's.
bool as_fault_of(Wave* wave, const Op* op) {
    wave->last = wave->pc = op;
    return false;
}

template <Item item>
bool load_to_local(Wave* wave, const Op* op) {
    const Op local = local_op(op, true);
    u64 addresses[64];
    const u64 inside = lane_addresses(wave, op, addresses);
    for (u64 left = wave->exec(); left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        alignas(16) uint8_t data[16] = {};
        if ((inside >> lane & 1) && !read_lane(wave, op, lane, addresses[lane], item_bytes(item), data)) return false;
        uint32_t dword = 0;
        load_item<item>(&dword, 1, 0, data);
        if (!write_lane(wave, &local, lane, local_address(wave, op, lane), 4, &dword)) return as_fault_of(wave, op);
    }
    return true;
}

bool load_format_to_local(Wave* wave, const Op* op) {
    const Op local = local_op(op, true);
    const BufferView view(wave, op);
    for (u64 left = wave->exec(); left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        uint32_t dword = 0;
        if (!load_components(wave, op, view, lane, {&dword, 1})) return false;
        if (!write_lane(wave, &local, lane, local_address(wave, op, lane), 4, &dword)) return as_fault_of(wave, op);
    }
    return true;
}

bool store_from_local(Wave* wave, const Op* op) {
    const Op local = local_op(op, false);
    u64 addresses[64];
    for (u64 left = lane_addresses(wave, op, addresses); left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        uint32_t dword = 0;
        if (!read_lane(wave, &local, lane, local_address(wave, op, lane), 4, &dword)) return as_fault_of(wave, op);
        if (!write_lane(wave, op, lane, addresses[lane], 4, &dword)) return false;
    }
    return true;
}

template <bool (*work)(Wave*, const Op*)>
const Op* run(Wave* wave, const Op* op) {
    if (!work(wave, op)) return nullptr;
    STRATA_EMU_NEXT;
}

struct Row {
    std::string_view item;
    Handler run;
    uint8_t bytes;
};
constexpr Row kRows[] = {
    {"u8", run<load_to_local<Item::u8>>, 1},   {"i8", run<load_to_local<Item::i8>>, 1},
    {"u16", run<load_to_local<Item::u16>>, 2}, {"i16", run<load_to_local<Item::i16>>, 2},
    {"b32", run<load_to_local<Item::b32>>, 4}, {"format_x", run<load_format_to_local>, 4},
};

}  // namespace

std::optional<Op> choose_to_local(const Decoded& decoded, MemoryFields fields) {
    const std::string_view name = decoded.name;
    if (name == "buffer_store_lds_dword") {
        fields.bytes = 4;
        return Op(run<store_from_local>, fields);
    }
    size_t at = name.find("_load_lds_");
    size_t skip = 10;
    if (at == std::string_view::npos && decoded.inst.lds) at = name.find("_load_"), skip = 6;
    if (at == std::string_view::npos) return {};
    auto row = std::ranges::find(kRows, name.substr(at + skip), &Row::item);
    if (row == std::end(kRows)) return {};
    fields.bytes = row->bytes;
    if (row->item == "format_x") fields.buffer().modes |= kFormatted;
    return Op(row->run, fields);
}

}  // namespace strata::emu
