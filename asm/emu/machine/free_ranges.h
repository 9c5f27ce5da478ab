#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace strata::emu {

/// Free ranges of reserved host addresses. Neighbours are one range; a request is cut from the smallest range that it
/// fits. Knows how many bytes of them may still have pages of the host, and gives such pages back.
class FreeRanges {
  public:
    /// Where a block goes: `bytes` from `front` bytes before an address that is a multiple of `align`.
    struct Request {
        size_t bytes = 0, front = 0, align = 1;
        uint64_t base_in(uint64_t low) const { return (low + front + align - 1) / align * align - front; }
    };

    /// The base of a block, no longer free; none when no range is large enough.
    std::optional<uint64_t> take(const Request& request);
    /// `used`: at most so many of the bytes were ever touched.
    void add(uint64_t base, size_t bytes, size_t used);
    /// Removes the range that ends at `end`; gives its base and what add() was told of it, else {end, 0}.
    std::pair<uint64_t, size_t> take_last(uint64_t end);

    /// Bytes that may have pages, in ranges that are large enough to give theirs back.
    size_t kept() const { return kept_; }
    /// Gives pages back until at most `keep` bytes are kept.
    void trim(size_t keep);

  private:
    struct Range {
        size_t bytes = 0, used = 0;
    };
    using Place = std::map<uint64_t, Range>::iterator;
    void insert(uint64_t base, Range range);
    Range extract(Place at);

    std::map<uint64_t, Range> by_base_;
    std::set<std::pair<size_t, uint64_t>> by_size_;
    size_t kept_ = 0;
};

}  // namespace strata::emu
