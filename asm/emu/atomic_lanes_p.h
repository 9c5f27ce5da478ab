#pragma once
#include <atomic>
#include <bit>
#include <cmath>

#include "strata/asm/emu/memory_ops_p.h"

// The loop of all atomics: lane by lane in ascending order, with host atomics, as workgroups run on several threads.
namespace strata::emu {

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

inline float quiet(float x) { return std::bit_cast<float>(std::bit_cast<uint32_t>(x) | 1u << 22); }
inline double quiet(double x) { return std::bit_cast<double>(std::bit_cast<uint64_t>(x) | 1ull << 51); }

/// The smaller number; -0 is smaller than 0, and a number is preferred to NaN (RDNA4 ISA, "GLOBAL_ATOMIC_MIN_NUM_F32").
template <class T>
T float_min(T old, T data) {
    if (std::isnan(old)) return std::isnan(data) ? quiet(data) : data;
    if (std::isnan(data)) return old;
    return data < old || (data == old && std::signbit(data)) ? data : old;
}
template <class T>
T float_max(T old, T data) {
    if (std::isnan(old)) return std::isnan(data) ? quiet(data) : data;
    if (std::isnan(data)) return old;
    return data > old || (data == old && !std::signbit(data)) ? data : old;
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

/// The same for one lane wherever its address leads; false after a fault. Out of range, `old` is 0.
template <class T, class Change>
bool exchange_lane(Wave* wave, const Op* op, int lane, uint64_t address, T& old, Change change) {
    old = T{};
    if (in_private(op, address)) {  // nobody else's, and 64 bits are not in one piece
        if (address % sizeof(T) != 0) {
            fail_alignment(wave, op, lane, address, sizeof(T));
            return false;
        }
        if (!read_lane(wave, op, lane, address, sizeof(T), &old)) return false;
        const T now = change(old);
        return write_lane(wave, op, lane, address, sizeof(T), &now);
    }
    bool failed = false;
    uint8_t* place = atomic_place(wave, op, lane, address, sizeof(T), failed);
    if (place) old = exchange<T>(place, change);
    return !failed;
}

/// Runs `change(old, data, second)` on every lane of EXEC. Global forms hold (data, comparand) in consecutive
/// registers, DS has two data operands.
template <class T, int Sources, class Change>
bool for_lanes(Wave* wave, const Op* op, Change change) {
    uint64_t addresses[64];
    uint64_t active = lane_addresses(wave, op, addresses);
    const int lanes = wave->lanes;
    const bool local = MemoryOp::space(op) == Space::local || MemoryOp::space(op) == Space::gds;
    const bool returns = MemoryOp::flags(op) & kReturns;
    const uint32_t* data_rows = row_at(wave, op->src[2]);
    const uint32_t* second_rows =
        local ? row_at(wave, op->value[1]) : data_rows + sizeof(T) / 4 * static_cast<size_t>(lanes);
    if (returns)  // what a buffer's range check drops returns 0
        for (uint64_t dropped = wave->exec() & ~active; dropped; dropped &= dropped - 1)
            set_register<T>(row_at(wave, op->dst), lanes, std::countr_zero(dropped), T{});
    for (; active; active &= active - 1) {
        const int lane = std::countr_zero(active);
        const T data = register_value<T>(data_rows, lanes, lane);
        T second{}, old;
        if constexpr (Sources == 2) second = register_value<T>(second_rows, lanes, lane);
        if (!exchange_lane<T>(wave, op, lane, addresses[lane], old, [&](T now) { return change(now, data, second); }))
            return false;
        if (returns) set_register<T>(row_at(wave, op->dst), lanes, lane, old);
    }
    return true;
}

}  // namespace strata::emu
