#pragma once
#include <cstdint>

#include "strata/core/uop/uop_map.h"

namespace strata {

/// Source locations: a number for each node, kept beside the graph. A location is no part of a node, and no cache key
/// has it: equal nodes are one, and the first location counts. While an object lives, nodes that its thread makes get a
/// number: that of the node they replace (with_src), else the current one.
class Places {
  public:
    Places() : outer_(active_) { active_ = this; }
    virtual ~Places() { active_ = outer_; }
    Places(const Places&) = delete;

    /// This thread's; null where none lives.
    static Places* active() { return active_; }

    uint32_t of(UOp u) const;  ///< 0: none
    void set(UOp u, uint32_t number) { numbers_.try_emplace(u, number); }
    /// A node was made, by itself or as a replacement.
    void note(UOp made);
    void note(UOp made, UOp replaced);

  protected:
    /// The number that a new node gets.
    virtual uint32_t here() { return current_; }

  private:
    friend class AtPlaceOf;
    static thread_local constinit Places* active_;
    Places* outer_;
    UOpMap<uint32_t> numbers_;
    uint32_t current_ = 0;
};

/// While it lives, nodes that the thread makes come from where `u` does.
class AtPlaceOf {
  public:
    explicit AtPlaceOf(UOp u) : places_(Places::active()) {
        if (places_) enter(u);
    }
    ~AtPlaceOf() {
        if (places_) places_->current_ = outer_;
    }
    AtPlaceOf(const AtPlaceOf&) = delete;

  private:
    void enter(UOp u);
    Places* places_;
    uint32_t outer_ = 0;
};

/// Numbers for the nodes of a kernel: its lines in tree(), from 1 on.
void number_by_tree(Places& places, UOp sink);

}  // namespace strata
