#include "strata/codegen/lower/finish/in_flight_p.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "strata/core/support/error.h"

namespace strata::codegen {
namespace {

/// Registers that one operation fills at most.
constexpr int kLongestFill = 32;

uint16_t bit(Queue queue) { return static_cast<uint16_t>(1u << static_cast<unsigned>(queue)); }

void lower(uint8_t& least, uint8_t value) { least = std::min(least, value); }

}  // namespace

InFlight::Begins InFlight::begun_by(const isa::Inst& inst, uint16_t counters) const {
    Begins all;
    for (const lint::Counted& one : lint::counted(arch_, inst, counters))
        if (one.counter) all.all[all.count++] = {static_cast<uint8_t>(std::countr_zero(one.counter)), one.queue};
    return all;
}

Waits InFlight::before(const isa::Inst& inst, const lint::Access& access) const {
    Waits waits = kNoWaits;
    if (fills_.empty()) return waits;
    const Begins begins = begun_by(inst, access.counters);
    // Operations of one queue fill a register in order: a later one needs no wait for an earlier one.
    const auto follows = [&](const Begun& earlier) {
        return in_order(earlier.queue) && std::find(begins.begin(), begins.end(), earlier) != begins.end();
    };
    const auto check = [&](const lint::Registers& registers, bool late) {
        const int least = registers.first - kLongestFill, end = registers.first + registers.count;
        auto fill =
            std::ranges::upper_bound(fills_, least, {}, [](const Fill& one) { return int{one.registers.first}; });
        for (; fill != fills_.end() && fill->registers.first < end; ++fill)
            if (fill->registers.overlaps(registers) && !(late && follows(fill->begun)))
                lower(waits[fill->begun.counter], in_order(fill->begun.queue) ? fill->younger : uint8_t{0});
    };
    for (const lint::Read& read : access.all_reads())
        check(read.registers, access.counters && read.use == lint::Use::kept);
    for (const lint::Write& write : access.all_writes()) check(write.registers, write.late);
    return waits;
}

Waits InFlight::until_ended(std::initializer_list<Queue> queues) const {
    Waits waits = kNoWaits;
    for (size_t counter = 0; counter < kCounters; ++counter)
        for (Queue queue : queues)
            if (queues_[counter] & bit(queue)) waits[counter] = 0;
    return waits;
}

bool InFlight::any(Queue queue, uint16_t counters) const {
    for (size_t counter = 0; counter < kCounters; ++counter)
        if (counters >> counter & 1 && queues_[counter] & bit(queue)) return true;
    return false;
}

void InFlight::wait(const Waits& waits) {
    for (size_t counter = 0; counter < kCounters; ++counter)
        if (!waits[counter]) queues_[counter] = 0;
    std::erase_if(fills_, [&](const Fill& fill) {
        return waits[fill.begun.counter] <= (in_order(fill.begun.queue) ? fill.younger : 0);
    });
}

void InFlight::begin(const isa::Inst& inst, const lint::Access& access) {
    for (const Begun& begun : begun_by(inst, access.counters)) {
        queues_[begun.counter] |= bit(begun.queue);
        for (Fill& fill : fills_)
            if (fill.begun == begun && fill.younger < kNoWait - 1) ++fill.younger;
        for (const lint::Write& write : access.all_writes()) {
            if (!write.late) continue;
            STRATA_CHECK(write.registers.count <= kLongestFill, "{} fills {}", inst.row->mnemonic,
                         name(write.registers));
            add({write.registers, begun});
        }
    }
}

/// The youngest fill of one place and queue counts.
void InFlight::add(const Fill& fill) {
    const auto key = [](const Fill& one) {
        return std::tuple(one.registers.first, one.registers.count, one.begun.counter, one.begun.queue);
    };
    const auto at = std::ranges::lower_bound(fills_, key(fill), {}, key);
    if (at != fills_.end() && key(*at) == key(fill))
        lower(at->younger, fill.younger);
    else
        fills_.insert(at, fill);
}

void InFlight::join(const InFlight& other) {
    if (fills_.empty())
        fills_ = other.fills_;
    else
        for (const Fill& fill : other.fills_) add(fill);
    for (size_t counter = 0; counter < kCounters; ++counter) queues_[counter] |= other.queues_[counter];
}

}  // namespace strata::codegen
