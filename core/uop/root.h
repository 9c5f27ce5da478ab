#pragma once
#include "strata/core/uop/node.h"

namespace strata {

// How long nodes live.

/// Keeps a node and all it reaches alive; counted.
class Root {
  public:
    Root() = default;
    explicit Root(UOp u) : uop_(u) { retain(); }
    Root(const Root& other) : uop_(other.uop_) { retain(); }
    Root(Root&& other) noexcept : uop_(std::exchange(other.uop_, UOp())) {}
    Root& operator=(Root other) noexcept {
        std::swap(uop_, other.uop_);
        return *this;
    }
    ~Root() {
        if (uop_) let_go();
    }
    UOp get() const { return uop_; }

  private:
    void let_go();
    void retain() {
        if (!uop_) return;
        STRATA_CHECK(!uop_.node()->of_scratch, "{} is its thread's own and goes with its scope", to_string(uop_));
        uop_.node()->rooted.fetch_add(Node::root, std::memory_order_relaxed);
    }
    UOp uop_;
};

/// Held by every thread while it builds or uses unrooted nodes; sweep waits for none: it does nothing while one is
/// held. When a thread's last one ends, nodes are collected if many were made since they were the last time.
class GraphScope {
  public:
    GraphScope();
    ~GraphScope();
    GraphScope(const GraphScope&) = delete;
};

/// Frees the nodes no Root reaches; returns how many. Does nothing (0) inside a GraphScope of any thread. It looks at
/// new nodes, those that lost their last Root and what is freed with them, not at others that live.
size_t sweep();
/// `callback` runs for each node that a sweep frees, before its memory goes. One for the process.
void on_free(void (*callback)(UOp));
size_t live_nodes();
size_t collections();  ///< how often sweep came to its end

}  // namespace strata
