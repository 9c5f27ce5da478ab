#pragma once
#include <atomic>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "strata/core/support/error.h"
#include "strata/core/uop/args.h"

namespace strata {

enum class Op : uint8_t {
#define OP(name, ...) name,
#include "strata/core/uop/ops.def"
#undef OP
};
inline constexpr int kOpCount = 0
#define OP(...) +1
#include "strata/core/uop/ops.def"
#undef OP
    ;

enum OpFlag : uint16_t {
    kUnary = 1,
    kBinary = 2,
    kTernary = 4,
    kCommutative = 8,
    kAssociative = 16,
    kMovement = 32,
    kEffect = 64,
    kKernel = 128
};
enum class TypeRule : uint8_t { same, cmp, args };

struct OpInfo {
    std::string_view name;
    int arity;
    uint16_t flags;
    TypeRule rule;
    std::string_view hip;
    bool is(int flag) const { return flags & flag; }
    bool elementwise() const { return flags & (kUnary | kBinary | kTernary); }
};
const OpInfo& info(Op op);

/// Smallest and largest value of an integer node, kept by core/symbolic.
struct Bounds {
    int64_t low, high;
    bool operator==(const Bounds&) const = default;
};

class UOp;

/// An interned, immutable node: equal nodes are one. Made by `make`, freed by `sweep`.
struct Node {
    Op op;
    DType dtype;
    uint32_t source_count;
    uint64_t hash;
    const UOp* sources;
    Arg arg;
    Shape shape;                             ///< of tensor-level nodes; () for scalars and kernel-level nodes
    mutable std::atomic<uint32_t> roots{0};  ///< counted by Root
    mutable std::atomic<bool> bounds_known{false};
    mutable Bounds bounds{};
    mutable bool marked = false;  ///< used by sweep alone
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

    /// The same node over other sources; the same handle when nothing changed. Shape and type are computed anew.
    UOp with_src(std::span<const UOp> sources) const;
    bool is_const() const { return op() == Op::constant; }
    bool is_const(double value) const;  ///< a constant that equals `value`

  private:
    const Node* node_ = nullptr;
};

struct UOpHash {
    size_t operator()(UOp u) const { return reinterpret_cast<uintptr_t>(u.node()) * 0x9e3779b97f4a7c15ull >> 16; }
};
template <class T>
using UOpMap = std::unordered_map<UOp, T, UOpHash>;

/// The node with these parts; creates it on first use. Checks arity and the type rule (InternalError names the node).
UOp make(Op op, DType dtype, std::span<const UOp> sources, Arg arg = {});
inline UOp make(Op op, DType dtype, std::initializer_list<UOp> sources, Arg arg = {}) {
    return make(op, dtype, std::span<const UOp>(sources.begin(), sources.size()), std::move(arg));
}

// Builders that work out the result type.
UOp constant(DType dtype, double value);  ///< rounded or wrapped to the type
UOp constant_int(DType dtype, int64_t value);
UOp index_const(int64_t value);
/// What a reduction by add, mul, max or min starts from: 0, 1, or the type's smallest or largest value (infinities for
/// floats).
UOp identity(Op op, DType type);
UOp alu(Op op, std::initializer_list<UOp> sources);  ///< any elementwise op except cast and bitcast
UOp alu(Op op, std::span<const UOp> sources);
UOp cast(UOp x, DType to);
UOp bitcast(UOp x, DType to);
double const_value(UOp constant);  ///< as double
int64_t const_int(UOp constant);

// Operators build index arithmetic and rules: both sides have one dtype.
inline UOp operator+(UOp a, UOp b) { return alu(Op::add, {a, b}); }
inline UOp operator-(UOp a, UOp b) { return alu(Op::sub, {a, b}); }
inline UOp operator*(UOp a, UOp b) { return alu(Op::mul, {a, b}); }
inline UOp operator/(UOp a, UOp b) { return alu(a.dtype().is_float() ? Op::fdiv : Op::idiv, {a, b}); }
inline UOp operator%(UOp a, UOp b) { return alu(Op::mod, {a, b}); }
inline UOp operator<(UOp a, UOp b) { return alu(Op::cmplt, {a, b}); }
UOp operator+(UOp a, int64_t b);
UOp operator-(UOp a, int64_t b);
UOp operator*(UOp a, int64_t b);
UOp operator/(UOp a, int64_t b);
UOp operator%(UOp a, int64_t b);
UOp operator<(UOp a, int64_t b);

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

/// Held by every thread while it builds or uses unrooted nodes; sweep waits for none: it does nothing while one is
/// held.
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

/// Sources before users, each node once; stops at nodes for which `stop` is true (they are listed).
std::vector<UOp> toposort(UOp root, bool (*stop)(UOp) = nullptr);
/// Replaces nodes by others, bottom up, rebuilding what uses them.
UOp substitute(UOp root, const UOpMap<UOp>& replacements);

/// One line: "add float32 (256,)"; and the tree as numbered lines, shared nodes once.
std::string to_string(UOp u);
std::string tree(UOp u);
std::string to_string(const Shape& shape);  ///< "(2, 3)", "(2,)", "()"

}  // namespace strata
