#include "strata/asm/emu/check/local_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

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
    if (touch.atomic && way == Way::atomic) return false;
    return base_ + passed + 1 <= touch.when;
}

void LocalMemory::touch(const Moment& moment, uint32_t offset, Way way, int lane) {
    const uint32_t wave = moment.wave.wave_in_group;
    const Progress& progress = progress_[wave];
    Cell& cell = cells_[offset];
    const bool writes = way != Way::load;
    const bool with_write = races(cell.write, wave, progress.passed, way);
    const bool with_read = writes && races(cell.read, wave, progress.passed, way);
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

void LocalMemory::step(const Moment& moment, Registers& registers) {
    const MemoryFields& fields = moment.op->memory();
    uint64_t addresses[64];
    const uint64_t active = lane_addresses(&moment.wave, moment.op, addresses);
    const Way way = fields.is(kIsAtomic) ? Way::atomic : fields.is(kIsStore) ? Way::store : Way::load;
    const bool two = fields.is(kTwoAddresses) && fields.space == Space::local;
    int row = -1, data[2] = {-1, -1}, count = 0;
    for (const lint::Write& write : moment.step.access->all_writes())
        if (is_vector(write.registers)) row = write.registers.first - lint::kVectors;
    for (const lint::Read& read : moment.step.access->all_reads())
        if (read.use == lint::Use::stored && count < 2) data[count++] = read.registers.first - lint::kVectors;
    for (int item = 0; item < (two ? 2 : 1); ++item) {
        const uint32_t shift = item ? fields.local().offset2 - fields.offset : 0;
        for (uint64_t left = active; left; left &= left - 1) {
            const int lane = std::countr_zero(left);
            if (addresses[lane] >> 32 != kSharedAperture) continue;  // FLAT that leads elsewhere
            const uint32_t first = static_cast<uint32_t>(addresses[lane]) + shift;
            for (uint32_t byte = 0; byte < fields.bytes && first + byte < cells_.size(); ++byte) {
                const int dword = static_cast<int>(byte / 4 + static_cast<uint32_t>(item) * ((fields.bytes + 3u) / 4));
                const bool known = written(first + byte);
                if (way == Way::load && !known && row >= 0)
                    registers.take_unwritten(row + dword, 1ull << lane, moment.step.pc);
                const bool keeps = way == Way::store && data[item] >= 0 &&
                                   !(registers.written(data[item] + static_cast<int>(byte / 4)) >> lane & 1);
                touch(moment, first + byte, way, lane);
                if (keeps && !known) cells_[first + byte].write.when = base_;  // a copy of what nobody wrote
            }
        }
    }
}

}  // namespace strata::emu
