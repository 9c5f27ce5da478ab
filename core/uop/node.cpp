#include "strata/core/uop/node.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <shared_mutex>

#include "strata/core/support/hash.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/support/mutex.h"
#include "strata/core/uop/node_set_p.h"
#include "strata/core/uop/notes.h"
#include "strata/core/uop/places.h"
#include "strata/core/uop/root.h"
#include "strata/core/uop/scratch_p.h"
#include "strata/core/uop/shape_rules_p.h"
#include "strata/core/uop/sweep_due.h"

namespace strata {
namespace {

// The interner: 64 shards, each a set of nodes hashed by content under a mutex of its own.
struct Key {
    Op op;
    DType dtype;
    std::span<const UOp> sources;
    const Arg* arg;
    Arg* spare;  ///< the same where a new node may have it; null: it has a copy
    uint64_t hash;
};

bool is_none(const Arg& arg) { return arg.index() == 0; }
static_assert(std::is_same_v<std::variant_alternative_t<0, Arg>, NoArg>);

uint64_t key_hash(Op op, DType dtype, std::span<const UOp> sources, const Arg& arg) {
    uint64_t h = hash_mix(static_cast<uint64_t>(op) | uint64_t(dtype.scalar) << 8 | uint64_t{dtype.lanes} << 16,
                          is_none(arg) ? 0 : hash(arg));
    for (UOp s : sources) h = hash_mix(h, s ? s.node()->hash : 0);  // check_node refuses empty ones
    return h;
}

bool matches(const Node* n, const Key& k) {
    return n->op == k.op && n->dtype == k.dtype && n->source_count == k.sources.size() &&
           std::equal(k.sources.begin(), k.sources.end(), n->sources) &&
           (is_none(*k.arg) ? is_none(n->arg) : equal(n->arg, *k.arg));
}

struct Shard {
    Mutex mutex;
    NodeSet nodes;
    uint64_t insertions = 0;
};
constexpr size_t kShards = 64;
constexpr size_t kManyNodes = 1 << 13;  // made since the last sweep; they are still in the processor's cache

std::array<Shard, kShards>& shards() {
    static auto* all = new std::array<Shard, kShards>;  // never destroyed: tensors of static life may outlive us
    return *all;
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

// Counted since the process began; when `sweep_at` are made, the end of a GraphScope sweeps.
std::atomic<size_t> nodes_made{0}, nodes_freed{0}, sweep_at{kManyNodes}, sweeps_done{0};
std::atomic<void (*)(UOp)> on_free_node{nullptr};
std::atomic<bool> sweep_due{false};

// Nodes live by counts: of Roots and of the nodes that use them. A count that falls to none frees nothing by itself, as
// graphs are built of nodes that nothing counts yet; a sweep does, between GraphScopes. A node that may be free is
// listed for it: when it is made and when it loses its last Root. One that then proves to live leaves the list.
std::atomic<const Node*> listed{nullptr};

/// Lists a node whose bit says so, before anybody else can know.
void list(const Node* n) {
    n->next_to_look_at = listed.load(std::memory_order_relaxed);
    while (!listed.compare_exchange_weak(n->next_to_look_at, n, std::memory_order_release, std::memory_order_relaxed)) {
    }
}

void sweep_on_pressure() {
    if (nodes_made.load(std::memory_order_relaxed) < sweep_at.load(std::memory_order_relaxed)) return;
    try {
        sweep();
    } catch (const std::exception&) {  // the child of a fork, or a listener to nodes found no memory
    }
}

/// The record after a node's sources.
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
    if (key.spare)
        node->arg = std::move(*key.spare);
    else
        node->arg = *key.arg;
    return node;
}

Notes& notes(UOp u) {
    UOp* const end = const_cast<UOp*>(u.node()->sources) + u.node()->source_count;
    return *std::launder(reinterpret_cast<Notes*>(end));
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
    shard.nodes.insert(node.get());
    ++shard.insertions;
    node->rooted.store(Node::listed, std::memory_order_relaxed);
    list(node.get());
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

UOp make(const Key& key) {
    ScratchStore* const own = ScratchStore::current();
    return own ? make_in_scratch(key, *own) : make_for_all(key);
}

}  // namespace

thread_local constinit Places* Places::active_ = nullptr;

uint32_t Places::of(UOp u) const {
    const auto found = numbers_.find(u);
    return found == numbers_.end() ? 0 : found->second;
}

/// Constants and parameters are everywhere alike: they have no location of their own.
void Places::note(UOp made) {
    if (made.src().empty() && !made.is(Op::range)) return;
    if (const uint32_t number = here()) set(made, number);
}

void Places::note(UOp made, UOp replaced) {
    if (const uint32_t number = of(replaced))
        set(made, number);
    else
        note(made);
}

void AtPlaceOf::enter(UOp u) {
    outer_ = places_->current_;
    if (const uint32_t number = places_->of(u)) places_->current_ = number;
}

UOp make(Op op, DType dtype, std::span<const UOp> sources, Arg arg) {
    const UOp made = make(Key{op, dtype, sources, &arg, &arg, key_hash(op, dtype, sources, arg)});
    if (Places* const places = Places::active()) places->note(made);
    return made;
}

void Root::let_go() {
    const Node* const n = uop_.node();
    const bool is_used = n->users.load(std::memory_order_relaxed) != 0;  // n may be gone after the exchange
    uint32_t now = n->rooted.load(std::memory_order_relaxed), then;
    do then = now == Node::root ? Node::listed : now - Node::root;
    while (!n->rooted.compare_exchange_weak(now, then, std::memory_order_acq_rel, std::memory_order_relaxed));
    if (now == Node::root) list(n);  // else somebody lists it, or has: it may be gone already
    if (now - Node::root < Node::root && !is_used) sweep_due.store(true, std::memory_order_relaxed);
}

bool is_sweep_due() { return sweep_due.load(std::memory_order_relaxed); }

bool is_known_simple(UOp u) { return notes(u).simple.load(std::memory_order_relaxed); }
void note_simple(UOp u) { notes(u).simple.store(true, std::memory_order_relaxed); }

int64_t UOp::numel() const {
    int64_t n = 1;
    for (int64_t d : shape()) n *= d;
    return n;
}

UOp UOp::with_src(std::span<const UOp> sources) const {
    if (std::equal(sources.begin(), sources.end(), src().begin(), src().end())) return *this;
    const UOp made = make(Key{op(), dtype(), sources, &arg(), nullptr, key_hash(op(), dtype(), sources, arg())});
    if (Places* const places = Places::active()) places->note(made, *this);
    return made;
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
    sweep_on_pressure();
}

void on_free(void (*callback)(UOp)) { on_free_node = callback; }

namespace {

/// Nodes to be freed, chained in the order in which they were found.
class Dead {
  public:
    const Node* first() const { return first_; }
    void add(const Node* n) {
        n->next_to_look_at = nullptr;
        *end_ = n, end_ = &n->next_to_look_at;
    }

