#pragma once
#include <atomic>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strata/core/support/error.h"
#include "strata/core/uop/args.h"
#include "strata/core/uop/op.h"

namespace strata {

/// Smallest and largest value of an integer node, kept by core/symbolic.
struct Bounds {
    int64_t low, high;
    bool operator==(const Bounds&) const = default;
};

class UOp;

/// An interned, immutable node: equal nodes are one. Made by `make`, freed by `sweep` (root.h).
struct Node {
    Op op;
    DType dtype;
    bool of_scratch = false;  ///< its thread's own (scratch.h)
    uint32_t source_count;
    uint64_t hash;
    const UOp* sources;
    Arg arg;
    Shape shape;                              ///< of tensor-level nodes; () for scalars and kernel-level nodes
    mutable std::atomic<uint32_t> rooted{0};  ///< `root` for each Root, and `listed` where a sweep is to look at it
    mutable std::atomic<uint32_t> users{0};   ///< nodes with it as a source; one with two such sources counts twice
    mutable const Node* next_to_look_at = nullptr;
    mutable std::atomic<bool> bounds_known{false};
    mutable Bounds bounds{};

    static constexpr uint32_t listed = 1, root = 2;
    uint32_t roots() const { return rooted.load(std::memory_order_relaxed) / root; }
};

/// A handle to a node: trivially copyable, compared by address.
class UOp {
  public:
    constexpr UOp() = default;
    explicit constexpr UOp(const Node* node) : node_(node) {}

    explicit operator bool() const { return node_ != nullptr; }
    bool operator==(const UOp&) const = default;
    const Node* node() const { return node_; }

    Op op() const { return node_->op; }
    bool is(Op op) const { return node_->op == op; }
    DType dtype() const { return node_->dtype; }
    std::span<const UOp> src() const { return {node_->sources, node_->source_count}; }
    UOp src(size_t i) const {
        STRATA_CHECK(i < node_->source_count, "{} has {} sources", info(op()).name, node_->source_count);
        return node_->sources[i];
    }
    const Arg& arg() const { return node_->arg; }
    template <class A>
    const A& as() const {
        const A* found = std::get_if<A>(&node_->arg);
        STRATA_CHECK(found, "{} does not carry this argument", info(op()).name);
        return *found;
    }
    const Shape& shape() const { return node_->shape; }
    int64_t numel() const;

    /// The same node over other sources; the same handle when nothing changed. Shape and type are computed again.
    UOp with_src(std::span<const UOp> sources) const;
    bool is_const() const { return op() == Op::constant; }
    bool is_const(double value) const;  ///< a constant that equals `value`

  private:
    const Node* node_ = nullptr;
};

struct UOpHash {
    size_t operator()(UOp u) const { return reinterpret_cast<uintptr_t>(u.node()) * 0x9e3779b97f4a7c15ull >> 16; }
};

/// The node with these parts; creates it on first use. Checks arity and the type rule (InternalError names the node).
UOp make(Op op, DType dtype, std::span<const UOp> sources, Arg arg = {});
inline UOp make(Op op, DType dtype, std::initializer_list<UOp> sources, Arg arg = {}) {
    return make(op, dtype, std::span<const UOp>(sources.begin(), sources.size()), std::move(arg));
}

/// One line: "add float32 (256,)"; and the tree as numbered lines, shared nodes once.
std::string to_string(UOp u);
std::string tree(UOp u);
std::string to_string(const Shape& shape);  ///< "(2, 3)", "(2,)", "()"

}  // namespace strata
