#include "strata/asm/emu/check/local_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "strata/asm/emu/check/private_memory.h"
#include "strata/asm/emu/check/registers.h"
#include "strata/asm/emu/memory/ops.h"

namespace strata::emu {

void LocalMemory::start() {
    uint32_t latest = base_;
    for (Progress& progress : progress_) latest = std::max(latest, base_ + progress.signalled + 1);
    base_ = latest;
    std::ranges::fill(progress_, Progress{});
}

/// Whether an earlier touch by another wave has no barrier between it and one now.
bool LocalMemory::races(const Touch& touch, uint32_t wave, uint32_t passed, Way way) const {
    if (touch.when <= base_ || (touch.wave == wave && !touch.several)) return false;
    if (touch.atomic && way != Way::store) return false;
    return base_ + passed + 1 <= touch.when;
}

void LocalMemory::touch(const Moment& moment, uint32_t offset, Way way, int lane) {
    const uint32_t wave = moment.wave.wave_in_group;
    const Progress& progress = progress_[wave];
    Cell& cell = cells_[offset];
    const bool writes = way != Way::load;
    const bool with_write = races(cell.write, wave, progress.passed, way);
    const bool with_read = way == Way::store && races(cell.read, wave, progress.passed, way);
    if (with_write || with_read)
        moment.report(lint::Kind::lds_race, 1ull << lane, [&] {
            lint::Finding finding;
            const uint32_t other = with_write ? cell.write.wave : cell.read.wave;
            finding.what =
                fmt::format("byte {} of local memory is {} here and was {} by wave {} with no barrier between", offset,
                            writes ? "written" : "read", with_write ? "written" : "read", other);
            finding.fix = "s_barrier between the two, after a wait for the first";
            finding.witness = lint::Witness{moment.wave.group->id, wave, 1ull << lane, offset};
            return finding;
        });
    const uint32_t now = base_ + progress.signalled + 1;
    if (writes) {
        cell.write = {now, static_cast<uint16_t>(wave), way == Way::atomic, false};
    } else {
        const bool others = cell.read.when == now && (cell.read.several || cell.read.wave != wave);
        cell.read = {now, static_cast<uint16_t>(wave), false, others};
    }
}

/// Bits of a byte that are known; those of earlier workgroups are not.
uint8_t& LocalMemory::known(uint32_t offset) {
    if (cells_[offset].write.when <= base_) known_[offset] = 0;
    return known_[offset];
}

namespace {

LocalMemory::Way way_of(const MemoryFields& fields) {
    if (fields.is(kIsAtomic)) return LocalMemory::Way::atomic;
    return fields.is(kIsStore) ? LocalMemory::Way::store : LocalMemory::Way::load;
}

}  // namespace

/// One of a lane's items: who touches its bytes, and what is known of them.
void LocalMemory::move(const Moment& moment, Registers& registers, int lane, int item, uint32_t first) {
    const MemoryFields& fields = moment.op->memory();
    const Way way = way_of(fields);
    const DataRows rows(moment);
    const int dwords = (fields.bytes + 3) / 4;
    for (uint32_t at = 0; at < fields.bytes; at += 4) {
        uint32_t loaded = ~0u;
        const int dword = static_cast<int>(at / 4);
        const int from = rows.stored[item];
        const uint32_t data =
            way == Way::store && from >= 0 ? registers.bits(static_cast<uint16_t>(from + dword), lane) : ~0u;
        for (uint32_t byte = 0; byte < 4 && at + byte < fields.bytes; ++byte) {
            const uint32_t offset = first + at + byte;
            if (offset >= cells_.size()) continue;
            loaded &= uint32_t{known(offset)} << 8 * byte | ~(0xffu << 8 * byte);
            touch(moment, offset, way, lane);
            if (way != Way::load) known_[offset] = static_cast<uint8_t>(data >> 8 * byte);
        }
        if (way != Way::store && rows.loaded >= 0 && loaded != ~0u)
            registers.put_loaded(static_cast<uint16_t>(rows.loaded + dword + item * dwords), lane, loaded,
                                 moment.step.pc);
    }
}

void LocalMemory::step(const Moment& moment, Registers& registers) {
    const MemoryFields& fields = moment.op->memory();
    uint64_t addresses[64];
    const uint64_t active = lane_addresses(&moment.wave, moment.op, addresses);
    const bool two = fields.is(kTwoAddresses) && fields.space == Space::local;
    for (uint64_t left = active; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        if (addresses[lane] >> 32 != kSharedAperture) continue;  // FLAT that leads elsewhere
        const auto first = static_cast<uint32_t>(addresses[lane]);
        move(moment, registers, lane, 0, first);
        if (two) move(moment, registers, lane, 1, first + fields.local().offset2 - fields.offset);
    }
}

}  // namespace strata::emu