  private:
    const Node* first_ = nullptr;
    const Node** end_ = &first_;
};

/// Takes what is free off the interner, with what only that used.
const Node* take_dead(const Node* of_list) {
    Dead dead;
    for (const Node* n = of_list; n;) {
        const Node* const next = n->next_to_look_at;
        if (n->rooted.fetch_and(~Node::listed, std::memory_order_acq_rel) == Node::listed && n->users == 0) dead.add(n);
        n = next;
    }
    for (const Node* n = dead.first(); n; n = n->next_to_look_at) {
        shards()[n->hash % kShards].nodes.erase(n);
        for (uint32_t i = 0; i < n->source_count; ++i) {
            const Node* const s = n->sources[i].node();  // one that is listed is looked at when its turn comes
            if (s->users.fetch_sub(1, std::memory_order_relaxed) == 1 && s->rooted == 0) dead.add(s);
        }
    }
    return dead.first();
}

}  // namespace

size_t sweep() {
    static thread_local bool sweeps = false;  // a listener to nodes may let go of tensors, and come here again
    if (scope_depth > 0 || sweeps) return 0;
    ScopeLock& scope = scope_lock();
    std::unique_lock exclusive(scope.mutex, std::try_to_lock);
    if (!exclusive || scope.lost) return 0;
    sweeps = scope.sweeping = true;
    sweep_due.store(false, std::memory_order_relaxed);
    size_t freed = 0;
    while (const Node* const of_list = listed.exchange(nullptr, std::memory_order_acquire)) {
        const Node* dead = take_dead(of_list);
        if (auto* callback = on_free_node.load())  // it may let go of Roots
            for (const Node* n = dead; n; n = n->next_to_look_at) callback(UOp(n));
        for (; dead; ++freed) FreeNode{}(std::exchange(dead, dead->next_to_look_at));
    }
    nodes_freed.fetch_add(freed, std::memory_order_relaxed);
    sweeps_done.fetch_add(1, std::memory_order_relaxed);
    sweep_at = nodes_made.load(std::memory_order_relaxed) + kManyNodes;
    sweeps = scope.sweeping = false;
    return freed;
}

size_t collections() { return sweeps_done.load(std::memory_order_relaxed); }

size_t live_nodes() { return nodes_made.load(std::memory_order_relaxed) - nodes_freed.load(std::memory_order_relaxed); }

}  // namespace strata
