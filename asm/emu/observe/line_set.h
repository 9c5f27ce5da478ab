#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::emu {

/// Lines of memory, by number: open addressing in one array, sixty-four that lie side by side in a slot. A slot keeps
/// when the lines of this round were used, and when those of the round before. A line that comes again begins a round.
class LineSet {
  public:
    /// When about the line was used last, or a negative number: it was not there. It is used now.
    double insert(uint64_t line, double now) {
        Slot& slot = slots_[place_of(line / 64)];
        const uint64_t bit = uint64_t{1} << line % 64;
        if (slot.lines & bit) return slot.use(bit, now);
        const bool free = slot.lines == 0;
        slot.lines |= bit;
        slot.round |= bit;
        slot.used = now;
        if (!free) return -1;
        slot.number = line / 64;
        if (2 * ++size_ > slots_.size()) grow();
        return -1;
    }
    /// The same of a line that stays out where it was not there.
    double use(uint64_t line, double now) {
        Slot& slot = slots_[place_of(line / 64)];
        const uint64_t bit = uint64_t{1} << line % 64;
        return slot.lines & bit ? slot.use(bit, now) : -1;
    }

  private:
    struct Slot {
        uint64_t number = 0, lines = 0, round = 0;  ///< lines: a bit each; none: the slot is free
        double used = 0, before = 0;                ///< in this round, in the one before
        double use(uint64_t bit, double now) {
            const bool again = round & bit;
            const double last = again ? used : before;
            if (again) before = used;
            round = again ? bit : round | bit;
            used = now;
            return last;
        }
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
