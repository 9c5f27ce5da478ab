#pragma once
#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "strata/core/uop/node.h"

namespace strata {

/// Nodes by content: open addressing in one array, hashes beside the nodes, so that a look-up reads no node but the one
/// it finds.
class NodeSet {
  public:
    NodeSet() : NodeSet(kFewest) {}
    explicit NodeSet(size_t slots) : slots_(slots) {}

    /// The node of that hash for which `is_it`, or nullptr.
    template <class F>
    const Node* find(uint64_t hash, F is_it) const {
        for (size_t i = start(hash); slots_[i].node; i = next(i))
            if (slots_[i].hash == hash && is_it(slots_[i].node)) return slots_[i].node;
        return nullptr;
    }
    /// One that is not in it. Throws std::bad_alloc before anything changes.
    void insert(const Node* node) {
        if (2 * (size_ + 1) > slots_.size()) rebuild(2 * slots_.size());
        put(node);
    }
    void erase(const Node* node) {
        size_t hole = start(node->hash);
        while (slots_[hole].node != node) hole = next(hole);
        for (size_t i = next(hole); slots_[i].node; i = next(i)) {
            const size_t wanted = start(slots_[i].hash), last = slots_.size() - 1;
            if (((i - wanted) & last) < ((i - hole) & last)) continue;  // it would stand before its start
            slots_[hole] = slots_[i];
            hole = i;
        }
        slots_[hole] = {};
        --size_;
        if (slots_.size() <= kFewest || slots_.size() <= kMostRoom * (size_ + 1)) return;
        try {
            rebuild(slots_.size() / 8);
        } catch (const std::bad_alloc&) {  // there is room enough
        }
    }
    /// Takes all out. Room stays for what comes next, but for far more than there were.
    void clear() {
        size_t wanted = slots_.size();
        while (wanted > kMostCleared && wanted > kMostRoom * (size_ + 1)) wanted /= 2;
        if (wanted < slots_.size())
            slots_ = std::vector<Slot>(wanted);
        else
            std::ranges::fill(slots_, Slot{});
        size_ = 0;
    }
    size_t size() const { return size_; }

  private:
    static constexpr size_t kFewest = 8;
    static constexpr size_t kMostRoom = 32, kMostCleared = 1 << 13;  // slots a node; that are cleared in any case
    struct Slot {
        uint64_t hash = 0;
        const Node* node = nullptr;
    };
    /// Low bits of a hash may be alike in a set: they say in which of several sets the node is.
    size_t start(uint64_t hash) const { return (hash >> 8) & (slots_.size() - 1); }
    size_t next(size_t i) const { return (i + 1) & (slots_.size() - 1); }
    void put(const Node* node) {
        size_t i = start(node->hash);
        while (slots_[i].node) i = next(i);
        slots_[i] = {node->hash, node};
        ++size_;
    }
    void rebuild(size_t slots) {
        std::vector<Slot> old(slots);
        old.swap(slots_);
        size_ = 0;
        for (const Slot& slot : old)
            if (slot.node) put(slot.node);
    }

    std::vector<Slot> slots_;
    size_t size_ = 0;
};

}  // namespace strata
