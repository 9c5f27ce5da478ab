#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::emu {

/// Lines of memory, by number: open addressing in one array.
class LineSet {
  public:
    /// Whether it was not there.
    bool insert(uint64_t line) {
        uint64_t& slot = slots_[place_of(line)];
        if (slot == line) return false;
        slot = line;
        if (2 * ++size_ > slots_.size()) grow();
        return true;
    }

  private:
    static constexpr uint64_t kNone = ~uint64_t{0};

    /// Where the line stands, or would.
    size_t place_of(uint64_t line) const {
        const size_t last = slots_.size() - 1;
        size_t at = static_cast<size_t>(line * 0x9e3779b97f4a7c15ull >> 32) & last;
        while (slots_[at] != line && slots_[at] != kNone) at = (at + 1) & last;
        return at;
    }
    void grow() {
        std::vector<uint64_t> old(2 * slots_.size(), kNone);
        old.swap(slots_);
        for (const uint64_t line : old)
            if (line != kNone) slots_[place_of(line)] = line;
    }

    std::vector<uint64_t> slots_ = std::vector<uint64_t>(256, kNone);
    size_t size_ = 0;
};

}  // namespace strata::emu
