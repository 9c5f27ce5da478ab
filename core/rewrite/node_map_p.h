#pragma once
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata {

/// UOp -> UOp with open addressing: one array, no allocation an entry. An entry may hold an empty value.
class NodeMap {
  public:
    NodeMap() : slots_(64) {}

    /// The value's place, or null where the key is absent; valid until the next insertion.
    UOp* find(UOp key) {
        for (size_t i = start(key);; i = next(i)) {
            if (slots_[i].key == key) return &slots_[i].value;
            if (!slots_[i].key) return nullptr;
        }
    }
    void set(UOp key, UOp value) {
        if (2 * (used_ + 1) > slots_.size()) grow();
        put(key, value);
    }
    size_t size() const { return used_; }

  private:
    struct Slot {
        UOp key, value;
    };
    size_t start(UOp key) const { return UOpHash{}(key) & (slots_.size() - 1); }
    size_t next(size_t i) const { return (i + 1) & (slots_.size() - 1); }
    void put(UOp key, UOp value) {
        size_t i = start(key);
        while (slots_[i].key && slots_[i].key != key) i = next(i);
        used_ += !slots_[i].key;
        slots_[i] = {key, value};
    }
    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        used_ = 0;
        for (const Slot& s : old)
            if (s.key) put(s.key, s.value);
    }
    std::vector<Slot> slots_;
    size_t used_ = 0;
};

}  // namespace strata
