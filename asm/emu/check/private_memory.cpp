#include "strata/asm/emu/check/private_memory.h"

#include <bit>

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

void PrivateMemory::step(const Moment& moment, Registers& registers) {
    const MemoryFields& fields = moment.op->memory();
    uint64_t addresses[64];
    const uint64_t active = lane_addresses(&moment.wave, moment.op, addresses);
    const bool load = !fields.is(kIsStore) && !fields.is(kIsAtomic);
    int row = -1, data = -1;
    for (const lint::Write& write : moment.step.access->all_writes())
        if (is_vector(write.registers)) row = write.registers.first - lint::kVectors;
    for (const lint::Read& read : moment.step.access->all_reads())
        if (read.use == lint::Use::stored && data < 0) data = read.registers.first - lint::kVectors;
    for (uint64_t left = active; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const uint64_t bit = 1ull << lane;
        const std::optional<uint32_t> first = private_byte(moment.wave, lane, addresses[lane]);
        for (uint32_t byte = 0; first && byte < fields.bytes && *first + byte < written_.size(); ++byte) {
            uint64_t& written = written_[*first + byte];
            const int dword = static_cast<int>(byte / 4);
            if (load && !(written & bit) && row >= 0) registers.take_unwritten(row + dword, bit, moment.step.pc);
            if (load) continue;
            const bool known = data < 0 || (registers.written(data + dword) & bit);
            written = known ? written | bit : written & ~bit;
        }
    }
}

}  // namespace strata::emu
