#include "strata/asm/emu/memory/gds.h"

#include <fmt/format.h>

#include <algorithm>

#include "strata/asm/emu/machine/handler.h"
#include "strata/asm/emu/memory/ops.h"

// DS instructions with the gds bit, and ds_gws_* (RDNA3 ISA 12 and CDNA3 ISA 11: "GDS", "GWS").
namespace strata::emu {

GlobalShare& GlobalShare::of(Launch& launch) {
    std::call_once(launch.global_share_once, [&] {
        launch.global_share = std::make_shared<GlobalShare>();
        if (launch.groups) launch.global_share->init(0, static_cast<uint32_t>(launch.groups - 1));
    });
    return *launch.global_share;
}

void GlobalShare::init(uint32_t resource, uint32_t count) {
    std::lock_guard lock(mutex_);
    resources_[resource].counter = count;
}
void GlobalShare::release(uint32_t resource, int32_t count) {
    std::lock_guard lock(mutex_);
    resources_[resource].counter += count;
}
void GlobalShare::release_all(uint32_t resource) {
    std::lock_guard lock(mutex_);
    resources_[resource].counter += static_cast<int64_t>(resources_[resource].waiting.size());
}

bool GlobalShare::acquire(uint32_t resource, const Wave* wave) {
    std::lock_guard lock(mutex_);
    Resource& at = resources_[resource];
    if (at.counter <= 0) {
        at.waiting[wave] = at.round;
        return false;
    }
    --at.counter;
    at.waiting.erase(wave);
    return true;
}

bool GlobalShare::arrive(uint32_t resource, const Wave* wave, uint32_t count) {
    std::lock_guard lock(mutex_);
    Resource& at = resources_[resource];
    if (auto it = at.waiting.find(wave); it != at.waiting.end()) {
        if (it->second == at.round) return false;
        at.waiting.erase(it);
        return true;
    }
    if (at.counter > 0) {
        --at.counter;
        at.waiting[wave] = at.round;
        return false;
    }
    at.counter = count;
    ++at.round;
    return true;
}

namespace {

template <Item item>
bool move_lanes(Wave* wave, const Op* op, bool store) {
    uint64_t addresses[64];
    const bool two = op->memory().is(kTwoAddresses);
    for (u64 left = lane_addresses(wave, op, addresses); left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        for (int i = 0; i < (two ? 2 : 1); ++i) {
            const u64 address =
                i == 0 ? addresses[lane] : addresses[lane] - op->memory().offset + op->memory().local().offset2;
            alignas(16) uint8_t data[16] = {};
            uint32_t* rows = store ? row_at(wave, i == 0 ? op->memory().data : op->memory().local().data2)
                                   : row_at(wave, op->memory().dst) + i * item_rows(item) * wave->lanes;
            if (store) {
                store_item<item>(rows, wave->lanes, lane, data);
                if (!write_lane(wave, op, lane, address, item_bytes(item), data)) return false;
            } else {
                if (!read_lane(wave, op, lane, address, item_bytes(item), data)) return false;
                load_item<item>(rows, wave->lanes, lane, data);
            }
        }
    }
    return true;
}

template <Item item, bool is_store>
const Op* move(Wave* wave, const Op* op) {
    if (!move_lanes<item>(wave, op, is_store)) return nullptr;
    STRATA_EMU_NEXT;
}

struct Row {
    Item item;
    Handler load, store;
};
#define BOTH(item) {Item::item, move<Item::item, false>, move<Item::item, true>}
#define LOAD(item) {Item::item, move<Item::item, false>, nullptr}
#define STORE(item) {Item::item, nullptr, move<Item::item, true>}
constexpr Row kRows[] = {BOTH(b32),       BOTH(b64),        BOTH(b96),    BOTH(b128),   LOAD(u8),      LOAD(i8),
                         LOAD(u16),       LOAD(i16),        LOAD(d16_u8), LOAD(d16_i8), LOAD(d16_b16), LOAD(d16_hi_u8),
                         LOAD(d16_hi_i8), LOAD(d16_hi_b16), STORE(low8),  STORE(low16), STORE(high8),  STORE(high16)};
#undef BOTH
#undef LOAD
#undef STORE

/// Bits 21:16 of M0 and the offset.
uint32_t resource_of(const Wave* wave, const Op* op) {
    return ((wave->s[isa::code::m0] >> 16 & 63) + op->memory().offset) % GlobalShare::kResources;
}
/// The data operand of the first active lane.
uint32_t first_data(Wave* wave, const Op* op) {
    const u64 exec = wave->exec();
    return row_at(wave, op->memory().address)[exec ? std::countr_zero(exec) : 0];
}

const Op* gws_init(Wave* wave, const Op* op) {
    GlobalShare::of(*wave->group->launch).init(resource_of(wave, op), first_data(wave, op));
    STRATA_EMU_NEXT;
}
const Op* gws_sema_v(Wave* wave, const Op* op) {
    GlobalShare::of(*wave->group->launch).release(resource_of(wave, op), 1);
    STRATA_EMU_NEXT;
}
const Op* gws_sema_br(Wave* wave, const Op* op) {
    GlobalShare::of(*wave->group->launch).release(resource_of(wave, op), static_cast<i32>(first_data(wave, op)));
    STRATA_EMU_NEXT;
}
const Op* gws_sema_release_all(Wave* wave, const Op* op) {
    GlobalShare::of(*wave->group->launch).release_all(resource_of(wave, op));
    STRATA_EMU_NEXT;
}
const Op* gws_sema_p(Wave* wave, const Op* op) {
    if (!GlobalShare::of(*wave->group->launch).acquire(resource_of(wave, op), wave))
        return leave(wave, op, op, Stop::global_wait);
    STRATA_EMU_NEXT;
}
const Op* gws_barrier(Wave* wave, const Op* op) {
    const Launch& launch = *wave->group->launch;
    if (launch.groups > launch.most_groups)
        return fail(
            wave, op,
            fmt::format("a barrier of the whole grid: all {} workgroups must be on the GPU at once, of which it "
                        "holds {}; launch a smaller grid",
                        launch.groups, launch.most_groups));
    if (!GlobalShare::of(*wave->group->launch).arrive(resource_of(wave, op), wave, first_data(wave, op)))
        return leave(wave, op, op, Stop::global_wait);
    STRATA_EMU_NEXT;
}

constexpr NamedHandler kSync[] = {
    {"ds_gws_init", gws_init},     {"ds_gws_sema_v", gws_sema_v},   {"ds_gws_sema_br", gws_sema_br},
    {"ds_gws_sema_p", gws_sema_p}, {"ds_gws_barrier", gws_barrier}, {"ds_gws_sema_release_all", gws_sema_release_all},
};

}  // namespace

Handler gds_handler(Item item, bool store) {
    auto it = std::ranges::find(kRows, item, &Row::item);
    return it == std::end(kRows) ? nullptr : store ? it->store : it->load;
}

std::optional<Op> choose_gws(const Decoded& decoded, MemoryFields fields) {
    auto it = std::ranges::find(kSync, decoded.name, &NamedHandler::mnemonic);
    return it == std::end(kSync) ? std::nullopt : std::optional(Op(it->run, fields));
}

}  // namespace strata::emu
