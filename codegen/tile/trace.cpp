// trace: a kernel in program order becomes a graph whose nodes depend on each other only where order matters.
#include "strata/codegen/tile/trace.h"

#include <algorithm>

#include "strata/codegen/tile/stages.h"
#include "strata/codegen/tile/trace_p.h"
#include "strata/core/support/error.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::lang {
namespace {

thread_local Trace* active = nullptr;

/// An offset as a sum of an unknown part and a number.
std::pair<UOp, int64_t> split(UOp offset) {
    if (offset.is_const()) return {UOp(), const_int(offset)};
    if (offset.is(Op::add) && offset.src(1).is_const()) return {offset.src(0), const_int(offset.src(1))};
    return {offset, 0};
}

/// False if two runs of elements surely share none.
bool may_overlap(UOp a, int lanes_of_a, UOp b, int lanes_of_b) {
    const auto [base_of_a, at_a] = split(a);
    const auto [base_of_b, at_b] = split(b);
    if (base_of_a == base_of_b) return at_a < at_b + lanes_of_b && at_b < at_a + lanes_of_a;
    const Bounds distance = bounds(simplify(a - b));
    return distance.low < lanes_of_b && distance.high > -lanes_of_a;
}

void add(std::vector<UOp>& list, UOp u) {
    if (std::ranges::find(list, u) == list.end()) list.push_back(u);
}

bool is_register(UOp memory) { return memory.as<ParamArg>().space == Space::reg; }

/// Memory that nothing writes needs no order but that of breaks and of the author's schedule. After breaks threads that
/// left load nothing.
UOp without_order_of_read_only_memory(UOp sink) {
    UOpMap<bool> is_written;
    const std::vector<UOp> nodes = toposort(sink);
    for (UOp u : nodes)
        if (writes_memory(u)) is_written[memory_of(u)] = true;
    return rebuild(nodes, [&](UOp u, std::vector<UOp>& sources) {
        if (!u.is(Op::after) || !u.src(0).is(Op::param) || is_written.contains(u.src(0))) return u.with_src(sources);
        std::vector<UOp> breaks;
        std::ranges::copy_if(std::span(sources).subspan(1), std::back_inserter(breaks),
                             [](UOp s) { return s.is(Op::break_if) || s.is(Op::schedule); });
        return uop::after(sources[0], breaks);
    });
}

}  // namespace

Trace::Trace(std::vector<UOp> threads) : threads_(std::move(threads)), outer_(active) {
    active = this;
    state_.scopes.emplace_back();
}
Trace::~Trace() { active = outer_; }

Trace& Trace::current(const char* what) {
    if (!active) user_error(ErrorKind::Usage, "{} is for kernels: call it in a function under @strata.kernel", what);
    return *active;
}
bool Trace::is_active() { return active != nullptr; }

UOp Trace::shared(int64_t size, DType type) { return uop::placeholder(size, type, Space::local, state_.next_slot++); }
UOp Trace::registers(int64_t size, DType type) {
    const UOp memory = uop::placeholder(size, type, Space::reg, state_.next_slot++);
    made_under_[memory] = state_.predicate;
    return memory;
}

/// All accesses of the scopes around an inner scope come before an access in it.
Trace::Memory& Trace::memory_in(UOp memory, size_t at) {
    Scope& scope = state_.scopes[at];
    if (const auto found = scope.memories.find(memory); found != scope.memories.end()) return found->second;
    std::vector<UOp> base = threads_;
    if (at > 0) {
        base = all_of(memory_in(memory, at - 1));
        base.push_back(scope.range);
        if (scope.left) base.push_back(scope.left);
    }
    if (scope.ordered && !is_register(memory)) add(base, scope.ordered);
    scope.touched.push_back(memory);
    Memory& made = scope.memories[memory];
    made.base = std::move(base);
    return made;
}

std::vector<UOp> Trace::all_of(const Memory& memory) {
    std::vector<UOp> all = memory.base;
    for (const std::vector<Access>* accesses : {&memory.writes, &memory.reads})
        for (const Access& access : *accesses) add(all, access.node);
    return all;
}

/// From here on the memory's accesses come after one effect.
void Trace::reset(Scope& scope, UOp memory, UOp effect) {
    Memory& state = scope.memories.at(memory);
    state = {};
    state.base = {effect};
    if (scope.range) state.base.push_back(scope.range);
}

