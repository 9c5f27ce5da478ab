#include "strata/core/uop/node.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <shared_mutex>

#include "strata/core/support/hash.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/support/mutex.h"
#include "strata/core/uop/node_set_p.h"
#include "strata/core/uop/notes.h"
#include "strata/core/uop/root.h"
#include "strata/core/uop/scratch_p.h"
#include "strata/core/uop/shape_rules_p.h"

namespace strata {
namespace {

// The interner: 64 shards, each a set of nodes hashed by content under a mutex of its own.
struct Key {
    Op op;
    DType dtype;
    std::span<const UOp> sources;
    Arg* arg;
    uint64_t hash;
};

uint64_t key_hash(Op op, DType dtype, std::span<const UOp> sources, const Arg& arg) {
    uint64_t h =
        hash_mix(static_cast<uint64_t>(op) | uint64_t(dtype.scalar) << 8 | uint64_t{dtype.lanes} << 16, hash(arg));
    for (UOp s : sources) h = hash_mix(h, s ? s.node()->hash : 0);  // check_node refuses empty ones
    return h;
}

bool matches(const Node* n, const Key& k) {
    return n->op == k.op && n->dtype == k.dtype && n->source_count == k.sources.size() &&
           std::equal(k.sources.begin(), k.sources.end(), n->sources) && equal(n->arg, *k.arg);
}

struct Shard {
    Mutex mutex;
    NodeSet nodes;
    uint64_t insertions = 0;
    std::vector<const Node*> young;  ///< made since the last few collections: no older node leads to one
};
constexpr size_t kShards = 64;
using Shards = uint64_t;  ///< a bit for each
std::atomic<Shards> with_nodes{0}, with_young{0};
constexpr size_t kManyNodes = 1 << 13;  // made since the last collection; they are still in the processor's cache
// Collections that a young node lives through: a result is let go of behind that of the next one's call.
constexpr uint8_t kChildhood = 3;

std::array<Shard, kShards>& shards() {
    static auto* all = new std::array<Shard, kShards>;  // never destroyed: tensors of static life may outlive us
    return *all;
}
template <class F>
void for_each_shard(Shards which, F f) {
    for (; which; which &= which - 1) f(shards()[static_cast<size_t>(std::countr_zero(which))]);
}
/// Who builds graphs holds it shared, who sweeps alone.
struct ScopeLock {
    std::shared_mutex mutex;
    bool sweeping = false;
    bool lost =
        false;  ///< threads of the parent were building graphs: their nodes may be half made, nobody sweeps here
    const uint32_t process = Mutex::process_number();
};
/// A child has one of its own: what threads of the parent held is not given back there.
ScopeLock& scope_lock() {
    static std::atomic<ScopeLock*> current{new ScopeLock};
    ScopeLock* lock = current.load();
    if (lock->process == Mutex::process_number()) return *lock;
    if (lock->sweeping) refuse_after_fork();
    auto* fresh = new ScopeLock;
    fresh->lost = lock->lost || !lock->mutex.try_lock();
    if (current.compare_exchange_strong(lock, fresh)) return *fresh;
    delete fresh;
    return *lock;
}
thread_local int scope_depth = 0;
thread_local ScopeLock* held_scope = nullptr;

// Counted since the process began; when `collect_at` are made, the end of a GraphScope collects.
std::atomic<size_t> nodes_made{0}, nodes_freed{0}, collect_at{kManyNodes}, collections_done{0};
std::atomic<size_t> kept_of_all{0};  // live after the last collection that looked at all nodes
std::atomic<bool> old_let_go{false};
thread_local size_t roots_let_go = 0;
std::atomic<void (*)(UOp)> on_free_node{nullptr};

void collect_on_pressure() {
    if (nodes_made.load(std::memory_order_relaxed) < collect_at.load(std::memory_order_relaxed)) return;
    try {
        collect_nodes(Generation::young);
    } catch (const std::exception&) {  // no memory, or the child of a fork: there is a next time
    }
}

/// What stands behind a node's sources.
struct Notes {
    std::atomic<bool> simple{false};
};

/// A node, its sources and notes are one block of memory.
struct FreeNode {
    void operator()(const Node* n) const {
        n->~Node();
        operator delete(const_cast<Node*>(n));
    }
};
using OwnedNode = std::unique_ptr<Node, FreeNode>;

size_t node_bytes(std::span<const UOp> sources) { return sizeof(Node) + sources.size_bytes() + sizeof(Notes); }

/// A node of these parts in `memory` of node_bytes.
Node* put_node(void* memory, const Key& key, Shape shape) {
    static_assert(sizeof(Node) % alignof(UOp) == 0 && alignof(Notes) <= alignof(UOp));
    static_assert(std::is_trivially_copyable_v<UOp> && std::is_trivially_destructible_v<Notes>);
    auto* const node = new (memory) Node();
    auto* const copy = reinterpret_cast<UOp*>(static_cast<char*>(memory) + sizeof(Node));
    std::ranges::uninitialized_copy(key.sources, std::span(copy, key.sources.size()));
    new (copy + key.sources.size()) Notes();
    node->op = key.op;
    node->dtype = key.dtype;
    node->sources = copy;
    node->source_count = static_cast<uint32_t>(key.sources.size());
    node->hash = key.hash;
    node->shape = std::move(shape);
    node->arg = std::move(*key.arg);
    return node;
}

Notes& notes(UOp u) {
    UOp* const behind = const_cast<UOp*>(u.node()->sources) + u.node()->source_count;
    return *std::launder(reinterpret_cast<Notes*>(behind));
}

bool same_types_rule(const OpInfo& row, DType dtype, std::span<const UOp> sources) {
    for (UOp s : sources)
        if (s.dtype() != sources[0].dtype()) return false;
    return row.rule == TypeRule::cmp ? dtype.is_bool() && dtype.lanes == sources[0].dtype().lanes
                                     : dtype == sources[0].dtype();
}

void check_node(Op op, DType dtype, std::span<const UOp> sources) {
    const OpInfo& row = info(op);
    if (dtype.is_complex())
        user_error(ErrorKind::DType, "{} {}: graphs are of real types; a complex tensor is two, its real and imag",
                   row.name, dtype.name());
    for (UOp s : sources) STRATA_CHECK(s, "{}: a source is empty", row.name);
    STRATA_CHECK(row.arity < 0 || row.arity == static_cast<int>(sources.size()), "{} takes {} sources, got {}",
                 row.name, row.arity, sources.size());
    if (row.rule == TypeRule::args) return;
    STRATA_CHECK(same_types_rule(row, dtype, sources), "{}: types do not fit: {} <- {}{}", row.name, dtype.name(),
                 to_string(sources[0]), sources.size() > 1 ? ", " + to_string(sources[1]) : "");
}

}  // namespace

namespace {

struct Look {
    const Node* found;
    uint64_t insertions;  ///< into the shard until then
};
Look look_among_all(const Key& key) {
    Shard& shard = shards()[key.hash % kShards];
    std::lock_guard lock(shard.mutex);
    return {shard.nodes.find(key.hash, [&](const Node* n) { return matches(n, key); }), shard.insertions};
}

UOp make_for_all(Key key) {
    const Look look = look_among_all(key);
    if (look.found) return UOp(look.found);
    check_node(key.op, key.dtype, key.sources);
    Shape shape = shape_of(key.op, key.sources, *key.arg);
    OwnedNode node(put_node(operator new(node_bytes(key.sources)), key, std::move(shape)));
    key.arg = &node->arg;
    Shard& shard = shards()[key.hash % kShards];
    std::lock_guard lock(shard.mutex);
    if (shard.insertions != look.insertions)
        if (const Node* found = shard.nodes.find(key.hash, [&](const Node* n) { return matches(n, key); }))
            return UOp(found);
    if (shard.young.size() == shard.young.capacity()) shard.young.reserve(2 * shard.young.size() + 16);
    if (shard.young.empty()) {
        const Shards bit = Shards{1} << key.hash % kShards;
        with_young.fetch_or(bit, std::memory_order_relaxed);
        with_nodes.fetch_or(bit, std::memory_order_relaxed);
    }
    shard.nodes.insert(node.get());
    ++shard.insertions;
    shard.young.push_back(node.get());
    nodes_made.fetch_add(1, std::memory_order_relaxed);
    for (UOp s : key.sources) s.node()->users.fetch_add(1, std::memory_order_relaxed);
    return UOp(node.release());
}

/// A node of others' is not looked for where a source is this thread's own.
UOp make_in_scratch(const Key& key, ScratchStore& store) {
    const auto is_it = [&](const Node* n) { return matches(n, key); };
    if (const Node* const found = store.nodes().find(key.hash, is_it)) return UOp(found);
    if (std::ranges::none_of(key.sources, [](UOp s) { return s && s.node()->of_scratch; }))
        if (const Node* const found = look_among_all(key).found) {
            store.nodes().insert(found);
            return UOp(found);
        }
    check_node(key.op, key.dtype, key.sources);
    Shape shape = shape_of(key.op, key.sources, *key.arg);
    Node* const node = put_node(store.allocate(node_bytes(key.sources)), key, std::move(shape));
    node->of_scratch = true;
    store.add(node);
    return UOp(node);
}

}  // namespace

UOp make(Op op, DType dtype, std::span<const UOp> sources, Arg arg) {
    const Key key{op, dtype, sources, &arg, key_hash(op, dtype, sources, arg)};
    ScratchStore* const own = ScratchStore::current();
    return own ? make_in_scratch(key, *own) : make_for_all(key);
}

void Root::let_go() {
    const Node* const n = uop_.node();
    const bool old = n->old.load(std::memory_order_relaxed);  // behind the last count it may be freed
    if (n->roots.fetch_sub(1, std::memory_order_relaxed) != 1) return;
    ++roots_let_go;
    if (old) old_let_go.store(true, std::memory_order_relaxed);
}

bool is_known_simple(UOp u) { return notes(u).simple.load(std::memory_order_relaxed); }
void note_simple(UOp u) { notes(u).simple.store(true, std::memory_order_relaxed); }

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
    if (--scope_depth > 0) return;
    held_scope->mutex.unlock_shared();
    collect_on_pressure();
}

