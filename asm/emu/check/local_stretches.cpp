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

/// The bytes at which the items of active lanes begin.
struct LocalMemory::Places {
    Places(Wave& wave, const Op& op) : bytes(op.memory().bytes) {
        const uint32_t* const row = row_at(&wave, op.memory().address);
        const uint32_t offset = op.memory().offset;
        const uint64_t exec = wave.exec();
        const int start = exec ? std::countr_zero(exec) : 0;
        count = std::popcount(exec);
        if (exec >> start == (count == 64 ? ~0ull : (1ull << count) - 1)) {
            for (int i = 0; i < count; ++i) firsts[i] = static_cast<int32_t>(row[start + i] + offset);
        } else {
            int i = 0;
            for (uint64_t left = exec; left; left &= left - 1)
                firsts[i++] = static_cast<int32_t>(row[std::countr_zero(left)] + offset);
        }
        if (count == 32 && repeats()) count = 16;  // rows of a tile
    }
    /// The second sixteen begin where the first do.
    bool repeats() const {
        int32_t differ = 0;
        for (int i = 0; i < 16; ++i) differ |= firsts[i] ^ firsts[i + 16];
        return !differ;
    }
    /// All begin in one place, or each one where the one before ends.
    bool are_together() const {
        uint32_t differ = 0, apart = 0;
        for (uint32_t i = 0; i < static_cast<uint32_t>(count); ++i) {
            differ |= static_cast<uint32_t>(firsts[i] ^ firsts[0]);
            apart |= static_cast<uint32_t>(firsts[i]) ^
                     (static_cast<uint32_t>(firsts[0]) + i * static_cast<uint32_t>(bytes));
        }
        return !differ || !apart;
    }
    bool are_within(int32_t lowest, int32_t highest) const {
        bool within = true;
        for (int i = 0; i < count; ++i) within &= (firsts[i] >= lowest) & (firsts[i] <= highest);
        return within;
    }
    /// Most items have nothing to do with their neighbours.
    bool are_scattered() const {
        int scattered = 0;
        for (int i = 1; i < count; ++i)
            scattered += static_cast<uint32_t>(firsts[i] - firsts[i - 1]) > static_cast<uint32_t>(bytes);
        return 2 * scattered > count;
    }
    /// No item is in several dwords.
    bool are_in_dwords() const {
        bool in_one = bytes <= 4;
        for (int i = 0; i < count; ++i) in_one &= firsts[i] % 4 + bytes <= 4;
        return in_one;
    }
    int stretches(Extent* extents) const;

    int32_t firsts[64], bytes;
    int count = 0;
};

/// The bytes of all items, by what lies one after the other.
int LocalMemory::Places::stretches(Extent* extents) const {
    int made = 0;
    for (int i = 0; i < count; ++i) {
        const int32_t first = firsts[i];
        Extent& last = extents[std::max(made - 1, 0)];
        if (made && first >= last.first && first <= last.end)
            last.end = std::max(last.end, first + bytes);
        else if (!made || first < extents[0].first || first + bytes > extents[0].end)
            extents[made++] = {first, first + bytes};
    }
    return made;
}

