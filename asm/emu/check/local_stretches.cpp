#include <algorithm>
#include <bit>
#include <cstring>

#include "strata/asm/emu/check/local_memory.h"
#include "strata/asm/emu/check/private_memory.h"

// Accesses to local memory of which nothing is to be said, by stretches of bytes that lanes touch one after the other.
namespace strata::emu {
namespace {

constexpr int kFew = 4;  // stretches
using Dwords = uint32_t __attribute__((vector_size(16)));
constexpr Dwords kBytes = {0xff, 0xff00, 0xff0000, 0xff000000};

/// Bits of the bytes from `first` to `end` of a dword.
uint32_t bits_of_bytes(uint32_t first, uint32_t end) {
    return (end == 4 ? ~0u : (1u << 8 * end) - 1) & (~0u << 8 * first);
}

}  // namespace

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

/// The same of those bytes of a dword that have bits in the mask.
[[gnu::always_inline]] inline bool LocalMemory::are_free(const Cells& cells, uint32_t mask, Way way, const Now& now) {
    const auto matters = [&](Touches touches, Touch bits, Touch harmless) {
        return (touches >= now.since) & ((touches & bits) != now.own) & ((touches & harmless) == 0);
    };
    auto wrong = matters(cells.write, kWaveBits, way == Way::store ? 0 : kAtomic);
    if (way == Way::store) wrong |= matters(cells.read, kWaveBits | kSeveral, 0);
    uint64_t halves[2];
    const Touches in_mask = reinterpret_cast<Touches>(wrong) & (kBytes & mask);
    memcpy(halves, &in_mask, sizeof halves);
    return !(halves[0] | halves[1]);
}

[[gnu::always_inline]] inline void LocalMemory::note(Cells& cells, uint32_t mask, Way way, const Now& now) {
    const auto in_mask = reinterpret_cast<Touches>((kBytes & mask) != 0);
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
    note(written_[dword] == kSplit ? bytes_[dword] : split(dword), mask, way, now);
}

bool LocalMemory::are_free(size_t first, size_t end, Way way, const Now& now) const {
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

/// Whole dwords in many places. False: something is to be said of them, perhaps.
bool LocalMemory::pass_dwords(std::span<const Extent> extents, Way way, const Now& now) {
    const auto each_dword = [&](auto visit) {
        for (const Extent& extent : extents)
            for (auto i = static_cast<size_t>(extent.first) / 4; i < static_cast<size_t>(extent.end) / 4; ++i) visit(i);
    };
    uint32_t wrong = 0;
    if (way == Way::store)
        each_dword([&](size_t i) { wrong |= !is_free({written_[i], read_[i]}, Way::store, now); });
    else
        each_dword([&](size_t i) { wrong |= uint32_t{!is_free({written_[i], 0}, Way::load, now)} | ~known_[i]; });
    if (wrong) return false;
    Cell cell;
    if (way == Way::load) {
        each_dword([&](size_t i) {
            cell.read = read_[i];
            note(cell, Way::load, now);
            read_[i] = cell.read;
        });
        return true;
    }
    note(cell, way, now);
    each_dword([&](size_t i) {
        written_[i] = cell.write;
        known_[i] = ~0u;
    });
    return true;
}

bool LocalMemory::pass(const Wave& wave, const Op& op, const LaneAddresses& lanes) {
    const MemoryFields& fields = op.memory();
    if (fields.space == Space::flat) {
        bool local = false;
        for (uint64_t left = lanes.active; left; left &= left - 1)
            local |= lanes.addresses[std::countr_zero(left)] >> 32 == kSharedAperture;
        return !local;
    }
    const int32_t apart = fields.is(kTwoAddresses) ? static_cast<int32_t>(fields.local().offset2 - fields.offset) : 0;
    const int32_t bytes = fields.bytes, lowest = std::max(0, -apart),
                  end = static_cast<int32_t>(size_) - std::max(0, apart);
    Extent extents[128];
    int count = 0;
    int32_t places = bytes | apart;
    for (uint64_t left = lanes.active; left; left &= left - 1) {
        const auto first = static_cast<int32_t>(lanes.addresses[std::countr_zero(left)]);
        if (first < lowest || first > end - bytes) return false;
        places |= first;
        Extent& last = extents[std::max(count - 1, 0)];
        if (count && first >= last.first && first <= last.end)
            last.end = std::max(last.end, first + bytes);
        else if (!count || first < extents[0].first || first + bytes > extents[0].end)
            extents[count++] = {first, first + bytes};
    }
    if (apart)
        for (int i = 0, one = count; i < one; ++i)
            extents[count++] = {extents[i].first + apart, extents[i].end + apart};
    const Way way = way_of(fields);
    const Now at = now(wave);
    const std::span<const Extent> all(extents, static_cast<size_t>(count));
    if (count > kFew && places % 4 == 0 && pass_dwords(all, way, at)) return true;
    for (int i = 0; i < count; ++i) {
        const bool free = each(
            extents[i], [&](size_t dword, uint32_t mask) { return part_is_free(dword, mask, way, at); },
            [&](size_t first, size_t last) { return are_free(first, last, way, at); });
        if (!free) return false;
    }
    for (int i = 0; i < count; ++i)
        each(
            extents[i], [&](size_t dword, uint32_t mask) { return note_part(dword, mask, way, at), true; },
            [&](size_t first, size_t last) { return note_all(first, last, way, at), true; });
    return true;
}

}  // namespace strata::emu