void on_free(void (*told)(UOp)) { on_free_node = told; }

namespace {

/// Marks what the nodes reach; marked ones are known to be reached, with all they lead to.
void mark(std::vector<const Node*> stack) {
    while (!stack.empty()) {
        const Node* n = stack.back();
        stack.pop_back();
        if (std::exchange(n->marked, true)) continue;
        for (uint32_t i = 0; i < n->source_count; ++i)
            if (!n->sources[i].node()->marked) stack.push_back(n->sources[i].node());
    }
}

/// Takes the nodes without a mark out of the shard.
void take_dead(Shard& shard, Generation which, std::vector<const Node*>& dead) {
    auto is_dead = [](const Node* n) { return !n->marked; };
    if (which == Generation::young) {
        for (const Node* n : shard.young)
            if (is_dead(n)) dead.push_back(n), shard.nodes.erase(n);
    } else {
        shard.nodes.erase_if([&](const Node* n) {
            if (is_dead(n)) dead.push_back(n);
            return is_dead(n);
        });
    }
    std::erase_if(shard.young, is_dead);
    if (shard.nodes.size() == 0) with_nodes &= ~(Shards{1} << (&shard - shards().data()));
}

/// Sources are as old at least as what is made of them.
void grow_older(Shard& shard) {
    std::erase_if(shard.young, [](const Node* n) {
        if (++n->lived_through < kChildhood) return false;
        n->old.store(true, std::memory_order_relaxed);
        return true;
    });
    if (shard.young.empty()) with_young &= ~(Shards{1} << (&shard - shards().data()));
}

struct Swept {
    size_t freed;
    bool all;  ///< nothing was let go of meanwhile
};
/// None: some thread is in a GraphScope. Old nodes keep their marks.
std::optional<Swept> try_sweep(Generation which) {
    if (scope_depth > 0) return std::nullopt;
    ScopeLock& scope = scope_lock();
    std::unique_lock exclusive(scope.mutex, std::try_to_lock);
    if (!exclusive || scope.lost) return std::nullopt;
    scope.sweeping = true;
    if (which == Generation::all) old_let_go = false;
    const size_t let_go_before = roots_let_go;
    std::vector<const Node*> roots, dead;
    auto look_at = [&](const Node* n) {
        n->marked = false;
        if (n->roots.load(std::memory_order_relaxed)) roots.push_back(n);
    };
    const Shards looked_at = which == Generation::young ? with_young : with_nodes;
    for_each_shard(looked_at, [&](Shard& shard) {
        if (which == Generation::young)
            std::ranges::for_each(shard.young, look_at);
        else
            shard.nodes.for_each(look_at);
    });
    mark(std::move(roots));
    for_each_shard(looked_at, [&](Shard& shard) { take_dead(shard, which, dead); });
    for (const Node* n : dead)
        for (uint32_t i = 0; i < n->source_count; ++i) {
            const Node* const s = n->sources[i].node();
            const bool last = s->users.fetch_sub(1, std::memory_order_relaxed) == 1;
            if (last && which == Generation::young && s->old && s->roots == 0) old_let_go = true;
        }
    if (auto* told = on_free_node.load())
        for (const Node* n : dead) told(UOp(n));
    for (const Node* n : dead) FreeNode{}(n);
    nodes_freed.fetch_add(dead.size(), std::memory_order_relaxed);
    const bool all = roots_let_go == let_go_before;
    if (all) for_each_shard(with_young, grow_older);
    scope.sweeping = false;
    return Swept{dead.size(), all};
}

}  // namespace

size_t sweep() {
    const std::optional<Swept> swept = try_sweep(Generation::all);
    return swept ? swept->freed : 0;
}
bool old_ones_let_go() { return old_let_go; }

size_t collect_nodes(Generation which) {
    if (live_nodes() > 2 * kept_of_all.load(std::memory_order_relaxed) + kManyNodes) which = Generation::all;
    size_t freed = 0;
    for (bool done = false; !done;) {  // what is told of a node may let go of a Root
        const std::optional<Swept> round = try_sweep(which);
        if (!round) return freed;
        freed += round->freed, done = round->all;
    }
    collections_done.fetch_add(1, std::memory_order_relaxed);
    if (which == Generation::all) kept_of_all = live_nodes();
    collect_at = nodes_made.load(std::memory_order_relaxed) + kManyNodes;
    return freed;
}

size_t collections() { return collections_done.load(std::memory_order_relaxed); }

size_t live_nodes() { return nodes_made.load(std::memory_order_relaxed) - nodes_freed.load(std::memory_order_relaxed); }

}  // namespace strata
