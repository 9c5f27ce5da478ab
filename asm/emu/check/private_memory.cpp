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

/// The bytes of an access that are in one dword.
struct Part {
    Part(uint32_t first, uint32_t bytes)
        : dword(first / 4),
          count(std::min(4 - first % 4, bytes)),
          shift(8 * (first % 4)),
          mask(count == 4 ? ~0u : ((1u << 8 * count) - 1) << shift) {}
    size_t place(const Wave& wave, int lane) const {
        return size_t{dword} * static_cast<size_t>(wave.lanes) + static_cast<size_t>(lane);
    }
    uint32_t dword, count, shift, mask;
};

}  // namespace

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

void PrivateMemory::step(const Moment& moment, Registers& registers) {
    const MemoryFields& fields = moment.op->memory();
    uint64_t addresses[64];
    const uint64_t active = lane_addresses(&moment.wave, moment.op, addresses);
    const bool load = !fields.is(kIsStore) && !fields.is(kIsAtomic);
    const DataRows rows(moment);
    const int data = load ? rows.loaded : rows.stored[0];
    for (uint64_t left = active; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const std::optional<uint32_t> first = private_byte(moment.wave, lane, addresses[lane]);
        if (!first) continue;
        for (uint32_t at = 0, count; at < fields.bytes; at += count) {
            const Part part(*first + at, std::min(4 - at % 4, fields.bytes - at));
            count = part.count;
            const size_t place = part.place(moment.wave, lane);
            if (place >= known_.size()) continue;
            const auto reg = static_cast<uint16_t>(data + static_cast<int>(at / 4));
            const uint32_t above = 8 * (at % 4);
            if (!load) {
                const uint32_t bits = data < 0 ? ~0u : registers.bits(reg, lane) >> above << part.shift;
                known_[place] = (known_[place] & ~part.mask) | (bits & part.mask);
            } else if (data >= 0 && part.mask & ~known_[place]) {
                const uint32_t rest = registers.bits(reg, lane) & ~(part.mask >> part.shift << above);
                const uint32_t loaded = (known_[place] & part.mask) >> part.shift << above;
                registers.put_loaded(reg, lane, rest | loaded, moment.step.pc);
            }
        }
    }
}

bool PrivateMemory::pass(Wave& wave, const Op& op) {
    const MemoryFields& fields = op.memory();
    uint64_t addresses[64];
    const bool load = !fields.is(kIsStore) && !fields.is(kIsAtomic);
    for (uint64_t left = lane_addresses(&wave, &op, addresses); left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const std::optional<uint32_t> first = private_byte(wave, lane, addresses[lane]);
        if (!first) continue;
        for (uint32_t at = 0, count; at < fields.bytes; at += count) {
            const Part part(*first + at, fields.bytes - at);
            count = part.count;
            const size_t place = part.place(wave, lane);
            if (place >= known_.size() || (load && part.mask & ~known_[place])) return false;
            known_[place] |= part.mask;
        }
    }
    return true;
}

}  // namespace strata::emu
