#include "strata/asm/emu/machine/free_ranges.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace strata::emu {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kWorthGiving = 16 * kPage;  // a smaller stretch keeps its pages
constexpr int kTries = 16;                   // ranges that are looked at although alignment may make them too small

}  // namespace

void FreeRanges::insert(uint64_t base, size_t bytes) {
    if (bytes == 0) return;
    by_base_.emplace(base, bytes);
    by_size_.emplace(bytes, base);
}

size_t FreeRanges::extract(std::map<uint64_t, size_t>::iterator at) {
    const size_t bytes = at->second;
    by_size_.erase({bytes, at->first});
    by_base_.erase(at);
    return bytes;
}

void FreeRanges::insert_pages(uint64_t base, uint64_t end) {
    if (base >= end) return;
    pages_.emplace(base, end);
    if (end - base < kWorthGiving) return;
    by_pages_.emplace(end - base, base);
    kept_ += end - base;
}

std::pair<uint64_t, uint64_t> FreeRanges::extract_pages(std::map<uint64_t, uint64_t>::iterator at) {
    const std::pair<uint64_t, uint64_t> stretch = *at;
    pages_.erase(at);
    if (by_pages_.erase({stretch.second - stretch.first, stretch.first})) kept_ -= stretch.second - stretch.first;
    return stretch;
}

/// One stretch with those that it touches.
void FreeRanges::touch(uint64_t base, uint64_t end) {
    if (base >= end) return;
    auto at = pages_.upper_bound(base);
    if (at != pages_.begin() && std::prev(at)->second >= base) --at;
    while (at != pages_.end() && at->first <= end) {
        const auto next = std::next(at);
        const auto [low, high] = extract_pages(at);
        base = std::min(base, low), end = std::max(end, high);
        at = next;
    }
    insert_pages(base, end);
}

void FreeRanges::use(uint64_t base, size_t bytes) {
    const uint64_t end = base + bytes;
    auto at = pages_.upper_bound(base);
    if (at != pages_.begin() && std::prev(at)->second > base) --at;
    while (at != pages_.end() && at->first < end) {
        const auto next = std::next(at);
        const auto [low, high] = extract_pages(at);
        insert_pages(low, std::min(base, high));
        insert_pages(std::max(end, low), high);
        at = next;
    }
}

std::optional<uint64_t> FreeRanges::take(const Request& request) {
    auto fits = [&](const std::pair<size_t, uint64_t>& range) {
        return request.base_in(range.second) + request.bytes <= range.second + range.first;
    };
    auto at = by_size_.lower_bound({request.bytes, 0});
    for (int i = 0; i < kTries && at != by_size_.end() && !fits(*at); ++i) ++at;
    if (at != by_size_.end() && !fits(*at)) at = by_size_.lower_bound({request.bytes + request.align, 0});
    if (at == by_size_.end()) return std::nullopt;
    const uint64_t low = at->second, base = request.base_in(low), end = base + request.bytes;
    const size_t bytes = extract(by_base_.find(low));
    insert(low, base - low);
    insert(end, low + bytes - end);
    use(base, request.bytes);
    return base;
}

void FreeRanges::add(uint64_t base, size_t bytes, size_t used) {
    touch(base, base + std::min(used, bytes));
    auto after = by_base_.lower_bound(base);
    if (after != by_base_.end() && after->first == base + bytes) {
        const auto next = after++;
        bytes += extract(next);
    }
    if (after != by_base_.begin()) {
        const auto before = std::prev(after);
        if (before->first + before->second == base) {
            base = before->first;
            bytes += extract(before);
        }
    }
    insert(base, bytes);
}

uint64_t FreeRanges::take_last(uint64_t end) {
    if (by_base_.empty()) return end;
    const auto last = std::prev(by_base_.end());
    const uint64_t base = last->first;
    if (base + last->second != end) return end;
    extract(last);
    return base;
}

void FreeRanges::trim(size_t keep) {
    while (kept_ > keep) {
        const auto [base, end] = extract_pages(pages_.find(std::prev(by_pages_.end())->second));
        // Blocks are cut from the low end, so the pages of the high end go: whole ones, whose ends may be of other
        // stretches.
        const size_t excess = kept_ + (end - base) - keep;
        const uint64_t left = end - base > excess ? (end - excess) / kPage * kPage : base;
        const uint64_t first = (std::max(left, base) + kPage - 1) / kPage * kPage, last = end / kPage * kPage;
        if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
        if (first < last) walked_ += last - first;
        insert_pages(base, std::max(left, base));
    }
}

}  // namespace strata::emu