/// Whether nobody else has touched it so that it matters.
[[gnu::always_inline]] inline bool LocalMemory::is_free(const Cell& cell, Way way, const Now& now) {
    const Touch harmless = way == Way::store ? 0 : kAtomic;
    const bool with_write =
        (cell.write >= now.since) & ((cell.write & kWaveBits) != now.own) & !(cell.write & harmless);
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
    const auto matters = [&](Touches touches, Touch bits, Touch harmless) {
        return (touches >= now.since) & ((touches & bits) != now.own) & ((touches & harmless) == 0);
    };
    auto wrong = matters(cells.write, kWaveBits, way == Way::store ? 0 : kAtomic);
    if (way == Way::store) wrong |= matters(cells.read, kWaveBits | kSeveral, 0);
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
template <class Part, class Whole>
[[gnu::always_inline]] inline bool LocalMemory::each(Extent extent, Part part, Whole whole) {
    const auto first = static_cast<uint32_t>(extent.first), end = static_cast<uint32_t>(extent.end);
    if (end - first == 4 && first % 4 == 0) return part(first / 4, ~0u);
    if (first / 4 == (end - 1) / 4) return part(first / 4, bits_of_bytes(first % 4, end - first / 4 * 4));
    if (first % 4 && !part(first / 4, bits_of_bytes(first % 4, 4))) return false;
    if (end % 4 && !part(end / 4, bits_of_bytes(0, end % 4))) return false;
    return (first + 3) / 4 == end / 4 || whole((first + 3) / 4, end / 4);
}

/// Items of one byte. False: something is to be said of them.
bool LocalMemory::pass_bytes(const Places& places, Way way, const Now& now) {
    const auto is_split = [&](uint32_t first) { return written_[first / 4] == kSplit; };
    bool free = true;
    for (int i = 0; i < places.count; ++i) {
        const auto first = static_cast<uint32_t>(places.firsts[i]);
        const size_t dword = first / 4;
        const bool known = way == Way::store || known_[dword] >> 8 * (first % 4) & 1;
        const Cell cell = is_split(first) ? Cell{bytes_[dword].write[first % 4], bytes_[dword].read[first % 4]}
                                          : Cell{written_[dword], read_[dword]};
        free &= known & is_free(cell, way, now);
    }
    for (int i = 0; free && i < places.count; ++i) {
        const auto first = static_cast<uint32_t>(places.firsts[i]);
        const size_t dword = first / 4;
        if (!is_split(first)) {
            note_part(dword, 0xffu << 8 * (first % 4), way, now);
            continue;
        }
        Cell cell{bytes_[dword].write[first % 4], bytes_[dword].read[first % 4]};
        note(cell, way, now);
        if (way == Way::load) {
            bytes_[dword].read[first % 4] = cell.read;
        } else {
            bytes_[dword].write[first % 4] = cell.write;
            known_[dword] |= 0xffu << 8 * (first % 4);
        }
    }
    return free;
}

/// Items in one dword each. False: something is to be said of them.
bool LocalMemory::pass_dwords(const Places& places, Way way, const Now& now) {
    if (places.bytes == 1) return pass_bytes(places, way, now);
    const uint32_t item = places.bytes == 4 ? ~0u : (1u << 8 * places.bytes) - 1;
    bool free = true;
    for (int i = 0; i < places.count; ++i) {
        const auto first = static_cast<uint32_t>(places.firsts[i]);
        free &= part_is_free(first / 4, item << 8 * (first % 4), way, now);
    }
    for (int i = 0; free && i < places.count; ++i) {
        const auto first = static_cast<uint32_t>(places.firsts[i]);
        note_part(first / 4, item << 8 * (first % 4), way, now);
    }
    return free;
}

bool LocalMemory::pass_extents(std::span<const Extent> extents, Way way, const Now& now) {
    for (const Extent& extent : extents) {
        const bool free = each(
            extent, [&](size_t dword, uint32_t mask) { return part_is_free(dword, mask, way, now); },
            [&](size_t first, size_t last) { return are_free(first, last, way, now); });
        if (!free) return false;
    }
    for (const Extent& extent : extents)
        each(
            extent, [&](size_t dword, uint32_t mask) { return note_part(dword, mask, way, now), true; },
            [&](size_t first, size_t last) { return note_all(first, last, way, now), true; });
    return true;
}

bool LocalMemory::pass(Wave& wave, const Op& op) {
    const MemoryFields& fields = op.memory();
    const int32_t apart = fields.is(kTwoAddresses) ? static_cast<int32_t>(fields.local().offset2 - fields.offset) : 0;
    const int32_t bytes = fields.bytes, lowest = std::max(0, -apart),
                  highest = static_cast<int32_t>(size_) - std::max(0, apart) - bytes;
    const Places places(wave, op);
    if (!places.count) return true;
    const Way way = way_of(fields);
    const Now at = now(wave);
    Extent extents[128];
    int count = 1;
    if (places.are_together()) {
        const int32_t last = places.firsts[places.count - 1];
        if (places.firsts[0] < lowest || last < places.firsts[0] || last > highest) return false;
        extents[0] = {places.firsts[0], last + bytes};
    } else {
        if (!places.are_within(lowest, highest)) return false;
        if (!apart && places.are_scattered() && places.are_in_dwords()) return pass_dwords(places, way, at);
        count = places.stretches(extents);
    }
    if (apart)
        for (int i = 0, one = count; i < one; ++i)
            extents[count++] = {extents[i].first + apart, extents[i].end + apart};
    return pass_extents({extents, static_cast<size_t>(count)}, way, at);
}

}  // namespace strata::emu
