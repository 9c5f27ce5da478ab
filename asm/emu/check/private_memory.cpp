#include "strata/asm/emu/check/private_memory.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "strata/asm/emu/check/registers.h"
#include "strata/asm/emu/memory/ops.h"

namespace strata::emu {
namespace {

/// The byte of private memory of a lane that an address names; none: it names something else.
std::optional<uint32_t> private_byte(const Wave& wave, int lane, uint64_t address) {
    if (address >> 32 == kPrivateAperture) return static_cast<uint32_t>(address);
    if (address >> 47 != kScratchWindow >> 47) return {};
    const uint64_t dword = (address - kScratchWindow) / 4, lanes = static_cast<uint64_t>(wave.lanes);
    if (dword % lanes != static_cast<uint64_t>(lane)) return {};
    return static_cast<uint32_t>(dword / lanes * 4 + address % 4);
}

}  // namespace

LaneAddresses::LaneAddresses(Wave& wave, const Op& op) : active(lane_addresses(&wave, &op, addresses)) {}

/// The bytes of an access that are in one dword.
struct PrivateMemory::Part {
    Part(uint32_t first, uint32_t bytes)
        : dword(first / 4),
          count(std::min(4 - first % 4, bytes)),
          shift(8 * (first % 4)),
          mask(count == 4 ? ~0u : ((1u << 8 * count) - 1) << shift) {}
    uint32_t dword, count, shift, mask;
};

uint64_t lanes_elsewhere(Wave& wave, const Op* op) {
    if (!op || op->layout != Layout::memory) return ~0ull;
    uint64_t addresses[64], lanes = ~0ull;
    for (uint64_t left = lane_addresses(&wave, op, addresses); left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        if (is_private(addresses[lane])) lanes &= ~(1ull << lane);
    }
    return lanes;
}

DataRows::DataRows(const Moment& moment) {
    int count = 0;
    for (const lint::Write& write : moment.step.access->all_writes())
        if (is_vector(write.registers)) loaded = write.registers.first;
    for (const lint::Read& read : moment.step.access->all_reads())
        if (read.use == lint::Use::stored && is_vector(read.registers) && count < 2)
            stored[count++] = read.registers.first;
}

/// The whole dwords that all lanes touch which take part, if they are the same ones.
std::optional<PrivateMemory::Dwords> PrivateMemory::common_dwords(const Wave& wave, const Op& op,
                                                                  const LaneAddresses& lanes) const {
    const uint32_t bytes = op.memory().bytes;
    if (!lanes.active || bytes % 4) return {};
    const int some = std::countr_zero(lanes.active);
    // Lanes' dwords of one number are neighbours in the window.
    const uint64_t address = lanes.addresses[some], apart = address >> 32 == kPrivateAperture ? 0 : 4;
    const std::optional<uint32_t> first = private_byte(wave, some, address);
    if (!first || *first % 4 || *first / 4 + bytes / 4 > whole_.size()) return {};
    uint64_t differ = 0;
    if (op.memory().space != Space::scratch || !op.memory().is(kNoAddress))
        for (uint64_t left = lanes.active; left; left &= left - 1) {
            const int lane = std::countr_zero(left);
            differ |= lanes.addresses[lane] ^ (address + apart * static_cast<uint64_t>(lane - some));
        }
    if (differ) return {};
    return Dwords{*first / 4, (*first + bytes) / 4};
}

void PrivateMemory::start(uint32_t bytes, int lanes) {
    const size_t dwords = (size_t{bytes} + 3) / 4;
    lanes_ = lanes;
    whole_.assign(dwords, 0);
    partly_.assign(dwords, 0);
    known_.resize(dwords * static_cast<size_t>(lanes));
}

uint32_t PrivateMemory::bits(const Part& part, int lane) const {
    if (whole_[part.dword] >> lane & 1) return part.mask;
    if (!(partly_[part.dword] >> lane & 1)) return 0;
    return known_[part.dword * static_cast<size_t>(lanes_) + static_cast<size_t>(lane)] & part.mask;
}

void PrivateMemory::put(const Part& part, int lane, uint32_t bits) {
    const uint64_t bit = 1ull << lane;
    uint32_t all = bits & part.mask;
    if (part.mask != ~0u) all |= this->bits(Part(4 * part.dword, 4), lane) & ~part.mask;
    whole_[part.dword] = all == ~0u ? whole_[part.dword] | bit : whole_[part.dword] & ~bit;
    partly_[part.dword] |= bit;
    known_[part.dword * static_cast<size_t>(lanes_) + static_cast<size_t>(lane)] = all;
}

/// A dword of some lanes goes to a register, of which all else is known.
void PrivateMemory::load(const Moment& moment, Registers& registers, uint16_t reg, uint32_t dword, uint64_t lanes) {
    const uint64_t others = lanes & ~whole_[dword];
    registers.lose_loaded(reg, others, moment.step.pc);
    const Part part(4 * dword, 4);
    for (uint64_t left = others & partly_[dword]; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        registers.put(reg, lane, bits(part, lane));
    }
}

/// A register's dwords of some lanes come to a dword; reg -1: something that is known does.
void PrivateMemory::store(const Registers& registers, int reg, uint32_t dword, uint64_t lanes) {
    const auto from = static_cast<uint16_t>(reg);
    const uint64_t whole = reg < 0 ? ~0ull : registers.whole_lanes(from);
    whole_[dword] = (whole_[dword] & ~lanes) | (whole & lanes);
    const uint64_t partly = reg < 0 ? 0 : registers.partial_lanes(from) & lanes;
    partly_[dword] = (partly_[dword] & ~lanes) | partly;
    for (uint64_t left = partly; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        put(Part(4 * dword, 4), lane, registers.bits(from, lane));
    }
}

void PrivateMemory::step_lane(const Moment& moment, Registers& registers, int data, int lane, uint32_t first) {
    const MemoryFields& fields = moment.op->memory();
    const bool loads = !fields.is(kIsStore) && !fields.is(kIsAtomic);
    for (uint32_t at = 0, count; at < fields.bytes; at += count) {
        const Part part(first + at, std::min(4 - at % 4, fields.bytes - at));
        count = part.count;
        if (part.dword >= whole_.size()) continue;
        const auto reg = static_cast<uint16_t>(data + static_cast<int>(at / 4));
        const uint32_t above = 8 * (at % 4), known = bits(part, lane);
        if (!loads) {
            put(part, lane, data < 0 ? ~0u : registers.bits(reg, lane) >> above << part.shift);
        } else if (data >= 0 && part.mask & ~known) {
            const uint32_t rest = registers.bits(reg, lane) & ~(part.mask >> part.shift << above);
            registers.put_loaded(reg, lane, rest | known >> part.shift << above, moment.step.pc);
        }
    }
}

void PrivateMemory::step(const Moment& moment, Registers& registers) {
    const MemoryFields& fields = moment.op->memory();
    const LaneAddresses lanes(moment.wave, *moment.op);
    const bool loads = !fields.is(kIsStore) && !fields.is(kIsAtomic);
    const DataRows rows(moment);
    const int data = loads ? rows.loaded : rows.stored[0];
    if (const std::optional<Dwords> dwords = common_dwords(moment.wave, *moment.op, lanes)) {
        for (uint32_t i = dwords->first; i < dwords->end; ++i) {
            const int reg = data < 0 ? -1 : data + static_cast<int>(i - dwords->first);
            if (!loads)
                store(registers, reg, i, lanes.active);
            else if (reg >= 0)
                load(moment, registers, static_cast<uint16_t>(reg), i, lanes.active);
        }
        return;
    }
    for (uint64_t left = lanes.active; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        if (const std::optional<uint32_t> first = private_byte(moment.wave, lane, lanes.addresses[lane]))
            step_lane(moment, registers, data, lane, *first);
    }
}

bool PrivateMemory::pass(const Wave& wave, const Op& op, const LaneAddresses& lanes) {
    const MemoryFields& fields = op.memory();
    const bool loads = !fields.is(kIsStore) && !fields.is(kIsAtomic);
    if (const std::optional<Dwords> dwords = common_dwords(wave, op, lanes)) {
        uint64_t unknown = 0;
        for (uint32_t i = dwords->first; loads && i < dwords->end; ++i) unknown |= lanes.active & ~whole_[i];
        for (uint32_t i = dwords->first; !loads && i < dwords->end; ++i) whole_[i] |= lanes.active;
        return !unknown;
    }
    bool some = false;
    for (uint64_t left = lanes.active; left; left &= left - 1)
        some |= is_private(lanes.addresses[std::countr_zero(left)]);
    if (!some) return true;
    for (uint64_t left = lanes.active; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const std::optional<uint32_t> first = private_byte(wave, lane, lanes.addresses[lane]);
        if (!first) continue;
        for (uint32_t at = 0, count; at < fields.bytes; at += count) {
            const Part part(*first + at, fields.bytes - at);
            count = part.count;
            if (part.dword >= whole_.size() || (loads && part.mask & ~bits(part, lane))) return false;
            if (!loads) put(part, lane, ~0u);
        }
    }
    return true;
}

}  // namespace strata::emu
