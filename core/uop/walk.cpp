#include "strata/core/uop/walk.h"

#include <algorithm>

#include "strata/core/uop/numbers.h"

namespace strata {

namespace {

/// The nodes that one walk reached. The thread keeps the table for its next walk; each entry has the number of its
/// walk.
class Seen {
  public:
    Seen() : slots_(std::move(kept)), walk_(++walks) {
        kept.clear();
        if (slots_.empty()) slots_.resize(kFewest);
    }
    ~Seen() {
        if (slots_.size() <= kMostKept) kept = std::move(slots_);
    }
    Seen(const Seen&) = delete;

    /// True if it is new.
    bool add(UOp u) {
        size_t at = place_of(u);
        if (slots_[at].walk == walk_) return false;
        if (2 * (size_ + 1) > slots_.size()) {
            grow();
            at = place_of(u);
        }
        slots_[at] = {u, walk_};
        ++size_;
        return true;
    }

  private:
    static constexpr size_t kFewest = 64, kMostKept = size_t{1} << 16;
    struct Slot {
        UOp node;
        uint64_t walk = 0;
    };
    size_t place_of(UOp u) const {
        return place_among(slots_, u, [&](const Slot& slot) { return slot.walk == walk_; });
    }
    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.walk == walk_) slots_[place_of(slot.node)] = slot;
    }

    static thread_local std::vector<Slot> kept;  ///< none while a walk has it
    static thread_local uint64_t walks;

    std::vector<Slot> slots_;
    const uint64_t walk_;
    size_t size_ = 0;
};
thread_local std::vector<Seen::Slot> Seen::kept;
thread_local uint64_t Seen::walks = 0;

constexpr size_t kFewNodes = 64;  // most graphs that are walked have as many at least, or nearly so

}  // namespace

std::vector<UOp> toposort(UOp root, bool (*stop)(UOp)) {
    std::vector<UOp> order;
    Seen seen;
    std::vector<std::pair<UOp, size_t>> stack;
    order.reserve(kFewNodes);
    stack.reserve(kFewNodes);
    const auto enter = [&](UOp u) {
        if (!seen.add(u)) return;
        if (u.src().empty() || (stop && stop(u)))
            order.push_back(u);
        else
            stack.emplace_back(u, 0);
    };
    enter(root);
    while (!stack.empty()) {
        auto& [u, next] = stack.back();
        if (next < u.src().size()) {
            enter(u.src()[next++]);
            continue;
        }
        order.push_back(u);
        stack.pop_back();
    }
    return order;
}

UOp substitute(UOp root, const UOpMap<UOp>& replacements) {
    const std::vector<UOp> order = toposort(root);
    NodeNumbers numbers(order.size());
    std::vector<UOp> made, sources;
    made.reserve(order.size());
    for (UOp u : order) {
        sources.clear();
        for (UOp s : u.src()) sources.push_back(made[numbers.find(s)]);
        const auto found = replacements.find(u);
        numbers.add(u);
        made.push_back(found != replacements.end() ? found->second : u.with_src(sources));
    }
    return made.back();
}

bool depends_on(UOp u, UOp source) {
    for (UOp x : toposort(u))
        if (x == source) return true;
    return false;
}

UOpMap<bool> dependents(std::span<const UOp> order, UOp source) {
    UOpMap<bool> found;
    for (UOp u : order)
        if (u == source || std::ranges::any_of(u.src(), [&](UOp s) { return found.contains(s); })) found[u] = true;
    return found;
}

UOp below_views(UOp u) {
    while (info(u.op()).is(kMovement) && !u.is(Op::pad)) u = u.src(0);
    return u;
}

UOp whole_buffer(UOp view) {
    while (view.is(Op::reshape)) view = view.src(0);
    return view.is(Op::buffer) ? view : UOp();
}

UOp buffer_under(UOp view) {
    while (info(view.op()).is(kMovement) || view.is(Op::pick)) view = view.src(0);
    STRATA_CHECK(view.is(Op::buffer), "a view of a buffer was expected, got {}", to_string(view));
    return view;
}

UOp skip_after(UOp u) {
    while (u.is(Op::after)) u = u.src(0);
    return u;
}

bool writes_memory(UOp u) {
    return u.is(Op::store) || u.is(Op::atomic_add) || u.is(Op::atomic) || u.is(Op::async_copy);
}
UOp memory_of(UOp access) { return skip_after((access.is(Op::index) ? access : access.src(0)).src(0)); }

bool closes_ranges(UOp u) { return u.is(Op::end) || u.is(Op::reduce) || u.is(Op::contract); }
bool closes(UOp u, UOp range) {
    return closes_ranges(u) && std::ranges::find(u.src().subspan(1), range) != u.src().end();
}
bool lists_ranges(UOp u) { return closes_ranges(u) || u.is(Op::scan); }
const RangeArg& range_arg(UOp range) { return range.as<RangeArg>(); }

void number_by_tree(Places& places, UOp sink) {
    uint32_t line = 0;
    for (UOp u : toposort(sink)) places.set(u, ++line);
}

std::vector<UOp> ranges(UOp sink) {
    std::vector<UOp> found;
    for (UOp u : toposort(sink))
        if (u.is(Op::range)) found.push_back(u);
    std::sort(found.begin(), found.end(), [](UOp a, UOp b) { return range_arg(a).id < range_arg(b).id; });
    return found;
}

int next_range_id(UOp sink) {
    const std::vector<UOp> all = ranges(sink);
    return all.empty() ? 0 : range_arg(all.back()).id + 1;
}

}  // namespace strata
