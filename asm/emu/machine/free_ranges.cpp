#include "strata/asm/emu/machine/free_ranges.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace strata::emu {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kWorthGiving = 16 * kPage;  // a smaller range keeps its pages
constexpr int kTries = 16;                   // ranges that are looked at although alignment may make them too small

size_t kept_of(size_t bytes, size_t used) { return bytes < kWorthGiving ? 0 : used; }

}  // namespace

void FreeRanges::insert(uint64_t base, Range range) {
    if (range.bytes == 0) return;
    range.used = std::min(range.used, range.bytes);
    by_base_.emplace(base, range);
    by_size_.emplace(range.bytes, base);
    kept_ += kept_of(range.bytes, range.used);
}

FreeRanges::Range FreeRanges::extract(Place at) {
    const Range range = at->second;
    by_size_.erase({range.bytes, at->first});
    by_base_.erase(at);
    kept_ -= kept_of(range.bytes, range.used);
    return range;
}

std::optional<uint64_t> FreeRanges::take(const Request& request) {
    auto fits = [&](const std::pair<size_t, uint64_t>& range) {
        return request.base_in(range.second) + request.bytes <= range.second + range.first;
    };
    auto at = by_size_.lower_bound({request.bytes, 0});
    for (int i = 0; i < kTries && at != by_size_.end() && !fits(*at); ++i) ++at;
    if (at != by_size_.end() && !fits(*at)) at = by_size_.lower_bound({request.bytes + request.align, 0});
    if (at == by_size_.end()) return std::nullopt;
    const uint64_t low = at->second, base = request.base_in(low);
    const Range range = extract(by_base_.find(low));
    const uint64_t end = base + request.bytes;
    insert(low, {base - low, range.used});
    insert(end, {low + range.bytes - end, range.used});
    return base;
}

void FreeRanges::add(uint64_t base, size_t bytes, size_t used) {
    Range range{bytes, used};
    auto after = by_base_.lower_bound(base);
    if (after != by_base_.end() && after->first == base + bytes) {
        const auto next = after++;
        const Range joined = extract(next);
        range.bytes += joined.bytes, range.used += joined.used;
    }
    if (after != by_base_.begin()) {
        const auto before = std::prev(after);
        if (before->first + before->second.bytes == base) {
            base = before->first;
            const Range joined = extract(before);
            range.bytes += joined.bytes, range.used += joined.used;
        }
    }
    insert(base, range);
}

std::pair<uint64_t, size_t> FreeRanges::take_last(uint64_t end) {
    if (by_base_.empty()) return {end, 0};
    const auto last = std::prev(by_base_.end());
    const uint64_t base = last->first;
    if (base + last->second.bytes != end) return {end, 0};
    return {base, extract(last).used};
}

void FreeRanges::trim(size_t keep) {
    while (kept_ > keep) {
        auto fullest = by_base_.begin();
        for (auto at = by_base_.begin(); at != by_base_.end(); ++at)
            if (kept_of(at->second.bytes, at->second.used) > kept_of(fullest->second.bytes, fullest->second.used))
                fullest = at;
        const size_t excess = kept_ - keep;
        const uint64_t base = fullest->first;
        Range range = extract(fullest);
        // Blocks are cut from the low end, so the pages of the high end go.
        const uint64_t left = range.used > excess ? (base + range.used - excess) / kPage * kPage : 0;
        const uint64_t first = std::max(left, (base + kPage - 1) / kPage * kPage);
        madvise(reinterpret_cast<void*>(first), (base + range.bytes) / kPage * kPage - first, MADV_DONTNEED);
        range.used = left > base ? left - base : 0;
        insert(base, range);
    }
}

}  // namespace strata::emu
