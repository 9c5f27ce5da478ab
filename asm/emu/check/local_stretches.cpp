#include <algorithm>
#include <bit>
#include <cstring>

#include "strata/asm/emu/check/local_memory.h"
#include "strata/asm/emu/memory/ops.h"

// Accesses to local memory of which nothing is to be said, by stretches of bytes that lanes touch one after the other.
namespace strata::emu {
namespace {

using Dwords = uint32_t __attribute__((vector_size(16)));
constexpr Dwords kBytes = {0xff, 0xff00, 0xff0000, 0xff000000};

bool is_zero(const Dwords& x) {
    uint64_t halves[2];
    memcpy(halves, &x, sizeof halves);
    return !(halves[0] | halves[1]);
}

/// Bits of the bytes from `first` to `end` of a dword.
uint32_t bits_of_bytes(uint32_t first, uint32_t end) {
    return (end == 4 ? ~0u : (1u << 8 * end) - 1) & (~0u << 8 * first);
}

}  // namespace

/// The bytes of all items, by what lies one after the other.
int LocalMemory::extents_of(const Places& places, Extent* extents) {
    if (places.are_together()) {
        extents[0] = {places.lowest, places.highest + places.bytes};
        return 1;
    }
    int made = 0;
    for (int i = 0; i < places.count; ++i) {
        const int32_t first = places.firsts[i], end = first + places.bytes;
        Extent& last = extents[std::max(made - 1, 0)];
        if (made && first >= last.first && first <= last.end)
            last.end = std::max(last.end, end);
        else if (!made || first < extents[0].first || end > extents[0].end)
            extents[made++] = {first, end};
    }
    return made;
}

/// True if nobody else has touched it so that it matters.
[[gnu::always_inline]] inline bool LocalMemory::is_free(const Cell& cell, Way way, const Now& now) {
    const Touch harmless = way == Way::store ? 0 : kAtomic;
    const bool with_write =
        (cell.write >= now.since) & ((cell.write & (kWaveBits | kSeveral)) != now.own) & !(cell.write & harmless);
    const bool with_read = (cell.read >= now.since) & ((cell.read & (kWaveBits | kSeveral)) != now.own);
    return !with_write & (way != Way::store || !with_read);
}

[[gnu::always_inline]] inline void LocalMemory::note(Cell& cell, Way way, const Now& now) {
    const Touch before = cell.read ^ now.now;  // 0: this wave alone
    if (way == Way::load)
        cell.read = now.now | (before - 1 < (1u << kWhen) - 1 ? kSeveral : 0u);
    else
        cell.write = now.now | (way == Way::atomic ? kAtomic : 0);
}

/// The same of four: those of a dword's bytes, or of dwords side by side.
[[gnu::always_inline]] inline LocalMemory::Touches LocalMemory::wrong_of(const Cells& cells, Way way, const Now& now) {
    const auto matters = [&](Touches touches, Touch harmless) {
        return (touches >= now.since) & ((touches & (kWaveBits | kSeveral)) != now.own) & ((touches & harmless) == 0);
    };
    auto wrong = matters(cells.write, way == Way::store ? 0 : kAtomic);
    if (way == Way::store) wrong |= matters(cells.read, 0);
    return reinterpret_cast<Touches>(wrong);
}

/// Those bytes of a dword that have bits in the mask.
[[gnu::always_inline]] inline bool LocalMemory::are_free(const Cells& cells, uint32_t mask, Way way, const Now& now) {
    return is_zero(wrong_of(cells, way, now) & (kBytes & mask));
}

[[gnu::always_inline]] inline void LocalMemory::note(Cells& cells, uint32_t mask, Way way, const Now& now) {
    note_where(cells, reinterpret_cast<Touches>((kBytes & mask) != 0), way, now);
}

[[gnu::always_inline]] inline void LocalMemory::note_where(Cells& cells, const Touches& in_mask, Way way,
                                                           const Now& now) {
    if (way == Way::load) {
        const Touches before = (cells.read ^ now.now) - 1;
        const Touches several = reinterpret_cast<Touches>(before < (1u << kWhen) - 1) & kSeveral;
        cells.read = (cells.read & ~in_mask) | ((several | now.now) & in_mask);
    } else {
        const Touch touch = now.now | (way == Way::atomic ? kAtomic : 0);
        cells.write = (cells.write & ~in_mask) | (in_mask & touch);
    }
}

[[gnu::always_inline]] inline bool LocalMemory::part_is_free(size_t dword, uint32_t mask, Way way,
                                                             const Now& now) const {
    if (way != Way::store && mask & ~known_[dword]) return false;
    if (written_[dword] != kSplit) return is_free({written_[dword], read_[dword]}, way, now);
    return are_free(bytes_[dword], mask, way, now);
}

[[gnu::always_inline]] inline void LocalMemory::note_part(size_t dword, uint32_t mask, Way way, const Now& now) {
    if (way != Way::load) known_[dword] |= mask;
    if (written_[dword] != kSplit) {
        const Cell before{written_[dword], read_[dword]};
        Cell after = before;
        note(after, way, now);
        if (after.write == before.write && after.read == before.read) return;
        if (mask == ~0u) {
            written_[dword] = after.write;
            read_[dword] = after.read;
            return;
        }
    }
    Cells& cells = written_[dword] == kSplit ? bytes_[dword] : split(dword);
    note(cells, mask, way, now);
    unite(dword, cells);
}

/// Bytes that were touched by the same wave at the same time are kept together again.
[[gnu::always_inline]] inline void LocalMemory::unite(size_t dword, const Cells& cells) {
    if (!is_zero((cells.write ^ cells.write[0]) | (cells.read ^ cells.read[0]))) return;
    written_[dword] = cells.write[0];
    read_[dword] = cells.read[0];
}

/// Four dwords side by side, of which this says nothing where they are split.
[[gnu::always_inline]] inline LocalMemory::Cells LocalMemory::four_from(size_t first) const {
    Cells cells;
    memcpy(&cells.write, written_.data() + first, sizeof cells.write);
    memcpy(&cells.read, read_.data() + first, sizeof cells.read);
    return cells;
}
[[gnu::always_inline]] inline bool LocalMemory::are_together(const Cells& four) {
    return is_zero(reinterpret_cast<Touches>(four.write == kSplit));
}

bool LocalMemory::are_free(size_t first, size_t end, Way way, const Now& now) const {
    if (const Cells four = end - first == 4 ? four_from(first) : Cells{}; end - first == 4 && are_together(four)) {
        Touches unknown{};
        if (way != Way::store) memcpy(&unknown, known_.data() + first, sizeof unknown), unknown = ~unknown;
        return is_zero(wrong_of(four, way, now) | unknown);
    }
    if (written_[first] != kSplit) {
        uint32_t wrong = 0;
        if (way == Way::store)
            for (size_t i = first; i < end; ++i) wrong |= !is_free({written_[i], read_[i]}, Way::store, now);
        else
            for (size_t i = first; i < end; ++i)
                wrong |= uint32_t{!is_free({written_[i], 0}, Way::load, now)} | ~known_[i];
        if (!wrong) return true;
    }
    for (size_t i = first; i < end; ++i)  // some may be split
        if (!part_is_free(i, ~0u, way, now)) return false;
    return true;
}

void LocalMemory::note_all(size_t first, size_t end, Way way, const Now& now) {
    if (Cells four = end - first == 4 ? four_from(first) : Cells{}; end - first == 4 && are_together(four)) {
        note_where(four, ~Touches{}, way, now);
        memcpy(written_.data() + first, &four.write, sizeof four.write);
        memcpy(read_.data() + first, &four.read, sizeof four.read);
        if (way != Way::load) std::fill_n(known_.data() + first, 4, ~0u);
        return;
    }
    uint32_t splits = 0;
    for (size_t i = first; i < end; ++i) splits |= written_[i] == kSplit;
    if (splits) {
        for (size_t i = first; i < end; ++i) note_part(i, ~0u, way, now);
        return;
    }
    Cell cell;
    if (way == Way::load) {
        for (size_t i = first; i < end; ++i) {
            cell.read = read_[i];
            note(cell, Way::load, now);
            read_[i] = cell.read;
        }
        return;
    }
    note(cell, way, now);
    std::fill(written_.data() + first, written_.data() + end, cell.write);
    std::fill(known_.data() + first, known_.data() + end, ~0u);
}

/// Dwords of which only a part is in the stretch, with the bits of that; and those that are in it whole.
template <class OfPart, class OfWhole>
[[gnu::always_inline]] inline bool LocalMemory::each(Extent extent, OfPart part, OfWhole whole) {
    const auto first = static_cast<uint32_t>(extent.first), end = static_cast<uint32_t>(extent.end);
    if (end - first == 4 && first % 4 == 0) return part(first / 4, ~0u);
    if (first / 4 == (end - 1) / 4) return part(first / 4, bits_of_bytes(first % 4, end - first / 4 * 4));
    if (first % 4 && !part(first / 4, bits_of_bytes(first % 4, 4))) return false;
    if (end % 4 && !part(end / 4, bits_of_bytes(0, end % 4))) return false;
    return (first + 3) / 4 == end / 4 || whole((first + 3) / 4, end / 4);
}

/// Items of one byte that are stored.
void LocalMemory::note_bytes(const Places& places, const Now& now) {
    for (int i = 0; i < places.count; ++i) {
        const auto first = static_cast<uint32_t>(places.firsts[i]);
        const size_t dword = first / 4;
        if (written_[dword] != kSplit) {
            note_part(dword, 0xffu << 8 * (first % 4), Way::store, now);
            continue;
        }
        bytes_[dword].write[first % 4] = now.now;
        known_[dword] |= 0xffu << 8 * (first % 4);
    }
}

/// Items in one dword each: whether nothing is to be said of them.
bool LocalMemory::are_free(const Places& places, Way way, const Now& now) const {
    const uint32_t item = bits_of_bytes(0, static_cast<uint32_t>(places.bytes));
    bool free = true;
    for (int i = 0; i < places.count; ++i) {
        const auto first = static_cast<uint32_t>(places.firsts[i]);
        const size_t dword = first / 4;
        if (places.bytes != 1 || written_[dword] != kSplit) {
            free &= part_is_free(dword, item << 8 * (first % 4), way, now);
            continue;
        }
        const bool known = way == Way::store || known_[dword] >> 8 * (first % 4) & 1;
        free &= known & is_free({bytes_[dword].write[first % 4], bytes_[dword].read[first % 4]}, way, now);
    }
    return free;
}

void LocalMemory::note(const Places& places, Way way, const Now& now) {
    if (places.bytes == 1) return note_bytes(places, now);
    const uint32_t item = bits_of_bytes(0, static_cast<uint32_t>(places.bytes));
    for (int i = 0; i < places.count; ++i) {
        const auto first = static_cast<uint32_t>(places.firsts[i]);
        note_part(first / 4, item << 8 * (first % 4), way, now);
    }
}

bool LocalMemory::are_free(std::span<const Extent> extents, Way way, const Now& now) const {
    return std::ranges::all_of(extents, [&](const Extent& extent) {
        return each(
            extent, [&](size_t dword, uint32_t mask) { return part_is_free(dword, mask, way, now); },
            [&](size_t first, size_t end) { return are_free(first, end, way, now); });
    });
}

void LocalMemory::note(std::span<const Extent> extents, Way way, const Now& now) {
    for (const Extent& extent : extents)
        each(
            extent, [&](size_t dword, uint32_t mask) { return note_part(dword, mask, way, now), true; },
            [&](size_t first, size_t end) { return note_all(first, end, way, now), true; });
}

bool LocalMemory::are_known(std::span<const Extent> extents) const {
    return std::ranges::all_of(extents, [&](const Extent& extent) {
        return each(
            extent, [&](size_t dword, uint32_t mask) { return !(mask & ~known_[dword]); },
            [&](size_t first, size_t end) {
                uint32_t all = ~0u;
                for (size_t i = first; i < end; ++i) all &= known_[i];
                return all == ~0u;
            });
    });
}

namespace {

/// Unknown bits of items of `Dwords` dwords each.
template <int32_t Dwords>
uint32_t unknown_in(const uint32_t* known, const Places& places) {
    uint32_t all = ~0u;
    for (int i = 0; i < places.count; ++i)
        for (int32_t dword = 0; dword < Dwords; ++dword) all &= known[places.firsts[i] / 4 + dword];
    return ~all;
}

}  // namespace

/// Items of whole dwords, or in one dword each.
bool LocalMemory::are_known(const Places& places, int32_t apart) const {
    const uint32_t* const known = known_.data() + apart / 4;
    if (places.are_dwords()) {
        switch (places.bytes) {
            case 4: return !unknown_in<1>(known, places);
            case 8: return !unknown_in<2>(known, places);
            case 12: return !unknown_in<3>(known, places);
            default: return !unknown_in<4>(known, places);
        }
    }
    uint32_t unknown = 0;
    for (int i = 0; i < places.count; ++i)
        unknown |= ~known[places.firsts[i] / 4] >> 8 * (static_cast<uint32_t>(places.firsts[i]) % 4);
    return !(unknown & bits_of_bytes(0, static_cast<uint32_t>(places.bytes)));
}

/// True if all bytes of a stretch are known, as far as a quick check shows.
bool LocalMemory::lies_known(int32_t first, int32_t end) {
    if (first >= known_first_ && end <= known_end_) return true;
    if (known_tries_ == kKnownTries || end - first > kMostKnown) return false;
    ++known_tries_;
    const bool known = std::all_of(known_.begin() + first / 4, known_.begin() + (end + 3) / 4,
                                   [](uint32_t bits) { return bits == ~0u; });
    if (!known) return false;
    const bool meets = first <= known_end_ && end >= known_first_;
    known_first_ = meets ? std::min(first, known_first_) : first;
    known_end_ = meets ? std::max(end, known_end_) : end;
    return true;
}

/// Waves have come past barriers: what happened before is in order with all that follows.
void LocalMemory::renew(const Now& now) {
    uint32_t passed = ~0u;
    for (const Progress& progress : progress_) passed = std::min(passed, progress.passed);
    const Touch before = static_cast<Touch>(base_ + passed + 1) << kWhen;
    read_lately_.drop(before);
    written_lately_.drop(before);
    if (latest_ < before) lates_.clear(), late_bytes_.clear();
    known_tries_ = 0;
    latest_ = now.now | ((1u << kWhen) - 1);
}

/// Keeps for later that the wave reads these: `bytes` from each place on, or 0: from one place to the next, and so on.
void LocalMemory::keep(std::span<const int32_t> places, uint32_t bytes, const Now& now) {
    if (late_bytes_.size() + places.size() > kMostLate) catch_up();
    lates_.push_back({now.now, static_cast<uint32_t>(places.size()), bytes});
    late_bytes_.insert(late_bytes_.end(), places.begin(), places.end());
}

/// Notes the reads that are kept.
void LocalMemory::catch_up() {
    const int32_t* place = late_bytes_.data();
    for (const Late& late : lates_) {
        const auto bytes = static_cast<int32_t>(late.bytes);
        for (uint32_t i = 0; i < late.count; i += bytes ? 1 : 2, place += bytes ? 1 : 2) {
            const Extent extent{place[0], bytes ? place[0] + bytes : place[1]};
            note(std::span(&extent, 1), Way::load, {0, 0, late.now});
        }
    }
    lates_.clear();
    late_bytes_.clear();
}

bool LocalMemory::pass_loads(const Places& places, int32_t apart, bool near, const Now& now) {
    const std::span firsts(places.firsts, static_cast<size_t>(places.count));
    const auto bytes = static_cast<uint32_t>(places.bytes);
    const int32_t end = places.highest + places.bytes;
    const bool known =
        !near && lies_known(places.lowest, end) && (!apart || lies_known(places.lowest + apart, end + apart));
    const bool in_dwords = places.are_in_dwords() && !(apart % 4);
    const bool by_items = near ? in_dwords && !apart && places.are_scattered()
                               : known || in_dwords || (places.are_dwords() && !(apart % 4));
    if (!places.are_together() && by_items) {
        if (near ? !are_free(places, Way::load, now)
                 : !known && !(are_known(places, 0) && (!apart || are_known(places, apart))))
            return false;
        keep(firsts, bytes, now);
        if (!apart) return true;
        int32_t others[64];
        for (size_t i = 0; i < firsts.size(); ++i) others[i] = firsts[i] + apart;
        keep(std::span(others).first(firsts.size()), bytes, now);
        return true;
    }
    if (known && !apart && places.are_together()) {
        const int32_t one[] = {places.lowest, end};
        keep(one, 0, now);
        return true;
    }
    Extent extents[128];
    const std::span all(extents, static_cast<size_t>(all_extents(places, apart, extents)));
    if (near ? !are_free(all, Way::load, now) : !known && !are_known(all)) return false;
    keep({&extents[0].first, 2 * all.size()}, 0, now);
    return true;
}

/// Those of both items of a lane.
int LocalMemory::all_extents(const Places& places, int32_t apart, Extent* extents) {
    int count = extents_of(places, extents);
    if (apart)
        for (int i = 0, one = count; i < one; ++i)
            extents[count++] = {extents[i].first + apart, extents[i].end + apart};
    return count;
}

/// Items of whole dwords that are stored where nobody else has been lately.
void LocalMemory::note_dwords(const Places& places, const Now& now) {
    for (int i = 0; i < places.count; ++i)
        for (int32_t by = 0; by < places.bytes; by += 4) {
            const auto dword = static_cast<size_t>(places.firsts[i] + by) / 4;
            if (written_[dword] == kSplit) [[unlikely]] {
                note_part(dword, ~0u, Way::store, now);
                continue;
            }
            written_[dword] = now.now;
            known_[dword] = ~0u;
        }
}

/// Stores and atomics.
bool LocalMemory::pass_writes(const Places& places, int32_t apart, Way way, bool near, const Now& now) {
    const bool looks = near || way == Way::atomic;
    if (near && way == Way::store) catch_up();
    if (!looks && !apart && !places.are_together() && places.are_dwords()) {
        note_dwords(places, now);
        return true;
    }
    if (!apart && !places.are_together() && places.are_in_dwords() && places.are_scattered()) {
        if (looks && !are_free(places, way, now)) return false;
        note(places, way, now);
        return true;
    }
    Extent extents[128];
    const std::span all(extents, static_cast<size_t>(all_extents(places, apart, extents)));
    if (looks && !are_free(all, way, now)) return false;
    note(all, way, now);
    return true;
}

bool LocalMemory::pass(Wave& wave, const Op& op) {
    const MemoryFields& fields = op.memory();
    if (copies_.any()) return false;
    if (!fields.bytes) return true;  // lanes exchange what they hold: no byte of the memory is meant
    const int32_t apart = fields.is(kTwoAddresses) ? static_cast<int32_t>(fields.local().offset2 - fields.offset) : 0;
    const Places places(wave, op);
    if (!places.count) return true;
    if (!places.are_within(std::max(0, -apart), static_cast<int32_t>(size_) - std::max(0, apart) - places.bytes))
        return false;
    const Way way = way_of(fields);
    const Now at = now(wave);
    if (at.now > latest_) renew(at);
    const int32_t end = places.highest + places.bytes;
    const auto is_near = [&](const Stretches& others) {
        return others.near(places.lowest, end, at) || (apart && others.near(places.lowest + apart, end + apart, at));
    };
    const bool near = is_near(written_lately_) || (way == Way::store && is_near(read_lately_));
    if (!(way == Way::load ? pass_loads(places, apart, near, at) : pass_writes(places, apart, way, near, at)))
        return false;
    Stretches& own = way == Way::load ? read_lately_ : written_lately_;
    own.add(places.lowest, end, at);
    if (apart) own.add(places.lowest + apart, end + apart, at);
    recent_.add(&op, places, apart, way != Way::load, at.now);
    return true;
}

}  // namespace strata::emu
