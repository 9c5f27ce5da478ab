#include "strata/asm/emu/check/local_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "strata/asm/emu/check/private_memory.h"
#include "strata/asm/emu/check/registers.h"
#include "strata/asm/emu/memory/ops.h"

namespace strata::emu {

void LocalMemory::start() {
    int64_t latest = base_;
    for (const Progress& progress : progress_) latest = std::max(latest, base_ + progress.signalled + 1);
    base_ = latest;
    std::ranges::fill(progress_, Progress{});
    std::ranges::fill(known_, 0u);
    for (const auto& [dword, cells] : bytes_) written_[dword] = read_[dword] = 0;
    bytes_.clear();
    if (base_ >= kLatest / 2) forget(base_);
}

uint32_t LocalMemory::signal(const Wave& wave) {
    const uint32_t number = progress_[wave.wave_in_group].signalled++;
    if (base_ + number + 3 >= kLatest) forget(base_ + number - 2);  // waves are at most a barrier apart
    return number;
}

/// Touches have few bits for when they were: those up to `old` are forgotten, and counting begins there.
void LocalMemory::forget(int64_t old) {
    const auto shift = [&](Touch& touch) {
        if (touch != kSplit) touch = touch >> kWhen <= old ? 0 : touch - (static_cast<Touch>(old) << kWhen);
    };
    std::ranges::for_each(written_, shift);
    std::ranges::for_each(read_, shift);
    for (auto& [dword, cells] : bytes_)
        for (Cell& cell : cells) shift(cell.write), shift(cell.read);
    base_ -= old;
}

LocalMemory::Way LocalMemory::way_of(const MemoryFields& fields) {
    if (fields.is(kIsAtomic)) return Way::atomic;
    return fields.is(kIsStore) ? Way::store : Way::load;
}

LocalMemory::Now LocalMemory::now(const Wave& wave) const {
    const Progress& progress = progress_[wave.wave_in_group];
    const Touch own = wave.wave_in_group << 2;
    return {static_cast<Touch>(base_ + progress.passed + 1) << kWhen, own,
            static_cast<Touch>(base_ + progress.signalled + 1) << kWhen | own};
}

/// Whether an earlier touch by another wave has no barrier between it and one now.
bool LocalMemory::races(Touch touch, const Moment& moment, Way way) const {
    const Now at = now(moment.wave);
    if (touch < at.since || ((touch & kWaveBits) == at.own && !(touch & kSeveral))) return false;
    return !(touch & kAtomic) || way == Way::store;
}

void LocalMemory::touch(const Moment& moment, uint32_t offset, Cell& cell, Way way, int lane) {
    const bool writes = way != Way::load;
    const bool with_write = races(cell.write, moment, way);
    const bool with_read = way == Way::store && races(cell.read, moment, way);
    if (with_write || with_read)
        moment.report(lint::Kind::lds_race, 1ull << lane, [&] {
            lint::Finding finding;
            const uint32_t other = ((with_write ? cell.write : cell.read) & kWaveBits) >> 2;
            finding.what =
                fmt::format("byte {} of local memory is {} here and was {} by wave {} with no barrier between", offset,
                            writes ? "written" : "read", with_write ? "written" : "read", other);
            finding.fix = "s_barrier between the two, after a wait for the first";
            finding.witness = lint::Witness{moment.wave.group->id, moment.wave.wave_in_group, 1ull << lane, offset};
            return finding;
        });
    const Now at = now(moment.wave);
    if (writes) {
        cell.write = at.now | (way == Way::atomic ? kAtomic : 0);
    } else {
        const bool together = cell.read >> kWhen == at.now >> kWhen;
        const bool others = together && (cell.read & kSeveral || (cell.read & kWaveBits) != at.own);
        cell.read = at.now | (others ? kSeveral : 0);
    }
}

/// Some bytes of one dword.
void LocalMemory::touch(const Moment& moment, uint32_t offset, uint32_t bytes, Way way, int lane) {
    const uint32_t dword = offset / 4;
    const bool is_split = written_[dword] == kSplit;
    Cell whole{written_[dword], read_[dword]};
    if (bytes == 4 && !is_split) {
        touch(moment, offset, whole, way, lane);
    } else {
        std::array<Cell, 4>& cells = bytes_[dword];
        if (!is_split) cells.fill(whole);
        for (uint32_t i = 0; i < bytes; ++i) touch(moment, offset + i, cells[offset % 4 + i], way, lane);
        const bool joined = std::ranges::count(cells, cells[0]) == 4;
        whole = joined ? cells[0] : Cell{kSplit, kSplit};
        if (joined) bytes_.erase(dword);
    }
    written_[dword] = whole.write;
    read_[dword] = whole.read;
}

/// One of a lane's items: who touches its bytes, and what is known of them.
void LocalMemory::move(const Moment& moment, Registers& registers, int lane, const Item& item, uint32_t first) {
    for (uint32_t at = 0, count; at < item.bytes; at += count) {
        const uint32_t offset = first + at, part = offset % 4;
        count = std::min({4 - part, 4 - at % 4, item.bytes - at});
        if (offset + count > size_) continue;
        touch(moment, offset, count, item.way, lane);
        uint32_t& known = known_[offset / 4];
        const uint32_t mask = count == 4 ? ~0u : ((1u << 8 * count) - 1) << 8 * part;
        if (item.way != Way::store && item.loaded >= 0 && mask & ~known) {
            const auto reg = static_cast<uint16_t>(item.loaded + static_cast<int>(at / 4));
            const uint32_t place = 8 * (at % 4), taken = (known & mask) >> 8 * part << place;
            const uint32_t rest = registers.bits(reg, lane) & ~((mask >> 8 * part) << place);
            registers.put_loaded(reg, lane, taken | rest, moment.step.pc);
        }
        if (item.way == Way::load) continue;
        uint32_t data = mask;
        if (item.way == Way::store && item.stored >= 0) {
            const auto reg = static_cast<uint16_t>(item.stored + static_cast<int>(at / 4));
            data = registers.bits(reg, lane) >> 8 * (at % 4) << 8 * part & mask;
        }
        known = (known & ~mask) | data;
    }
}

bool LocalMemory::all_known(uint32_t first, uint32_t bytes) const {
    if (first % 4 || bytes % 4 || first + bytes > size_) return false;
    return std::all_of(known_.begin() + first / 4, known_.begin() + (first + bytes) / 4,
                       [](uint32_t bits) { return bits == ~0u; });
}

void LocalMemory::step(const Moment& moment, Registers& registers) {
    const MemoryFields& fields = moment.op->memory();
    uint64_t addresses[64];
    const uint64_t active = lane_addresses(&moment.wave, moment.op, addresses);
    const bool two = fields.is(kTwoAddresses) && fields.space == Space::local;
    const DataRows rows(moment);
    const Item one{way_of(fields), fields.bytes, rows.loaded, rows.stored[0]};
    const Item other{one.way, fields.bytes, rows.loaded < 0 ? -1 : rows.loaded + (fields.bytes + 3) / 4,
                     rows.stored[1]};
    uint64_t before = ~0ull;
    for (uint64_t left = active; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        if (addresses[lane] >> 32 != kSharedAperture) continue;  // FLAT that leads elsewhere
        const auto first = static_cast<uint32_t>(addresses[lane]);
        const bool again = one.way == Way::load && addresses[lane] == before && all_known(first, fields.bytes) &&
                           !two;  // what the lane before read
        if (again) continue;
        before = addresses[lane];
        move(moment, registers, lane, one, first);
        if (two) move(moment, registers, lane, other, first + fields.local().offset2 - fields.offset);
    }
}

/// Whether nobody else has touched the dwords so that it matters, and all of them are known where they are read.
bool LocalMemory::is_free(Extent extent, Way way, const Now& now) const {
    const Touch *const written = written_.data() + extent.first, *const read = read_.data() + extent.first;
    const uint32_t* const known = known_.data() + extent.first;
    const Touch harmless = way == Way::store ? 0 : kAtomic;
    uint32_t wrong = 0;
    for (int32_t i = 0; i < extent.end - extent.first; ++i)
        wrong |= uint32_t{written[i] >= now.since} & uint32_t{(written[i] & kWaveBits) != now.own} &
                 uint32_t{(written[i] & harmless) == 0};
    if (way == Way::store)
        for (int32_t i = 0; i < extent.end - extent.first; ++i)
            wrong |= uint32_t{read[i] >= now.since} & uint32_t{(read[i] & (kWaveBits | kSeveral)) != now.own};
    else
        for (int32_t i = 0; i < extent.end - extent.first; ++i) wrong |= ~known[i];
    return !wrong;
}

void LocalMemory::note(Extent extent, Way way, const Now& now) {
    if (way == Way::load) {
        Touch* const read = read_.data() + extent.first;
        for (int32_t i = 0; i < extent.end - extent.first; ++i) {
            const Touch before = read[i] ^ now.now;  // 0: this wave alone
            read[i] = now.now | (before - 1 < (1u << kWhen) - 1 ? kSeveral : 0u);
        }
        return;
    }
    std::fill(written_.begin() + extent.first, written_.begin() + extent.end,
              now.now | (way == Way::atomic ? kAtomic : 0));
    std::fill(known_.begin() + extent.first, known_.begin() + extent.end, ~0u);
}

bool LocalMemory::pass(Wave& wave, const Op& op) {
    const MemoryFields& fields = op.memory();
    uint64_t addresses[64];
    const uint64_t active = lane_addresses(&wave, &op, addresses);
    if (fields.space == Space::flat) {
        bool local = false;
        for (uint64_t left = active; left; left &= left - 1)
            local |= addresses[std::countr_zero(left)] >> 32 == kSharedAperture;
        return !local;
    }
    const int32_t apart = fields.is(kTwoAddresses) ? static_cast<int32_t>(fields.local().offset2 - fields.offset) : 0;
    const int32_t dwords = fields.bytes / 4, lowest = std::max(0, -apart / 4),
                  end = static_cast<int32_t>(size_ / 4) - std::max(0, apart / 4);
    if (fields.bytes % 4 || apart % 4) return false;
    Extent extents[64];
    int count = 0;
    for (uint64_t left = active; left; left &= left - 1) {
        const auto offset = static_cast<uint32_t>(addresses[std::countr_zero(left)]);
        const auto first = static_cast<int32_t>(offset / 4);
        if (offset % 4 || first < lowest || first + dwords > end) return false;
        Extent& last = extents[std::max(count - 1, 0)];
        if (count && first >= last.first && first <= last.end)
            last.end = std::max(last.end, first + dwords);
        else if (!count || first < extents[0].first || first + dwords > extents[0].end)
            extents[count++] = {first, first + dwords};
    }
    const Way way = way_of(fields);
    const Now at = now(wave);
    for (int i = 0; i < count; ++i) {
        const Extent &one = extents[i], other{one.first + apart / 4, one.end + apart / 4};
        if (!is_free(one, way, at) || (apart && !is_free(other, way, at))) return false;
    }
    for (int i = 0; i < count; ++i) {
        note(extents[i], way, at);
        if (apart) note({extents[i].first + apart / 4, extents[i].end + apart / 4}, way, at);
    }
    return true;
}

}  // namespace strata::emu
