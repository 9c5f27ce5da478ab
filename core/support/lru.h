#pragma once
#include <cstddef>
#include <functional>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

namespace strata {

/// Values by key that take at most a budget of bytes: the one unused for longest goes first. Not thread-safe.
template <class Key, class Value, class Hash = std::hash<Key>>
class Lru {
  public:
    /// The value, which is the last to go from now on; nullptr: there is none. Valid until the next put.
    Value* find(const Key& key) {
        auto found = places_.find(key);
        if (found == places_.end()) return nullptr;
        entries_.splice(entries_.begin(), entries_, found->second);
        return &found->second->value;
    }

    /// Keeps a value of about `bytes` bytes, in place of another of the same key; it stays even when it alone is over
    /// the budget. Gives what had to go: for the caller to drop once its locks are free.
    [[nodiscard]] std::vector<Value> put(Key key, Value value, size_t bytes, size_t budget) {
        std::vector<Value> gone;
        if (auto found = places_.find(key); found != places_.end()) gone.push_back(take(found->second));
        bytes_ += bytes;
        while (bytes_ > budget && !entries_.empty()) {
            gone.push_back(take(std::prev(entries_.end())));
            ++evictions_;
        }
        entries_.push_front({key, std::move(value), bytes});
        places_.emplace(std::move(key), entries_.begin());
        return gone;
    }

    size_t size() const { return entries_.size(); }
    size_t bytes() const { return bytes_; }
    size_t evictions() const { return evictions_; }

  private:
    struct Entry {
        Key key;
        Value value;
        size_t bytes;
    };
    using Place = typename std::list<Entry>::iterator;

    Value take(Place at) {
        Value value = std::move(at->value);
        bytes_ -= at->bytes;
        places_.erase(at->key);
        entries_.erase(at);
        return value;
    }

    std::list<Entry> entries_;  ///< the last used first
    std::unordered_map<Key, Place, Hash> places_;
    size_t bytes_ = 0, evictions_ = 0;
};

}  // namespace strata
