#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace strata::emu {

/// Free ranges of reserved host addresses. Neighbours are one range; a request is cut from the smallest range that it
/// fits. Knows which of their addresses may still have pages of the host, and gives such pages back. A call takes
/// time logarithmic in the number of ranges. A page is given back once for each add() that named it.
class FreeRanges {
  public:
    /// Where a block goes: `bytes` from `front` bytes before an address that is a multiple of `align`.
    struct Request {
        size_t bytes = 0, front = 0, align = 1;
        uint64_t base_in(uint64_t low) const { return (low + front + align - 1) / align * align - front; }
    };

    /// The base of a block, no longer free; none when no range is large enough.
    std::optional<uint64_t> take(const Request& request);
    /// `used`: only bytes before it were ever touched.
    void add(uint64_t base, size_t bytes, size_t used);
    /// Removes the range that ends at `end`; its base, else `end`. Who has a part of it says so by use() or add().
    uint64_t take_last(uint64_t end);
    /// Addresses that are not free any more: their pages are somebody else's.
    void use(uint64_t base, size_t bytes);

    /// Bytes that may have pages, in stretches that are large enough to give theirs back.
    size_t kept() const { return kept_; }
    /// Gives pages back until at most `keep` bytes are kept.
    void trim(size_t keep);
    /// Bytes of addresses that the host was asked to take pages from, over all calls: it walks them.
    uint64_t walked() const { return walked_; }

  private:
    using BySize = std::set<std::pair<size_t, uint64_t>>;
    void insert(uint64_t base, size_t bytes);
    size_t extract(std::map<uint64_t, size_t>::iterator at);
    void insert_pages(uint64_t base, uint64_t end);
    std::pair<uint64_t, uint64_t> extract_pages(std::map<uint64_t, uint64_t>::iterator at);
    void touch(uint64_t base, uint64_t end);

    std::map<uint64_t, size_t> by_base_;
    BySize by_size_;
    std::map<uint64_t, uint64_t> pages_;  ///< stretches that may have pages, to their ends; none touches another
    BySize by_pages_;                     ///< of those the large ones
    size_t kept_ = 0;
    uint64_t walked_ = 0;
};

}  // namespace strata::emu