/// The memory after the accesses that must come first: of a load writes that may touch its elements, of a store reads
/// as well.
UOp Trace::pointer(UOp memory, UOp offset, int lanes, bool writes) {
    if (std::ranges::find(state_.staged, memory) != state_.staged.end())
        user_error(ErrorKind::Usage,
                   "memory of the block that a loop with stages= copied to holds nothing after the loop: give what "
                   "comes after it another lang.shared");
    const Memory& state = here(memory);
    std::vector<UOp> earlier = state.base;
    const auto add_overlapping = [&](const std::vector<Access>& accesses) {
        for (const Access& access : accesses)
            if (may_overlap(offset, lanes, access.offset, access.lanes)) add(earlier, access.node);
    };
    add_overlapping(state.writes);
    if (writes) add_overlapping(state.reads);
    return uop::after(memory, earlier);
}

UOp Trace::load(UOp memory, UOp offset, UOp predicate, int lanes, std::optional<CachePolicy> cache) {
    note_access(memory, false);
    return load_unnoted(memory, offset, predicate, lanes, cache);
}

UOp Trace::load_unnoted(UOp memory, UOp offset, UOp predicate, int lanes, std::optional<CachePolicy> cache) {
    offset = simplify(offset);
    if (!is_register(memory)) predicate = uop::both(predicate, state_.predicate);
    const UOp at = uop::at(pointer(memory, offset, lanes, false), offset, predicate, cache);
    const DType type = memory.dtype().vector(lanes);
    std::vector<UOp> sources{at};
    if (predicate) sources.push_back(constant(type, 0));
    const UOp loaded = make(Op::load, type, sources);
    std::vector<Access>& reads = here(memory).reads;
    if (std::ranges::none_of(reads, [&](const Access& a) { return a.node == loaded; }))
        reads.push_back({offset, loaded, lanes});
    return loaded;
}

UOp Trace::start_of_tile(UOp memory, UOp offset, int lanes) {
    const UOp after = pointer(memory, index_const(0), static_cast<int>(memory.as<ParamArg>().size), false);
    return make(Op::load, memory.dtype().vector(lanes), {uop::at(after, simplify(offset))});
}

void Trace::note_reader(UOp memory, UOp by) {
    here(memory).reads.push_back({index_const(0), by, static_cast<int>(memory.as<ParamArg>().size)});
}

void Trace::store(UOp memory, UOp offset, UOp value, UOp predicate, std::optional<CachePolicy> cache) {
    note_access(memory, true);
    offset = simplify(offset);
    const int lanes = value.dtype().lanes;
    // Registers that this branch made have nothing that threads outside of it would keep.
    const auto made = made_under_.find(memory);
    if (made == made_under_.end() || made->second != state_.predicate)
        predicate = uop::both(predicate, state_.predicate);
    if (predicate && is_register(memory)) {
        value = alu(Op::where, {predicate, value, load_unnoted(memory, offset, {}, lanes, {})});
        predicate = {};
    }
    const UOp stored = uop::store(uop::at(pointer(memory, offset, lanes, true), offset, predicate, cache), value);
    Memory& state = here(memory);
    // Accesses to a place overwritten whole need no order of their own: all later ones come after this store.
    const auto is_covered = [&](const Access& a) { return a.offset == offset && a.lanes <= lanes && !predicate; };
    std::erase_if(state.writes, is_covered);
    std::erase_if(state.reads, is_covered);
    state.writes.push_back({offset, stored, lanes});
    add(state_.scopes.back().effects, stored);
}

void Trace::barrier() {
    for (const Scope& scope : state_.scopes)
        if (scope.left)
            user_error(
                ErrorKind::Usage,
                "a barrier in a loop that threads leave each by itself: those that left never reach it. Give all "
                "threads of the block as many steps, or put it before or after the loop");
    if (state_.predicate)
        user_error(ErrorKind::Usage,
                   "a barrier in a branch: threads that do not take the branch never reach it. Put it "
                   "before or after the branch");
    order_others(uop::barrier(seen_by_others()));
}

std::vector<UOp> Trace::seen_by_others() {
    for (const Scope& scope : state_.scopes)
        for (size_t i = 0; i < scope.touched.size(); ++i)
            if (!is_register(scope.touched[i])) here(scope.touched[i]);
    const Scope& scope = state_.scopes.back();
    std::vector<UOp> earlier;
    for (UOp memory : scope.touched)
        if (!is_register(memory))
            for (UOp u : all_of(scope.memories.at(memory)))
                if (!u.is(Op::range)) add(earlier, u);
    return earlier;
}

