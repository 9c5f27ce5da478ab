#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <type_traits>
#include <vector>

#include "strata/core/uop/uop_map.h"

namespace strata::codegen {

/// Where values are computed: the program, and each open loop that may run no iteration. Code after such a loop is
/// reached past it too, and finds none of the values that were computed in it.
class Regions {
  public:
    void open() { open_.push_back(next_++); }
    void close() { open_.pop_back(); }
    uint32_t innermost() const { return open_.back(); }
    bool holds(uint32_t region) const { return std::ranges::binary_search(open_, region); }

  private:
    std::vector<uint32_t> open_{0};  ///< ascending
    uint32_t next_ = 1;
};

/// Values that selection computed and may use again, each as long as the region is open in which it was computed.
template <class Key, class Value>
class Remembered {
  public:
    explicit Remembered(const Regions& regions) : regions_(regions) {}

    /// nullptr: none is valid here.
    const Value* find(const Key& key) const {
        const auto found = all_.find(key);
        return found != all_.end() && regions_.holds(found->second.region) ? &found->second.value : nullptr;
    }
    /// Stays where it is until another one is added for the key.
    const Value& add(const Key& key, Value value) {
        Entry& entry = all_[key];
        entry = {std::move(value), regions_.innermost()};
        return entry.value;
    }

  private:
    struct Entry {
        Value value{};
        uint32_t region = 0;
    };
    const Regions& regions_;
    std::conditional_t<std::is_same_v<Key, UOp>, UOpMap<Entry>, std::map<Key, Entry>> all_;
};

}  // namespace strata::codegen
