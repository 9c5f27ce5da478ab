#include "strata/core/uop/node.h"

#include <array>
#include <atomic>
#include <shared_mutex>
#include <unordered_set>

#include "strata/core/support/hash.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/support/mutex.h"
#include "strata/core/uop/root.h"
#include "strata/core/uop/shape_rules_p.h"

namespace strata {
namespace {

// The interner: 64 shards, each a set of nodes hashed by content under a mutex of its own.
struct Key {
    Op op;
    DType dtype;
    std::span<const UOp> sources;
    const Arg* arg;
    uint64_t hash;
};

uint64_t key_hash(Op op, DType dtype, std::span<const UOp> sources, const Arg& arg) {
    uint64_t h =
        hash_mix(static_cast<uint64_t>(op) | uint64_t(dtype.scalar) << 8 | uint64_t{dtype.lanes} << 16, hash(arg));
    for (UOp s : sources) h = hash_mix(h, s ? s.node()->hash : 0);  // check_node refuses empty ones
    return h;
}

bool matches(const Node* n, const Key& k) {
    return n->hash == k.hash && n->op == k.op && n->dtype == k.dtype && n->source_count == k.sources.size() &&
           std::equal(k.sources.begin(), k.sources.end(), n->sources) && equal(n->arg, *k.arg);
}

struct NodeHash {
    using is_transparent = void;
    size_t operator()(const Node* n) const { return n->hash; }
    size_t operator()(const Key& k) const { return k.hash; }
};
struct NodeEqual {
    using is_transparent = void;
    bool operator()(const Node* a, const Node* b) const { return a == b; }
    bool operator()(const Key& k, const Node* n) const { return matches(n, k); }
    bool operator()(const Node* n, const Key& k) const { return matches(n, k); }
};
struct Shard {
    Mutex mutex;
    std::unordered_set<const Node*, NodeHash, NodeEqual> nodes;
};
constexpr size_t kShards = 64;

std::array<Shard, kShards>& shards() {
    static auto* all = new std::array<Shard, kShards>;  // never destroyed: tensors of static life may outlive us
    return *all;
}
/// Who builds graphs holds it shared, who sweeps alone.
struct ScopeLock {
    std::shared_mutex mutex;
    bool sweeping = false;
    const uint32_t process = Mutex::process_number();
};
/// A child has one of its own: what threads of the parent held is not given back there.
ScopeLock& scope_lock() {
    static std::atomic<ScopeLock*> current{new ScopeLock};
    ScopeLock* lock = current.load();
    if (lock->process == Mutex::process_number()) return *lock;
    if (lock->sweeping) refuse_after_fork();
    auto* fresh = new ScopeLock;
    if (current.compare_exchange_strong(lock, fresh)) return *fresh;
    delete fresh;
    return *lock;
}
thread_local int scope_depth = 0;
thread_local ScopeLock* held_scope = nullptr;

void free_node(const Node* n) {
    delete[] n->sources;
    delete n;
}

bool same_types_rule(const OpInfo& row, DType dtype, std::span<const UOp> sources) {
    for (UOp s : sources)
        if (s.dtype() != sources[0].dtype()) return false;
    return row.rule == TypeRule::cmp ? dtype.is_bool() && dtype.lanes == sources[0].dtype().lanes
                                     : dtype == sources[0].dtype();
}

void check_node(Op op, DType dtype, std::span<const UOp> sources) {
    const OpInfo& row = info(op);
    for (UOp s : sources) STRATA_CHECK(s, "{}: a source is empty", row.name);
    STRATA_CHECK(row.arity < 0 || row.arity == static_cast<int>(sources.size()), "{} takes {} sources, got {}",
                 row.name, row.arity, sources.size());
    if (row.rule == TypeRule::args) return;
    STRATA_CHECK(same_types_rule(row, dtype, sources), "{}: types do not fit: {} <- {}{}", row.name, dtype.name(),
                 to_string(sources[0]), sources.size() > 1 ? ", " + to_string(sources[1]) : "");
}

}  // namespace

UOp make(Op op, DType dtype, std::span<const UOp> sources, Arg arg) {
    Key key{op, dtype, sources, &arg, key_hash(op, dtype, sources, arg)};
    Shard& shard = shards()[key.hash % kShards];
    {
        std::lock_guard lock(shard.mutex);
        if (auto found = shard.nodes.find(key); found != shard.nodes.end()) return UOp(*found);
    }
    check_node(op, dtype, sources);
    auto node = std::make_unique<Node>();
    node->op = op;
    node->dtype = dtype;
    node->source_count = static_cast<uint32_t>(sources.size());
    node->hash = key.hash;
    node->shape = shape_of(op, sources, arg);
    std::unique_ptr<UOp[]> copy(sources.empty() ? nullptr : new UOp[sources.size()]);
    std::copy(sources.begin(), sources.end(), copy.get());
    node->sources = copy.get();
    node->arg = arg;
    std::lock_guard lock(shard.mutex);
    if (auto found = shard.nodes.find(key); found != shard.nodes.end()) return UOp(*found);
    shard.nodes.insert(node.get());
    copy.release();
    return UOp(node.release());
}

int64_t UOp::numel() const {
    int64_t n = 1;
    for (int64_t d : shape()) n *= d;
    return n;
}

UOp UOp::with_src(std::span<const UOp> sources) const {
    if (std::equal(sources.begin(), sources.end(), src().begin(), src().end())) return *this;
    return make(op(), dtype(), sources, arg());
}

GraphScope::GraphScope() {
    if (scope_depth++ > 0) return;
    held_scope = &scope_lock();
    if (held_scope->mutex.try_lock_shared()) return;
    OutsideFrontEnd outside;
    held_scope->mutex.lock_shared();
}
GraphScope::~GraphScope() {
    if (--scope_depth == 0) held_scope->mutex.unlock_shared();
}

size_t sweep(void (*on_free)(UOp)) {
    if (scope_depth > 0) return 0;
    ScopeLock& scope = scope_lock();
    std::unique_lock exclusive(scope.mutex, std::try_to_lock);
    if (!exclusive) return 0;
    scope.sweeping = true;
    std::vector<const Node*> stack;
    for (Shard& shard : shards())
        for (const Node* n : shard.nodes) {
            n->marked = false;
            if (n->roots.load(std::memory_order_relaxed)) stack.push_back(n);
        }
    while (!stack.empty()) {
        const Node* n = stack.back();
        stack.pop_back();
        if (std::exchange(n->marked, true)) continue;
        for (uint32_t i = 0; i < n->source_count; ++i)
            if (!n->sources[i].node()->marked) stack.push_back(n->sources[i].node());
    }
    std::vector<const Node*> dead;
    for (Shard& shard : shards())
        for (auto it = shard.nodes.begin(); it != shard.nodes.end();) {
            if ((*it)->marked) {
                ++it;
                continue;
            }
            dead.push_back(*it);
            it = shard.nodes.erase(it);
        }
    if (on_free)
        for (const Node* n : dead) on_free(UOp(n));
    for (const Node* n : dead) free_node(n);
    scope.sweeping = false;
    return dead.size();
}

size_t live_nodes() {
    size_t n = 0;
    for (Shard& shard : shards()) {
        std::lock_guard lock(shard.mutex);
        n += shard.nodes.size();
    }
    return n;
}

}  // namespace strata
