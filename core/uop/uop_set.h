#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "strata/core/uop/node.h"

namespace strata {

/// Distinct nodes, in the order in which they were added. Two arrays hold them, by open addressing. A set of many nodes
/// allocates a few times, and is contiguous however scattered the heap is. Nothing is taken out but all.
class UOpSet {
  public:
    using value_type = UOp;
    using const_iterator = std::vector<UOp>::const_iterator;

    UOpSet() = default;
    UOpSet(std::initializer_list<UOp> nodes) : UOpSet(nodes.begin(), nodes.end()) {}
    template <class Iterator>
    UOpSet(Iterator first, Iterator last) {
        insert(first, last);
    }

    size_t size() const { return members_.size(); }
    bool empty() const { return members_.empty(); }
    const_iterator begin() const { return members_.begin(); }
    const_iterator end() const { return members_.end(); }

    bool contains(UOp u) const { return !slots_.empty() && slots_[slot_of(u)] != 0; }

    /// The second: whether it is new.
    std::pair<const_iterator, bool> insert(UOp u) {
        if (2 * (members_.size() + 1) > slots_.size()) rebuild(std::max(kFewestSlots, 2 * slots_.size()));
        uint32_t& slot = slots_[slot_of(u)];
        const bool is_new = slot == 0;
        if (is_new) {
            members_.push_back(u);
            slot = static_cast<uint32_t>(members_.size());
        }
        return {members_.begin() + (slot - 1), is_new};
    }
    template <class Iterator>
    void insert(Iterator first, Iterator last) {
        for (; first != last; ++first) insert(*first);
    }

    void clear() {
        members_.clear();
        slots_.clear();
    }

  private:
    static constexpr size_t kFewestSlots = 16;

    /// Where the node is, or belongs.
    size_t slot_of(UOp u) const {
        const size_t mask = slots_.size() - 1;
        size_t i = UOpHash()(u) & mask;
        while (slots_[i] != 0 && members_[slots_[i] - 1] != u) i = (i + 1) & mask;
        return i;
    }
    void rebuild(size_t slots) {
        slots_.assign(slots, 0);
        for (size_t i = 0; i < members_.size(); ++i) slots_[slot_of(members_[i])] = static_cast<uint32_t>(i + 1);
    }

    std::vector<UOp> members_;
    std::vector<uint32_t> slots_;  ///< one more than a member's place; 0: free
};

}  // namespace strata
