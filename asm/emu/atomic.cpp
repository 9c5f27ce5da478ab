#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>

#include "strata/asm/emu/memory_ops_p.h"
#include "strata/asm/emu/scalar_p.h"

// Atomics of every address space, lane by lane in ascending order: host atomics, as workgroups run on several threads.
namespace strata::emu {
namespace {

using f32 = float;
using f64 = double;
using u8 = uint8_t;

template <class T>
T float_min(T a, T b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <class T>
T float_max(T a, T b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    return a > b || (a == b && std::signbit(b)) ? a : b;
}

template <class T>
T register_value(const uint32_t* rows, int lanes, int lane) {
    uint32_t bits[sizeof(T) / 4];
    for (size_t i = 0; i < sizeof(T) / 4; ++i)
        bits[i] = rows[i * static_cast<size_t>(lanes) + static_cast<size_t>(lane)];
    T value;
    memcpy(&value, bits, sizeof value);
    return value;
}

template <class T>
void set_register(uint32_t* rows, int lanes, int lane, T value) {
    uint32_t bits[sizeof(T) / 4];
    memcpy(bits, &value, sizeof value);
    for (size_t i = 0; i < sizeof(T) / 4; ++i)
        rows[i * static_cast<size_t>(lanes) + static_cast<size_t>(lane)] = bits[i];
}

/// One read-modify-write; `change` maps the old value to the new.
template <class T, class Change>
T exchange(uint8_t* place, Change change) {
    std::atomic_ref<T> memory(*reinterpret_cast<T*>(place));
    T old = memory.load(std::memory_order_relaxed);
    while (!memory.compare_exchange_weak(old, change(old))) {
    }
    return old;
}

/// Runs `change(old, data, second)` on every lane of EXEC. Global forms hold (data, comparand) in consecutive
/// registers; DS has two data operands, and its comparing forms since RDNA3 take the data first as well.
template <class T, int Sources, class Change>
bool for_lanes(Wave* wave, const Op* op, Change change) {
    uint64_t addresses[64];
    uint64_t active = lane_addresses(wave, op, addresses);
    const int lanes = wave->lanes;
    const uint32_t* data_rows = row_at(wave, op->src[2]);
    const uint32_t* second_rows = MemoryOp::space(op) == Space::local
                                      ? row_at(wave, op->value[1])
                                      : data_rows + sizeof(T) / 4 * static_cast<size_t>(lanes);
    for (; active; active &= active - 1) {
        int lane = std::countr_zero(active);
        bool failed = false;
        uint8_t* place = atomic_place(wave, op, lane, addresses[lane], sizeof(T), failed);
        if (failed) return false;
        T data = register_value<T>(data_rows, lanes, lane), second{};
        if constexpr (Sources == 2) second = register_value<T>(second_rows, lanes, lane);
        T old{};
        if (place) old = exchange<T>(place, [&](T now) { return change(now, data, second); });
        if (MemoryOp::flags(op) & kReturns) set_register<T>(row_at(wave, op->dst), lanes, lane, old);
    }
    return true;
}

#define ATOMIC(name, T, operands, result)                                                                   \
    const Op* name(Wave* wave, const Op* op) {                                                              \
        auto change = []([[maybe_unused]] T old, [[maybe_unused]] T data, [[maybe_unused]] T second) -> T { \
            return result;                                                                                  \
        };                                                                                                  \
        if (!for_lanes<T, operands>(wave, op, change)) return nullptr;                                      \
        STRATA_EMU_NEXT;                                                                                    \
    }
#include "strata/asm/emu/atomic.def"
#undef ATOMIC

struct Row {
    std::string_view name;
    Handler run;
    uint8_t bytes;
};
constexpr Row kRows[] = {
#define ATOMIC(name, T, operands, result) {#name, name, sizeof(T)},
#include "strata/asm/emu/atomic.def"
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
    return name;
}

/// ds_append and ds_consume: one counter in local memory moves by the number of active lanes; all get its old value.
template <bool Append>
const Op* count_lanes(Wave* wave, const Op* op) {
    const u32 active = static_cast<u32>(std::popcount(wave->exec()));
    const u64 address = u64{kSharedAperture} << 32 | ((wave->s[125] & 0xffff) + op->imm);
    bool failed = false;
    u8* place = active ? atomic_place(wave, op, -1, address, 4, failed) : nullptr;
    if (failed) return nullptr;
    u32 old = 0;
    if (place) old = exchange<u32>(place, [&](u32 now) { return Append ? now + active : now - active; });
    for (int lane = 0; lane < wave->lanes; ++lane)
        if (wave->exec() >> lane & 1) row_at(wave, op->dst)[lane] = old;
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
        const T data[2] = {register_value<T>(row_at(wave, op->src[2]), lanes, lane),
                           register_value<T>(row_at(wave, op->value[1]), lanes, lane)};
        for (int i = 0; i < 2; ++i) {
            const u64 address = i == 0 ? addresses[lane] : addresses[lane] - op->imm + op->value[0];
            bool failed = false;
            u8* place = atomic_place(wave, op, lane, address, sizeof(T), failed);
            if (failed) return nullptr;
            T old = place ? exchange<T>(place, [&](T) { return data[i]; }) : T{};
            set_register<T>(row_at(wave, op->dst) + i * kRows * lanes, lanes, lane, old);
        }
    }
    STRATA_EMU_NEXT;
}

template <class T>
Handler choose_exchange_two(const Choice& choice, u32 unit) {
    choice.op.imm = static_cast<u32>(choice.inst.offset) * unit;
    choice.op.value[0] = choice.inst.offset1 * unit;
    choice.op.abs = sizeof(T);
    choice.op.op_sel |= kIsAtomic | kReturns | kTwoAddresses;
    return exchange_two<T>;
}

}  // namespace

Handler choose_atomic(const Choice& choice) {
    std::string_view mnemonic = choice.name;
    if (mnemonic == "ds_append" || mnemonic == "ds_consume") {
        choice.op.abs = 4;
        return mnemonic == "ds_append" ? count_lanes<true> : count_lanes<false>;
    }
    if (mnemonic == "ds_storexchg_2addr_rtn_b32") return choose_exchange_two<u32>(choice, 4);
    if (mnemonic == "ds_storexchg_2addr_rtn_b64") return choose_exchange_two<u64>(choice, 8);
    if (mnemonic == "ds_storexchg_2addr_stride64_rtn_b32") return choose_exchange_two<u32>(choice, 4 * 64);
    if (mnemonic == "ds_storexchg_2addr_stride64_rtn_b64") return choose_exchange_two<u64>(choice, 8 * 64);
    auto it = std::ranges::find(kRows, operation(mnemonic), &Row::name);
    if (it == std::end(kRows)) return nullptr;
    choice.op.abs = it->bytes;
    return it->run;
}

}  // namespace strata::emu
