#pragma once
#include <atomic>
#include <bit>
#include <cmath>

#include "strata/asm/emu/memory_ops_p.h"

// The loop of all atomics: lane by lane in ascending order; with host atomics where other threads run workgroups too.
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

/// Memory that lanes of a wave are likely to meet together: an aligned item in it needs no more checks.
struct Stretch {
    uint64_t low = 0, span = 0;  ///< items may start in [low, low + span)
    uint8_t* host = nullptr;     ///< of `low`
    bool shared = true;          ///< other host threads may change it

    template <class T>
    bool holds(uint64_t address) const {
        return address - low < span && address % sizeof(T) == 0;
    }
    uint8_t* at(uint64_t address) const { return host + (address - low); }
};

/// The stretch around `address`; empty for memory that is not in one piece, or that was not met before.
inline Stretch stretch_around(const Wave* wave, const Op* op, uint64_t address, uint64_t bytes) {
    const Space space = MemoryOp::space(op);
    const uint64_t aperture = address >> 32;
    if (space == Space::scratch || space == Space::gds) return {};
    if (space == Space::local || space == Space::flat) {
        if (aperture == kSharedAperture)
            return {aperture << 32, wave->lds_size < bytes ? 0 : wave->lds_size - bytes + 1, wave->lds, false};
        if (aperture == kPrivateAperture) return {};
    }
    const Wave::Hit& hit = wave->hits[op->aux];
    if (address < hit.low || hit.high < bytes || address > hit.high - bytes) return {};
    return {hit.low, hit.high - bytes - hit.low + 1, reinterpret_cast<uint8_t*>(hit.low + hit.bias),
            !wave->group->launch->alone};
}

inline bool at_one_address(const uint64_t* addresses, uint64_t active) {
    const uint64_t first = addresses[std::countr_zero(active)];
    if (addresses[63 - std::countl_zero(active)] != first) return false;
    uint64_t different = 0;
    for (; active; active &= active - 1) different |= addresses[std::countr_zero(active)] ^ first;
    return different == 0;
}

/// `now = change(now, lane)` for every active lane, in one go; `old` gets what each lane found.
template <class T, class Change>
void update_in_turn(uint8_t* place, bool shared, uint64_t active, int lanes, T* old, Change change) {
    const bool all = active == ~0ull >> (64 - lanes);
    auto run = [&](T now) {
        if (all) {
            for (int lane = 0; lane < lanes; ++lane) old[lane] = now, now = change(now, lane);
        } else {
            for (uint64_t left = active; left; left &= left - 1) {
                const int lane = std::countr_zero(left);
                old[lane] = now, now = change(now, lane);
            }
        }
        return now;
    };
    if (shared) {
        std::atomic_ref<T> memory(*reinterpret_cast<T*>(place));
        T before = memory.load(std::memory_order_relaxed);
        while (!memory.compare_exchange_weak(before, run(before))) {
        }
    } else {
        T now;
        memcpy(&now, place, sizeof now);
        now = run(now);
        memcpy(place, &now, sizeof now);
    }
}

template <class T, class Change>
T update(uint8_t* place, bool shared, Change change) {
    if (shared) return exchange<T>(place, change);
    T old;
    memcpy(&old, place, sizeof old);
    const T now = change(old);
    memcpy(place, &now, sizeof now);
    return old;
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
    uint32_t* const out = row_at(wave, op->dst);
    auto changed = [=](T now, int lane) {
        T second{};
        if constexpr (Sources == 2) second = register_value<T>(second_rows, lanes, lane);
        return change(now, register_value<T>(data_rows, lanes, lane), second);
    };
    if (returns)  // what a buffer's range check drops returns 0
        for (uint64_t dropped = wave->exec() & ~active; dropped; dropped &= dropped - 1)
            set_register<T>(out, lanes, std::countr_zero(dropped), T{});
    while (active) {
        const uint64_t start = addresses[std::countr_zero(active)];
        const Stretch stretch = stretch_around(wave, op, start, sizeof(T));
        if (stretch.holds<T>(start) && at_one_address(addresses, active)) {
            T old[64];
            update_in_turn<T>(stretch.at(start), stretch.shared, active, lanes, old, changed);
            for (; returns && active; active &= active - 1)
                set_register<T>(out, lanes, std::countr_zero(active), old[std::countr_zero(active)]);
            return true;
        }
        for (; active; active &= active - 1) {
            const int lane = std::countr_zero(active);
            if (!stretch.holds<T>(addresses[lane])) break;
            const T old =
                update<T>(stretch.at(addresses[lane]), stretch.shared, [&](T now) { return changed(now, lane); });
            if (returns) set_register<T>(out, lanes, lane, old);
        }
        if (!active) break;
        const int lane = std::countr_zero(active);
        T old;
        if (!exchange_lane<T>(wave, op, lane, addresses[lane], old, [&](T now) { return changed(now, lane); }))
            return false;
        if (returns) set_register<T>(out, lanes, lane, old);
        active &= active - 1;
    }
    return true;
}

}  // namespace strata::emu
