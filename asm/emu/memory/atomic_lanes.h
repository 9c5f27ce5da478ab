#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <type_traits>

#include "strata/asm/emu/memory/ops.h"

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

/// Handling of denormals: in local memory floats are compared as MODE says (CDNA3 ISA 9.2.2, RDNA3 and RDNA4 ISA 13.2),
/// elsewhere as they are.
template <class T>
class DenormalRule {
  public:
    DenormalRule() = default;
    DenormalRule(const Wave* wave, const Op* op) {
        if constexpr (std::is_floating_point_v<T>)
            if (op->memory().space == Space::local) kept_ = wave->mode >> (sizeof(T) == 8 ? 6 : 4) & 3;
    }
    T in(T x) const { return flushed(x, 1); }
    T out(T x) const { return flushed(x, 2); }

  private:
    T flushed(T x, uint32_t bit) const {
        if constexpr (std::is_floating_point_v<T>)
            if (!(kept_ & bit) && std::fpclassify(x) == FP_SUBNORMAL) return std::copysign(T{0}, x);
        return x;
    }
    uint32_t kept_ = 3;
};

/// One read-modify-write of memory that no other thread changes; `change` maps the old value to the new.
template <class T, class Change>
T exchange_alone(uint8_t* place, Change change) {
    T old;
    memcpy(&old, place, sizeof old);
    const T now = change(old);
    memcpy(place, &now, sizeof now);
    return old;
}

/// The same where others may. Memory that a caller lends to one wave may lie at any host address, and nobody else
/// changes it.
template <class T, class Change>
T exchange(uint8_t* place, Change change) {
    if (reinterpret_cast<uintptr_t>(place) % alignof(T) != 0) return exchange_alone<T>(place, change);
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
    uint64_t low = 0, items = 0;  ///< `items` aligned items, the first at `low`
    uint8_t* host = nullptr;      ///< of `low`
    bool shared = true;           ///< other host threads may change it

    template <class T>
    bool holds(uint64_t address) const {
        return std::rotr(address - low, std::countr_zero(sizeof(T))) < items;
    }
    uint8_t* at(uint64_t address) const { return host + (address - low); }
};

/// The stretch around `address`; empty for memory that is not in one piece, or that was not met before.
template <class T>
Stretch stretch_around(const Wave* wave, const Op* op, uint64_t address) {
    const Space space = op->memory().space;
    const uint64_t aperture = address >> 32;
    if (space == Space::scratch || space == Space::gds) return {};
    if (space == Space::local || space == Space::flat) {
        if (aperture == kSharedAperture) return {aperture << 32, wave->lds_size / sizeof(T), wave->lds, false};
        if (aperture == kPrivateAperture) return {};
    }
    const Wave::Hit& hit = wave->hits[op->memory().hit];
    if (address < hit.low || address >= hit.high || hit.low % sizeof(T) != 0) return {};
    return {hit.low, (hit.high - hit.low) / sizeof(T), reinterpret_cast<uint8_t*>(hit.low + hit.bias),
            !wave->group->launch->alone};
}

/// run(lane) for the lanes of `active` in ascending order, until it gives false; returns the lanes that are left.
template <class Run>
uint64_t each_lane(uint64_t active, int lanes, Run run) {
    if (active == ~0ull >> (64 - lanes)) {
        for (int lane = 0; lane < lanes; ++lane)
            if (!run(lane)) return active & ~0ull << lane;
        return 0;
    }
    for (; active; active &= active - 1)
        if (!run(std::countr_zero(active))) break;
    return active;
}

inline bool at_one_address(const uint64_t* addresses, uint64_t active, int lanes) {
    const uint64_t first = addresses[std::countr_zero(active)];
    if (addresses[63 - std::countl_zero(active)] != first) return false;
    uint64_t different = 0;
    each_lane(active, lanes, [&](int lane) { return different |= addresses[lane] ^ first, true; });
    return different == 0;
}

/// now = change(now, lane) at each lane's place in the stretch; `old` gets what the lanes found. Returns the lanes from
/// the first one on that lies elsewhere.
template <class T, class Change>
uint64_t update_apart(const Stretch& stretch, const uint64_t* addresses, uint64_t active, int lanes, T* old,
                      Change change) {
    return each_lane(active, lanes, [&](int lane) {
        if (!stretch.holds<T>(addresses[lane])) return false;
        old[lane] = exchange_alone<T>(stretch.at(addresses[lane]), [&](T now) { return change(now, lane); });
        return true;
    });
}

