#include "strata/asm/emu/check/local_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "strata/asm/emu/check/private_memory.h"
#include "strata/asm/emu/check/registers.h"
#include "strata/asm/emu/memory/ops.h"

namespace strata::emu {

void LocalMemory::start() {
    int64_t latest = base_;
    for (const Progress& progress : progress_) latest = std::max(latest, base_ + progress.signalled + 1);
    base_ = latest;
    read_lately_.clear();
    written_lately_.clear();
    recent_.clear();
    copies_.clear();
    lates_.clear();
    late_bytes_.clear();
    latest_ = 0;
    known_first_ = known_end_ = known_tries_ = 0;
    std::ranges::fill(progress_, Progress{});
    std::ranges::fill(known_, 0u);
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
    catch_up();
    shift(latest_);
    read_lately_.lose(latest_);
    written_lately_.lose(latest_);
    std::ranges::for_each(written_, shift);
    std::ranges::for_each(read_, shift);
    for (Cells& cells : bytes_)
        for (Touches* touches : {&cells.write, &cells.read})
            for (int i = 0; i < 4; ++i) {
                Touch byte = (*touches)[i];
                shift(byte);
                (*touches)[i] = byte;
            }
    base_ -= old;
}

LocalMemory::Way LocalMemory::way_of(const MemoryFields& fields) {
    if (fields.is(kIsAtomic)) return Way::atomic;
    return fields.is(kIsStore) ? Way::store : Way::load;
}

/// True if an earlier touch by another wave has no barrier between it and one now.
bool LocalMemory::races(Touch touch, const Moment& moment, Way way) const {
    const Now at = now(moment.wave);
    if (touch < at.since || ((touch & kWaveBits) == at.own && !(touch & kSeveral))) return false;
    return !(touch & kAtomic) || way == Way::store;
}

/// True if a lane stores what is there. Waves that store equal values to the same bytes need no order among each other.
bool LocalMemory::stores_what_is_there(const Wave& wave, uint32_t offset, uint32_t bytes, const Part& part) {
    return part.stored && offset + bytes <= wave.lds_size && std::memcmp(part.stored, wave.lds + offset, bytes) == 0;
}

/// A race with an earlier write or read of the cell.
void LocalMemory::report(const Moment& moment, uint32_t offset, const Cell& cell, Part part, bool with_write) const {
    const Wave& wave = moment.wave;
    const Touch touch = with_write ? cell.write : cell.read;
    const bool values = with_write && part.stored && !(cell.write & kAtomic) && offset / 4 * 4 + 4 <= wave.lds_size;
    while (values && stores_what_is_there(wave, offset, 1, part) && offset % 4 != 3) ++offset, ++part.stored;
    const auto value = [&](const uint8_t* byte) { return values ? fmt::format(" ({:#04x})", *byte) : ""; };
    moment.report(lint::Kind::lds_race, 1ull << part.lane, [&] {
        lint::Finding finding;
        const std::string others = with_write && touch & kSeveral ? std::string("several waves")
                                                                  : fmt::format("wave {}", (touch & kWaveBits) >> 2);
        finding.what = fmt::format("byte {} of local memory is {} here{} and was {} by {}{} with no barrier between",
                                   offset, part.way != Way::load ? "written" : "read", value(part.stored),
                                   with_write ? "written" : "read", others, value(wave.lds + offset));
        finding.fix = "s_barrier between the two, after a wait for the first";
        if (const Op* const other = recent_.find(offset, with_write, touch))
            finding.earlier = wave.group->launch->program->pc(wave.group->code->plain(other));
        finding.witness = lint::Witness{wave.group->id, wave.wave_in_group, 1ull << part.lane, offset};
        return finding;
    });
}

/// True if it races; `reported`: something of the same access has been said to.
bool LocalMemory::touch(const Moment& moment, uint32_t offset, uint32_t bytes, Cell& cell, const Part& part,
                        bool reported) {
    const bool writes = part.way != Way::load;
    const bool with_write = races(cell.write, moment, part.way);
    const bool with_read = part.way == Way::store && races(cell.read, moment, part.way);
    const bool equal = with_write && part.way == Way::store && !(cell.write & kAtomic) &&
                       stores_what_is_there(moment.wave, offset, bytes, part);
    const Now at = now(moment.wave);
    if (equal && !with_read) {
        cell.write = std::max(cell.write, at.now) | kSeveral;
        return false;
    }
    if (!reported && (with_write || with_read)) report(moment, offset, cell, part, with_write && !equal);
    if (writes) {
        cell.write = at.now | (part.way == Way::atomic ? kAtomic : 0);
    } else {
        const bool together = cell.read >> kWhen == at.now >> kWhen;
        const bool others = together && (cell.read & kSeveral || (cell.read & kWaveBits) != at.own);
        cell.read = at.now | (others ? kSeveral : 0);
    }
    return with_write || with_read;
}

/// The bytes of a dword that are not touched together, from now on.
LocalMemory::Cells& LocalMemory::split(size_t dword) {
    if (bytes_.empty()) bytes_.resize(written_.size());
    Cells& cells = bytes_[dword];
    if (written_[dword] == kSplit) return cells;
    cells.write = Touches{} + written_[dword];
    cells.read = Touches{} + read_[dword];
    written_[dword] = read_[dword] = kSplit;
    return cells;
}

/// Some bytes of one dword.
void LocalMemory::touch(const Moment& moment, uint32_t offset, uint32_t bytes, const Part& part) {
    const uint32_t dword = offset / 4;
    const bool in_part = part.stored && bytes == 4 && written_[dword] != kSplit &&
                         races(written_[dword], moment, Way::store) &&
                         !stores_what_is_there(moment.wave, offset, bytes, part);  // of some bytes, maybe not of all
    if (bytes == 4 && written_[dword] != kSplit && !in_part) {
        Cell whole{written_[dword], read_[dword]};
        touch(moment, offset, bytes, whole, part, false);
        written_[dword] = whole.write;
        read_[dword] = whole.read;
        return;
    }
    Cells& cells = split(dword);
    bool reported = false;
    for (uint32_t i = 0; i < bytes; ++i) {
        const uint32_t at = offset % 4 + i;
        Cell byte{cells.write[at], cells.read[at]};
        reported |= touch(moment, offset + i, 1, byte, {part.way, part.lane, part.stored ? part.stored + i : nullptr},
                          reported);
        cells.write[at] = byte.write;
        cells.read[at] = byte.read;
    }
}

/// One lane's dword.
void LocalMemory::touch_copied(const Moment& moment, uint32_t first, int lane) {
    for (uint32_t at = 0, count; at < 4; at += count) {
        const uint32_t offset = first + at;
        count = std::min(4 - offset % 4, 4 - at);
        if (offset + count <= size_) touch(moment, offset, count, {Way::store, lane, nullptr});
    }
}

void LocalMemory::begin_copy(const Moment& moment) {
    const Wave& wave = moment.wave;
    const uint32_t first = (wave.s[isa::code::m0] & 0xffff) + moment.op->memory().offset;
    const Now at = now(wave);
    if (at.now > latest_) renew(at);
    catch_up();
    for (uint64_t left = moment.exec(); left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const uint32_t byte = first + 4 * static_cast<uint32_t>(lane);
        meet_copy(moment, byte, 4, lane, Way::store);
        touch_copied(moment, byte, lane);
        for (uint32_t i = byte; i < std::min(byte + 4, size_); ++i) known_[i / 4] |= 0xffu << 8 * (i % 4);
        written_lately_.add(static_cast<int32_t>(byte), static_cast<int32_t>(byte + 4), at);
    }
    copies_.add(moment, first);
}

/// A copy writes when its wait ends: its bytes are touched again then.
void LocalMemory::step_copies(const Moment& moment) {
    for (const LocalCopies::Copy& copy : copies_.step(moment)) {
        const Now at = now(moment.wave);
        if (at.now > latest_) renew(at);
        catch_up();
        for (uint64_t left = copy.lanes; left; left &= left - 1) {
            const int lane = std::countr_zero(left);
            const uint32_t byte = copy.first + 4 * static_cast<uint32_t>(lane);
            touch_copied(moment, byte, lane);
            written_lately_.add(static_cast<int32_t>(byte), static_cast<int32_t>(byte + 4), at);
        }
    }
}

/// Reports an access to what a copy may still write, of this wave or another.
void LocalMemory::meet_copy(const Moment& moment, uint32_t first, uint32_t bytes, int lane, Way way) const {
    const LocalCopies::Copy* const copy = copies_.to(first, bytes);
    if (!copy) return;
    moment.report(lint::Kind::missing_wait, 1ull << lane, [&] {
        lint::Finding finding;
        finding.what = fmt::format("byte {} of local memory is {} while {} may still write it", first,
                                   way == Way::load ? "read" : "written", copy->name);
        finding.fix = copy->wave == moment.wave.wave_in_group
                          ? "a wait for it before this"
                          : fmt::format("a wait for it in wave {}, and s_barrier, before this", copy->wave);
        finding.earlier = copy->pc;
        return finding;
    });
}

/// One of a lane's items: who touches its bytes, and what is known of them.
void LocalMemory::move(const Moment& moment, Registers& registers, int lane, const Item& item, uint32_t first) {
    if (copies_.any()) meet_copy(moment, first, item.bytes, lane, item.way);
    for (uint32_t at = 0, count; at < item.bytes; at += count) {
        const uint32_t offset = first + at, part = offset % 4;
        count = std::min({4 - part, 4 - at % 4, item.bytes - at});
        if (offset + count > size_) continue;
        uint32_t stored = 0;
        const bool stores = item.way == Way::store && item.stored >= 0;
        const auto from = static_cast<uint16_t>(item.stored + static_cast<int>(at / 4));
        if (stores) stored = moment.wave.row(from - lint::kVectors)[lane] >> (item.shift + 8 * (at % 4));
        uint8_t values[4];
        std::memcpy(values, &stored, sizeof values);
        touch(moment, offset, count, {item.way, lane, stores ? values : nullptr});
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
        if (stores) data = registers.bits(from, lane) >> (item.shift + 8 * (at % 4)) << 8 * part & mask;
        known = (known & ~mask) | data;
        if (data != mask) known_first_ = known_end_ = 0;
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
    const uint32_t shift = moment.row().mnemonic.ends_with("_d16_hi") ? 16 : 0;
    const Item one{way_of(fields), fields.bytes, rows.loaded, rows.stored[0], shift};
    const Item other{one.way, fields.bytes, rows.loaded < 0 ? -1 : rows.loaded + (fields.bytes + 3) / 4, rows.stored[1],
                     0};
    const Now at = now(moment.wave);
    if (at.now > latest_) renew(at);
    catch_up();
    if (const Places places(moment.wave, *moment.op); fields.space == Space::local && fields.bytes && places.count)
        recent_.add(moment.op, places, two ? static_cast<int32_t>(fields.local().offset2 - fields.offset) : 0,
                    one.way != Way::load, at.now);
    Stretches& own = one.way == Way::load ? read_lately_ : written_lately_;
    uint64_t before = ~0ull;
    for (uint64_t left = active; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        if (addresses[lane] >> 32 != kSharedAperture) continue;  // FLAT that leads elsewhere
        const auto first = static_cast<uint32_t>(addresses[lane]);
        const bool again = one.way == Way::load && addresses[lane] == before && all_known(first, fields.bytes) &&
                           !two;  // what the lane before read
        if (again) continue;
        before = addresses[lane];
        const uint32_t second = first + (two ? fields.local().offset2 - fields.offset : 0);
        move(moment, registers, lane, one, first);
        own.add(static_cast<int32_t>(first), static_cast<int32_t>(first + fields.bytes), at);
        if (!two) continue;
        move(moment, registers, lane, other, second);
        own.add(static_cast<int32_t>(second), static_cast<int32_t>(second + fields.bytes), at);
    }
}

}  // namespace strata::emu
