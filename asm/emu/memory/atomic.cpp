#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "strata/asm/emu/machine/handler.h"
#include "strata/asm/emu/memory/atomic_lanes.h"
#include "strata/asm/emu/memory/choose.h"

// Atomics of every address space: those of one expression, and DS forms of their own. Float additions:
// atomic_float.cpp.
namespace strata::emu {
namespace {

using f32 = float;
using f64 = double;

#define ATOMIC(name, T, operands, order, result)                                                             \
    const Op* name(Wave* wave, const Op* op) {                                                               \
        [[maybe_unused]] const DenormalRule<T> denormals(wave, op);                                          \
        auto change = [=]([[maybe_unused]] T old, [[maybe_unused]] T data, [[maybe_unused]] T second) -> T { \
            return result;                                                                                   \
        };                                                                                                   \
        if (!for_lanes<T, operands>(wave, op, change)) return nullptr;                                       \
        STRATA_EMU_NEXT;                                                                                     \
    }
#include "strata/asm/emu/memory/atomic.def"
#undef ATOMIC

enum class In : uint8_t { any, given };
struct Row {
    std::string_view name;
    Handler run;
    uint8_t bytes;
    bool floats;
    In order;
};
constexpr Row kRows[] = {
#define ATOMIC(name, T, operands, order, result) {#name, name, sizeof(T), std::is_floating_point_v<T>, In::order},
#include "strata/asm/emu/memory/atomic.def"
};

/// "global_atomic_add_u32" and "ds_add_rtn_u32" -> "add_u32"; DS names of its exchanges are brought to the global ones.
std::string operation(std::string_view mnemonic) {
    std::string name(mnemonic);
    if (size_t at = name.find("_atomic_"); at != std::string::npos) return name.substr(at + 8);
    if (!name.starts_with("ds_")) return {};
    name.erase(0, 3);
    if (size_t at = name.find("_rtn_"); at != std::string::npos) name.erase(at, 4);
    if (name.starts_with("cmpstore_")) name.replace(0, 8, "cmpswap");
    if (name.starts_with("storexchg_b")) name.replace(0, 9, "swap");
    if (name.starts_with("cmpst_")) name.replace(0, 5, "cmpswap");
    return name;
}

/// ds_append and ds_consume: one counter moves by the number of active lanes; all get its old value. It lies at M0 plus
/// the offset, in the global share at M0's upper half.
template <bool Append>
const Op* count_lanes(Wave* wave, const Op* op) {
    const u32 active = static_cast<u32>(std::popcount(wave->exec()));
    const u64 address = op->memory().space == Space::gds
                            ? (wave->s[isa::code::m0] >> 16) + op->memory().offset
                            : u64{kSharedAperture} << 32 | ((wave->s[isa::code::m0] & 0xffff) + op->memory().offset);
    u32 old = 0;
    if (active && !exchange_lane<u32>(wave, op, -1, address, old,
                                      [active](u32 now) { return Append ? now + active : now - active; }))
        return nullptr;
    for (u64 left = wave->exec(); left; left &= left - 1) row_at(wave, op->memory().dst)[std::countr_zero(left)] = old;
    STRATA_EMU_NEXT;
}

/// ds_storexchg_2addr: two exchanges a lane, the second `value[0]` bytes from the base.
template <class T>
const Op* exchange_two(Wave* wave, const Op* op) {
    u64 addresses[64];
    u64 active = lane_addresses(wave, op, addresses);
    const int lanes = wave->lanes;
    constexpr int kRows = sizeof(T) / 4;
    for (; active; active &= active - 1) {
        const int lane = std::countr_zero(active);
        const T data[2] = {register_value<T>(row_at(wave, op->memory().data), lanes, lane),
                           register_value<T>(row_at(wave, op->memory().local().data2), lanes, lane)};
        for (int i = 0; i < 2; ++i) {
            const u64 address =
                i == 0 ? addresses[lane] : addresses[lane] - op->memory().offset + op->memory().local().offset2;
            T old;
            if (!exchange_lane<T>(wave, op, lane, address, old, [&](T) { return data[i]; })) return nullptr;
            set_register<T>(row_at(wave, op->memory().dst) + i * kRows * lanes, lanes, lane, old);
        }
    }
    STRATA_EMU_NEXT;
}

template <class T>
Op exchange_two_op(const Decoded& decoded, MemoryFields fields, u32 unit) {
    fields.offset = static_cast<u32>(decoded.inst.offset) * unit;
    fields.local().offset2 = decoded.inst.offset1 * unit;
    fields.bytes = sizeof(T);
    fields.flags |= kIsAtomic | kReturns | kTwoAddresses;
    return Op(exchange_two<T>, fields);
}

/// DS forms that no other space has.
std::optional<Op> choose_of_ds(const Decoded& decoded, MemoryFields fields) {
    const std::string_view name = decoded.name;
    if (name == "ds_storexchg_2addr_rtn_b32") return exchange_two_op<u32>(decoded, fields, 4);
    if (name == "ds_storexchg_2addr_rtn_b64") return exchange_two_op<u64>(decoded, fields, 8);
    if (name == "ds_storexchg_2addr_stride64_rtn_b32") return exchange_two_op<u32>(decoded, fields, 4 * 64);
    if (name == "ds_storexchg_2addr_stride64_rtn_b64") return exchange_two_op<u64>(decoded, fields, 8 * 64);
    if (name != "ds_append" && name != "ds_consume") return {};
    fields.bytes = 4;
    return Op(name == "ds_append" ? count_lanes<true> : count_lanes<false>, fields);
}

}  // namespace

std::optional<Op> choose_atomic(const Decoded& decoded, MemoryFields fields) {
    if (std::optional<Op> op = choose_of_ds(decoded, fields)) return op;
    const std::string name = operation(decoded.name);
    if (decoded.name.starts_with("ds_cmpst_")) std::swap(fields.data, fields.local().data2);  // (comparand, data)
    if (std::optional<Op> op = choose_float_atomic(decoded, fields, name)) return op;
    auto row = std::ranges::find(kRows, name, &Row::name);
    if (row == std::end(kRows)) return {};
    fields.bytes = row->bytes;
    return Op(row->run, fields);
}

Order order_of_atomic(std::string_view mnemonic) {
    const std::string name = operation(mnemonic);
    if (adds_floats(name)) return Order::decides_floats;
    auto row = std::ranges::find(kRows, name, &Row::name);
    if (row == std::end(kRows)) return Order::decides;
    if (row->floats) return Order::decides_floats;
    return row->order == In::any ? Order::free : Order::decides;
}

}  // namespace strata::emu