/// The same with host atomics, whose number is what it costs: neighbouring dwords of neighbouring lanes take one.
template <class T, class Change>
uint64_t update_apart_shared(const Stretch& stretch, const uint64_t* addresses, uint64_t active, T* old,
                             Change change) {
    for (; active; active &= active - 1) {
        const int lane = std::countr_zero(active);
        const uint64_t address = addresses[lane];
        if (!stretch.holds<T>(address)) break;
        uint8_t* const place = stretch.at(address);
        if constexpr (sizeof(T) == 4) {
            const bool next_too = lane < 63 && active >> lane >> 1 & 1;
            if (address % 8 == 0 && next_too && addresses[lane + 1] == address + 4 && stretch.holds<T>(address + 4)) {
                exchange<uint64_t>(place, [&](uint64_t both) {
                    auto now = std::bit_cast<std::array<T, 2>>(both);
                    for (size_t i = 0; i < 2; ++i) {
                        const int at = lane + static_cast<int>(i);
                        old[at] = now[i], now[i] = change(now[i], at);
                    }
                    return std::bit_cast<uint64_t>(now);
                });
                active &= active - 1;
                continue;
            }
        }
        old[lane] = exchange<T>(place, [&](T now) { return change(now, lane); });
    }
    return active;
}

/// The same where all lanes meet in one place: memory is read and written once.
template <class T, bool Shared, class Change>
void update_together(uint8_t* place, uint64_t active, int lanes, T* old, Change change) {
    auto all = [&](T now) {
        each_lane(active, lanes, [&](int lane) { return old[lane] = now, now = change(now, lane), true; });
        return now;
    };
    if constexpr (Shared) {
        exchange<T>(place, all);
    } else {
        exchange_alone<T>(place, all);
    }
}

/// Updates lanes of `active` in the stretch around the first one's address; returns those that are left.
template <class T, bool Shared, class Change>
uint64_t update_lanes(const Stretch& stretch, const uint64_t* addresses, uint64_t active, int lanes, T* old,
                      Change change) {
    const uint64_t first = addresses[std::countr_zero(active)];
    if (!stretch.holds<T>(first) || !at_one_address(addresses, active, lanes)) {
        if constexpr (Shared) return update_apart_shared<T>(stretch, addresses, active, old, change);
        return update_apart<T>(stretch, addresses, active, lanes, old, change);
    }
    update_together<T, Shared>(stretch.at(first), active, lanes, old, change);
    return 0;
}

/// Runs `change(old, data, second)` on every lane of EXEC. Global forms hold (data, comparand) in consecutive
/// registers, DS has two data operands.
template <class T, int Sources, class Change>
bool for_lanes(Wave* wave, const Op* op, Change change) {
    uint64_t addresses[64];
    T old[64];
    const uint64_t inside = lane_addresses(wave, op, addresses);
    const int lanes = wave->lanes;
    const bool local = op->memory().space == Space::local || op->memory().space == Space::gds;
    const uint32_t* data_rows = row_at(wave, op->memory().data);
    const uint32_t* second_rows =
        local ? row_at(wave, op->memory().local().data2) : data_rows + sizeof(T) / 4 * static_cast<size_t>(lanes);
    auto changed = [=](T now, int lane) {
        T second{};
        if constexpr (Sources == 2) second = register_value<T>(second_rows, lanes, lane);
        return change(now, register_value<T>(data_rows, lanes, lane), second);
    };
    uint64_t active = inside;
    while (active) {
        const Stretch stretch = stretch_around<T>(wave, op, addresses[std::countr_zero(active)]);
        active = stretch.shared ? update_lanes<T, true>(stretch, addresses, active, lanes, old, changed)
                                : update_lanes<T, false>(stretch, addresses, active, lanes, old, changed);
        if (!active) break;
        const int lane = std::countr_zero(active);
        if (!exchange_lane<T>(wave, op, lane, addresses[lane], old[lane], [&](T now) { return changed(now, lane); }))
            break;
        active &= active - 1;
    }
    if (op->memory().is(kReturns)) {
        uint32_t* const out = row_at(wave, op->memory().dst);
        auto give = [=](int lane, T value) { return set_register<T>(out, lanes, lane, value), true; };
        each_lane(inside & ~active, lanes, [&](int lane) { return give(lane, old[lane]); });
        if (const uint64_t dropped = wave->exec() & ~inside)  // what a buffer's range check drops returns 0
            each_lane(dropped, lanes, [&](int lane) { return give(lane, T{}); });
    }
    return active == 0;
}

}  // namespace strata::emu
