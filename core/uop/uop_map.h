#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "strata/core/uop/node.h"

namespace strata {

/// Values by node, in the order in which they were added. Entries stand in blocks, found by open addressing: adding one
/// asks for no memory of its own, and what was added stays where it is. Nothing is taken out but all.
template <class T>
class UOpMap {
    struct Entry;
    template <bool is_const>
    class Iterator;

  public:
    using value_type = std::pair<const UOp, T>;
    using iterator = Iterator<false>;
    using const_iterator = Iterator<true>;

    UOpMap() = default;
    UOpMap(std::initializer_list<std::pair<UOp, T>> entries) {
        for (const auto& [key, value] : entries) try_emplace(key, value);
    }
    UOpMap(const UOpMap& other) {
        for (const auto& [key, value] : other) try_emplace(key, value);
    }
    UOpMap(UOpMap&& other) noexcept { swap(other); }
    UOpMap& operator=(UOpMap other) noexcept {
        swap(other);
        return *this;
    }
    ~UOpMap() { clear(); }

    /// Makes room for `count` entries at once.
    void reserve(size_t count) {
        if (2 * (count + 1) > slots_.size()) rebuild(std::bit_ceil(2 * (count + 1)));
    }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    iterator begin() { return iterator(first_); }
    iterator end() { return iterator(nullptr); }
    const_iterator begin() const { return const_iterator(first_); }
    const_iterator end() const { return const_iterator(nullptr); }

    iterator find(UOp key) { return iterator(look_up(key)); }
    const_iterator find(UOp key) const { return const_iterator(look_up(key)); }
    bool contains(UOp key) const { return look_up(key) != nullptr; }
    T& at(UOp key) { return entry_at(key).value.second; }
    const T& at(UOp key) const { return entry_at(key).value.second; }
    T& operator[](UOp key) { return try_emplace(key).first->second; }

    /// As of std::map: what is there already stays as it is.
    template <class... Args>
    std::pair<iterator, bool> try_emplace(UOp key, Args&&... args) {
        if (Entry* const found = look_up(key)) return {iterator(found), false};
        if (2 * (size_ + 1) > slots_.size()) rebuild(std::max(kFewestSlots, 2 * slots_.size()));
        if (left_ == 0) add_block();
        auto* const added = new (free_) Entry{
            {std::piecewise_construct, std::forward_as_tuple(key), std::forward_as_tuple(std::forward<Args>(args)...)}};
        ++free_;
        --left_;
        put(added);
        (last_ ? last_->next : first_) = added;
        last_ = added;
        ++size_;
        return {iterator(added), true};
    }
    template <class Value>
    std::pair<iterator, bool> emplace(UOp key, Value&& value) {
        return try_emplace(key, std::forward<Value>(value));
    }

    void clear() {
        for (Entry* e = first_; e;) std::destroy_at(std::exchange(e, e->next));
        slots_.clear();
        blocks_.clear();
        first_ = last_ = free_ = nullptr;
        size_ = left_ = 0;
    }

    void swap(UOpMap& other) noexcept {
        slots_.swap(other.slots_);
        blocks_.swap(other.blocks_);
        std::swap(first_, other.first_);
        std::swap(last_, other.last_);
        std::swap(free_, other.free_);
        std::swap(size_, other.size_);
        std::swap(left_, other.left_);
    }

  private:
    struct Entry {
        value_type value;
        Entry* next = nullptr;
    };
    struct Slot {
        UOp key;
        Entry* entry = nullptr;
    };
    static_assert(alignof(value_type) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    struct FreeBlock {
        void operator()(Entry* block) const { operator delete(block); }
    };

    template <bool is_const>
    class Iterator {
      public:
        using iterator_category = std::forward_iterator_tag;
        using difference_type = std::ptrdiff_t;
        using value_type = UOpMap::value_type;
        using reference = std::conditional_t<is_const, const value_type&, value_type&>;
        using pointer = std::conditional_t<is_const, const value_type*, value_type*>;

        Iterator() = default;
        explicit Iterator(Entry* entry) : entry_(entry) {}
        operator Iterator<true>() const { return Iterator<true>(entry_); }  // NOLINT(google-explicit-constructor)

        reference operator*() const { return entry_->value; }
        pointer operator->() const { return &entry_->value; }
        Iterator& operator++() {
            entry_ = entry_->next;
            return *this;
        }
        Iterator operator++(int) { return Iterator(std::exchange(entry_, entry_->next)); }
        bool operator==(const Iterator&) const = default;

      private:
        Entry* entry_ = nullptr;
    };

    static constexpr size_t kFewestSlots = 16, kMostInBlock = 256;

    size_t start(UOp key) const { return UOpHash()(key) & (slots_.size() - 1); }
    size_t next(size_t i) const { return (i + 1) & (slots_.size() - 1); }
    Entry* look_up(UOp key) const {
        if (slots_.empty()) return nullptr;
        for (size_t i = start(key); slots_[i].entry; i = next(i))
            if (slots_[i].key == key) return slots_[i].entry;
        return nullptr;
    }
    Entry& entry_at(UOp key) const {
        Entry* const found = look_up(key);
        STRATA_CHECK(found, "a map of nodes has no {}", key ? to_string(key) : "empty one");
        return *found;
    }
    void put(Entry* entry) {
        size_t i = start(entry->value.first);
        while (slots_[i].entry) i = next(i);
        slots_[i] = {entry->value.first, entry};
    }
    void rebuild(size_t slots) {
        slots_.assign(slots, {});
        for (Entry* e = first_; e; e = e->next) put(e);
    }
    void add_block() {
        const size_t entries = std::min(std::max(size_, kFewestSlots / 2), kMostInBlock);
        blocks_.emplace_back(static_cast<Entry*>(operator new(entries * sizeof(Entry))));
        free_ = blocks_.back().get();
        left_ = entries;
    }

    std::vector<Slot> slots_;
    std::vector<std::unique_ptr<Entry, FreeBlock>> blocks_;
    Entry *first_ = nullptr, *last_ = nullptr, *free_ = nullptr;
    size_t size_ = 0, left_ = 0;  ///< left: places from free_ on
};

}  // namespace strata
