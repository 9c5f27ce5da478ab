#pragma once
#include <bit>
#include <vector>

#include "strata/core/uop/node.h"

namespace strata {

/// Where a node stands, or would, among the slots of open addressing. There are a power of two of them, each with a
/// `node` where it is taken.
template <class Slot, class Taken>
size_t place_among(const std::vector<Slot>& slots, UOp u, Taken is_taken) {
    const size_t last = slots.size() - 1;
    size_t at = UOpHash{}(u)&last;
    while (is_taken(slots[at]) && slots[at].node != u) at = (at + 1) & last;
    return at;
}

/// Nodes by the order in which they were added, so that what is known of each can be a row of a vector. Open addressing
/// in one array: no allocation a node.
class NodeNumbers {
  public:
    static constexpr uint32_t kNone = UINT32_MAX;
    explicit NodeNumbers(size_t expected = 32) : slots_(std::bit_ceil(2 * expected + 2)) {}

    /// kNone where it was not added.
    uint32_t find(UOp u) const {
        const Slot& slot = slots_[place_of(u)];
        return slot.node ? slot.number : kNone;
    }
    /// Its number: the next one, where it has none.
    uint32_t add(UOp u) {
        size_t at = place_of(u);
        if (slots_[at].node) return slots_[at].number;
        if (2 * (size_ + 1) > slots_.size()) {
            grow();
            at = place_of(u);
        }
        slots_[at] = {u, size_};
        return size_++;
    }
    uint32_t size() const { return size_; }

  private:
    struct Slot {
        UOp node;
        uint32_t number = 0;
    };
    size_t place_of(UOp u) const {
        return place_among(slots_, u, [](const Slot& slot) { return bool(slot.node); });
    }
    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.node) slots_[place_of(slot.node)] = slot;
    }

    std::vector<Slot> slots_;
    uint32_t size_ = 0;
};

}  // namespace strata
