#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::emu {

/// Lines of memory, by number: open addressing in one array, sixty-four that lie side by side in a slot.
class LineSet {
  public:
    /// Whether it was not there.
    bool insert(uint64_t line) {
        Slot& slot = slots_[place_of(line / 64)];
        const uint64_t bit = uint64_t{1} << line % 64, before = slot.lines;
        slot.lines |= bit;
        if (before) return !(before & bit);
        slot.number = line / 64;
        if (2 * ++size_ > slots_.size()) grow();
        return true;
    }
    bool holds(uint64_t line) const { return slots_[place_of(line / 64)].lines >> line % 64 & 1; }

  private:
    struct Slot {
        uint64_t number = 0, lines = 0;  ///< lines: a bit each; none: the slot is free
    };

    /// Where lines of this number stand, or would.
    size_t place_of(uint64_t number) const {
        const size_t last = slots_.size() - 1;
        size_t at = static_cast<size_t>(number * 0x9e3779b97f4a7c15ull >> 32) & last;
        while (slots_[at].number != number && slots_[at].lines) at = (at + 1) & last;
        return at;
    }
    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.lines) slots_[place_of(slot.number)] = slot;
    }

    std::vector<Slot> slots_ = std::vector<Slot>(128);
    size_t size_ = 0;
};

}  // namespace strata::emu