void Trace::order_others(UOp effect) {
    Scope& scope = state_.scopes.back();
    for (UOp memory : scope.touched)
        if (!is_register(memory)) reset(scope, memory, effect);
    add(scope.effects, effect);
}

void Trace::begin_if(UOp condition) {
    state_.branches.push_back({state_.predicate, condition, false, state_.scopes.size()});
    state_.predicate = uop::both(state_.predicate, condition);
}

void Trace::begin_else() {
    Branch& branch = state_.branches.back();
    branch.is_else = true;
    state_.predicate = uop::both(branch.outer, alu(Op::logical_not, {branch.condition}));
}

void Trace::end_if() {
    state_.predicate = state_.branches.back().outer;
    state_.branches.pop_back();
}

UOp Trace::begin_loop(int64_t size, UOp steps) {
    // Simple steps stay what they are where an offset that has the range is simplified.
    const UOp range = uop::range(size, state_.next_range++, Axis::loop, steps ? simplify(steps) : steps);
    state_.scopes.emplace_back().range = range;
    state_.scopes.back().predicate = state_.predicate;
    if (const UOp outside = std::exchange(state_.predicate, UOp())) break_if(alu(Op::logical_not, {outside}));
    return range;
}

void Trace::break_if(UOp condition) {
    Scope& scope = state_.scopes.back();
    if (!scope.range) user_error(ErrorKind::Usage, "a break outside of a loop of the kernel");
    std::vector<UOp> earlier{scope.range};
    if (scope.left) earlier.push_back(scope.left);
    for (UOp memory : scope.touched)
        for (UOp u : all_of(scope.memories.at(memory))) add(earlier, u);
    scope.left = uop::break_if(uop::after(uop::both(state_.predicate, condition), earlier), scope.range);
    for (UOp memory : scope.touched) reset(scope, memory, scope.left);
    add(scope.effects, scope.left);
}

void Trace::end_loop(int64_t stages) {
    Scope inner = std::move(state_.scopes.back());
    state_.scopes.pop_back();
    state_.predicate = inner.predicate;
    if (stages > 1 && range_arg(inner.range).size > 1) stage(inner, stages);
    if (inner.effects.empty()) return;
    const UOp end = uop::end(inner.effects.size() == 1 ? inner.effects[0] : uop::group(inner.effects), {inner.range});
    for (UOp memory : inner.touched) {
        here(memory);
        reset(state_.scopes.back(), memory, end);
    }
    add(state_.scopes.back().effects, end);
}

void Trace::stage(Scope& loop, int64_t stages) {
    StagedLoop made =
        lang::staged({loop.range, loop.effects, state_.scopes.size() > 1, threads_}, stages, state_.next_slot);
    for (UOp memory : made.staged) {
        const Memory& earlier = here(memory);
        if (!earlier.reads.empty() || !earlier.writes.empty())
            user_error(ErrorKind::Usage,
                       "[range] stages={}: memory of the block that the loop copies to is used before it too. Give "
                       "what comes before the loop another lang.shared",
                       stages);
        state_.staged.push_back(memory);
        std::erase(loop.touched, memory);
    }
    for (UOp effect : made.before) add(state_.scopes.back().effects, effect);
    loop.effects = std::move(made.effects);
}

bool Trace::is_uniform(UOp value) const {
    const auto may_differ = [](UOp u) {
        if (u.is(Op::special)) return u.as<SpecialArg>().thread;
        return !u.is(Op::constant) && !u.is(Op::define_var) && !u.is(Op::range) && !info(u.op()).computes();
    };
    return std::ranges::none_of(toposort(value), may_differ);
}

UOp Trace::finish(std::string name) {
    STRATA_CHECK(state_.scopes.size() == 1 && state_.branches.empty(), "a loop or branch of {} is open", name);
    const std::vector<UOp>& effects = state_.scopes[0].effects;
    const UOp sink = effects.empty() ? UOp() : forward_registers(uop::sink(uop::group(effects), name));
    if (!sink || sink.src().empty())
        user_error(ErrorKind::Usage, "the kernel {} writes nothing: store its results in a tensor", name);
    // An offset is simplified with copies of the effects that it depends on: the equal ones become one here.
    return simplify(without_order_of_read_only_memory(sink));
}

}  // namespace strata::lang
