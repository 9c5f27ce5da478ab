#include "strata/asm/emu/check/private_memory.h"

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
    const auto lanes = static_cast<size_t>(moment.wave.lanes);
    for (uint64_t left = active; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const std::optional<uint32_t> first = private_byte(moment.wave, lane, addresses[lane]);
        if (!first) continue;
        for (uint32_t at = 0; at < fields.bytes; at += 4) {
            uint32_t loaded = ~0u;
            const auto reg = static_cast<uint16_t>((load ? rows.loaded : rows.stored[0]) + static_cast<int>(at / 4));
            const uint32_t data = !load && rows.stored[0] >= 0 ? registers.bits(reg, lane) : ~0u;
            for (uint32_t byte = 0; byte < 4 && at + byte < fields.bytes; ++byte) {
                const size_t place = (size_t{*first} + at + byte) * lanes + static_cast<size_t>(lane);
                if (place >= known_.size()) continue;
                if (load)
                    loaded &= uint32_t{known_[place]} << 8 * byte | ~(0xffu << 8 * byte);
                else
                    known_[place] = static_cast<uint8_t>(data >> 8 * byte);
            }
            if (load && rows.loaded >= 0 && loaded != ~0u) registers.put_loaded(reg, lane, loaded, moment.step.pc);
        }
    }
}

bool PrivateMemory::pass(Wave& wave, const Op& op) {
    const MemoryFields& fields = op.memory();
    uint64_t addresses[64];
    const bool load = !fields.is(kIsStore) && !fields.is(kIsAtomic);
    const auto lanes = static_cast<size_t>(wave.lanes);
    for (uint64_t left = lane_addresses(&wave, &op, addresses); left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const std::optional<uint32_t> first = private_byte(wave, lane, addresses[lane]);
        if (!first) continue;
        if ((size_t{*first} + fields.bytes) * lanes > known_.size()) return false;
        uint8_t* const known = known_.data() + size_t{*first} * lanes + static_cast<size_t>(lane);
        for (size_t byte = 0; byte < fields.bytes; ++byte) {
            if (load && known[byte * lanes] != 0xff) return false;
            known[byte * lanes] = 0xff;
        }
    }
    return true;
}

}  // namespace strata::emu
