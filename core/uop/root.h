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
        if (uop_) uop_.node()->roots.fetch_sub(1, std::memory_order_relaxed);
    }
    UOp get() const { return uop_; }

  private:
    void retain() {
        if (uop_) uop_.node()->roots.fetch_add(1, std::memory_order_relaxed);
    }
    UOp uop_;
};

/// Held by every thread while it builds or uses unrooted nodes; sweep waits for none: it does nothing while one is held.
class GraphScope {
  public:
    GraphScope();
    ~GraphScope();
    GraphScope(const GraphScope&) = delete;
};

/// Frees the nodes no Root reaches; returns how many. Does nothing (0) inside a GraphScope of any thread. `on_free`
/// runs for each freed node before its memory goes.
size_t sweep(void (*on_free)(UOp) = nullptr);
size_t live_nodes();

}  // namespace strata
