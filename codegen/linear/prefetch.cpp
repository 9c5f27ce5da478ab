// prefetch: software pipelining. A loop reads its copies from memory to local memory one step before it needs them.
//
// Before  end(... barrier(load(a[f(r)])) ... store(local, load(a[f(r)])) ... barrier ..., r)
// After   next = load(a[f(0)]);  end(... barrier(next) ... store(local, next) ... barrier; next = load(a[f(min(r + 1,
//         last))]) ..., r)
// or, where memory is copied as it is and the target's copies go on by themselves, with local memory for n steps in
// turns
//         local[s] = a[f(s)], s below n - 1;  end(barrier; local[(r + n - 1) % n] = a[f(min(r + n - 1, last))] ..., r)
// or, where a schedule has made local memory for two steps in turns (double_buffer), with its one barrier
//         next = load(a[f(0)]);  end(store(local[r % 2], next) ... barrier; next = load(a[f(min(r + 1, last))]) ..., r)
// so that the step computes while memory answers. Loops have an end each (map_grid), and a register or copy is as wide
// as what one access reads (vectorize). In loops that threads leave by themselves (break_if) nothing is read for a step
// that may not come.
#include <algorithm>
#include <utility>

#include "strata/codegen/linear/passes_p.h"
#include "strata/codegen/target/read_ahead.h"
#include "strata/codegen/target/warpgroup_products.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kMostTurns = 4;  // steps that local memory holds

bool is_in(UOp access, Space space) { return memory_of(access).as<ParamArg>().space == space; }

/// `of_step`: what differs between the steps.
bool is_of_the_step(UOp u, const UOpMap<bool>& of_step) {
    return u.is(Op::load) && is_in(u, Space::global) && of_step.contains(u);
}

/// The copies of a loop's step: loads, which a barrier may have, and the barrier after the stores to local
/// memory.
struct Copies {
    std::vector<UOp> loads;
    UOp read, stored;
    int64_t bytes;  ///< of a thread
};

/// Nothing where a load is the same in all steps.
std::optional<Copies> copies_of(UOp end) {
    Copies found{{}, {}, {}, 0};
    const std::vector<UOp> order = toposort(end.src(0));
    const UOpMap<bool> of_step = dependents(order, end.src(1)), inside = inside_of_loops(order);
    for (UOp u : order) {
        if (!u.is(Op::barrier) || inside.contains(u)) continue;
        if (found.read && depends_on(u, found.read)) {
            found.loads.assign(found.read.src().begin(), found.read.src().end());
            found.stored = u;
            return found;
        }
        int64_t bytes = 0;
        for (UOp s : u.src()) bytes += s.dtype().bytes();
        if (bytes > 0 && std::ranges::all_of(u.src(), [&](UOp s) { return is_of_the_step(s, of_step); }))
            found.read = u, found.bytes = bytes;
    }
    return {};
}

/// Copies to local memory at another place in the next step, as where steps have it in turns; of memory that nobody
/// writes.
std::optional<Copies> copies_in_turns(UOp end, const Scopes& scopes) {
    UOpMap<bool> written;
    for (UOp u : scopes.order())
        if (u.is(Op::store)) written[memory_of(u)] = true;
    Copies found{{}, {}, {}, 0};
    const std::vector<UOp> order = toposort(end.src(0));
    const UOpMap<bool> of_step = dependents(order, end.src(1)), inside = inside_of_loops(order);
    for (UOp u : order) {
        if (!u.is(Op::barrier) || inside.contains(u)) continue;
        const std::vector<UOp> before = toposort(u);
        const auto stored = [&](UOp s) {
            return s.is(Op::store) && is_in(s, Space::local) && of_step.contains(s.src(0).src(1));
        };
        if (std::ranges::none_of(before, stored)) continue;
        for (UOp load : before)
            if (is_of_the_step(load, of_step) && !written.contains(memory_of(load)))
                found.loads.push_back(load), found.bytes += load.dtype().bytes();
        found.stored = u;
        return found;
    }
    return {};
}

/// Stores between the two barriers that put a load into local memory unchanged. Empty where a store does anything else,
/// or is no copy that PTX's cp.async makes: of 4, 8 or 16 bytes.
std::vector<UOp> plain_copies(const Copies& copies, UOp range) {
    std::vector<UOp> stores;
    const std::vector<UOp> order = toposort(copies.stored);
    const UOpMap<bool> of_step = dependents(order, range), behind_read = dependents(order, copies.read);
    for (UOp u : order) {
        if (!u.is(Op::store) || !behind_read.contains(u)) continue;
        const int bytes = u.src(1).dtype().bytes();
        const bool is_plain = u.src(0).src().size() == 2 &&
                              std::ranges::find(copies.loads, u.src(1)) != copies.loads.end() &&
                              u.src(1).src(0).src().size() == 2 && !of_step.contains(u.src(0).src(1));
        if (!is_plain || (bytes != 4 && bytes != 8 && bytes != 16)) return {};
        stores.push_back(u);
    }
    return stores;
}

class Fetching {
  public:
    Fetching(UOp sink, Context& context)
        : scopes_(context.scopes(sink)),
          program_(context.program),
          target_(context.target),
          next_slot_(next_free_slot(scopes_)) {
        for (UOp u : scopes_.order())
            if (u.is(Op::param) && u.as<ParamArg>().space == Space::local)
                lds_ += u.as<ParamArg>().size * u.dtype().bytes();
            else if (warpgroup_product(u))
                ++products_of_groups_;
    }

    UOp run() {
        UOpMap<UOp> rebuilt;
        return rebuild(scopes_.order(), rebuilt, [&](UOp u, std::span<const UOp> sources) {
            const UOp same = u.with_src(sources);
            if (!u.is(Op::end) || range_arg(u.src(1)).size < 2 || has_breaks(same.src(0))) return same;
            const std::vector<UOp> around = scopes_.list(scopes_.free(u));
            const std::optional<Copies> copies = is_read_ahead(same) ? copies_of(same) : std::nullopt;
            if (!copies) {
                const std::optional<Copies> turns = copies_in_turns(same, scopes_);
                return turns && turns->bytes <= kMostBytesAhead ? fetched_ahead(same, *turns, around) : same;
            }
            const std::vector<UOp> stores = plain_copies(*copies, same.src(1));
            // A loop that starts again would write what a last step without a second one still reads.
            const bool in_turns =
                around.empty() && !stores.empty() && lds_ + bytes_of_memories(stores) <= target_.lds_bytes;
            if (target_.ahead == Ahead::copies && in_turns) return copied_ahead(same, *copies, stores);
            return copies->bytes <= kMostBytesAhead ? fetched_ahead(same, *copies, around) : same;
        });
    }

  private:
    /// Where sums have registers of their own, a loop that multiplies matrices has registers for a step ahead.
    bool is_read_ahead(UOp end) const {
        return target_.ahead != Ahead::scheduled ||
               (reads_matrices_ahead(target_) &&
                std::ranges::any_of(toposort(end.src(0)), [](UOp u) { return u.is(Op::wmma); }));
    }
    static bool has_breaks(UOp body) {
        return std::ranges::any_of(toposort(body), [](UOp u) { return u.is(Op::break_if); });
    }
    /// A step, or the last one that there is: the first where there is none.
    static UOp at_most_last(UOp step, UOp range) {
        if (range.src().empty()) return alu(Op::min, {step, index_const(range_arg(range).size - 1)});
        const UOp steps = range.src(0);
        return alu(Op::min, {step, proves_at_least(steps, 1) ? steps - 1 : alu(Op::max, {steps - 1, index_const(0)})});
    }
    static UOp last_or_next(UOp range, int64_t by = 1) { return at_most_last(range + by, range); }
    /// An offset and more, its constant last: addresses that differ by that alone are one register.
    static UOp moved(UOp offset, UOp by) {
        if (offset.is(Op::add) && offset.src(1).is_const()) return offset.src(0) + by + offset.src(1);
        return offset + by;
    }
    static int64_t bytes_of_memories(std::span<const UOp> stores) {
        UOpMap<bool> counted;
        int64_t bytes = 0;
        for (UOp store : stores)
            if (const UOp memory = memory_of(store); !std::exchange(counted[memory], true))
                bytes += memory.as<ParamArg>().size * memory.dtype().bytes();
        return bytes;
    }
    /// Steps that local memory holds of what these store: as many as leave room for a second block on the unit, two in
    /// any case. Warpgroups that multiply have sums in most of a unit's registers, so that one block is there. With
    /// several products, as in attention, two steps and more blocks are faster.
    int64_t turns(UOp range, std::span<const UOp> stores) const {
        if (products_of_groups_ > 1) return 2;
        const int64_t bytes = bytes_of_memories(stores), others = lds_ - bytes;
        const int64_t fit = (target_.lds_bytes / (products_of_groups_ ? 1 : 2) - others) / bytes;
        return std::clamp<int64_t>(std::min(fit, range_arg(range).size), 2, kMostTurns);
    }
    static UOp at_step(UOp load, UOp range, UOp step) { return simplify(substitute(load, {{range, step}})); }

    UOp fetched_ahead(UOp end, const Copies& copies, const std::vector<UOp>& around) {
        const UOp range = end.src(1);
        UOpMap<UOp> current;
        std::vector<UOp> fetched;
        for (UOp load : copies.loads) {
            const UOp held = uop::placeholder(1, load.dtype(), Space::reg, next_slot_++);
            const auto at = [&](std::span<const UOp> behind) { return uop::at(uop::after(held, behind), 0); };
            const UOp first = uop::store(at(around), at_step(load, range, index_const(0)));
            current[load] = uop::load(at(std::array{first, range}));
            fetched.push_back(uop::store(at(std::array{copies.stored}), at_step(load, range, last_or_next(range))));
        }
        fetched.push_back(end.src(0));
        return uop::end(substitute(uop::group(fetched), current), {range});
    }

    /// One barrier a step: after it copies of this step are there, and nobody reads what the next one's overwrite.
    /// Where groups of waves multiply, and nothing but that, products of the step before may still read theirs.
    UOp copied_ahead(UOp end, const Copies& copies, std::span<const UOp> stores) {
        const UOp range = end.src(1);
        const int64_t all = turns(range, stores), read = products_of_groups_ == 1 && all > 2 ? 2 : 1,
                      ahead = all - read;
        UOpMap<UOp> held;  // local memory for all of them
        const auto steps_apart = [](UOp memory) {
            const int64_t wide = std::max<int64_t>(16 / memory.dtype().bytes(), 1);
            return (memory.as<ParamArg>().size + wide - 1) / wide * wide;
        };
        const auto turn = [&](UOp memory, UOp step) { return simplify(step % all) * steps_apart(memory); };
        std::vector<UOp> before{range}, meanwhile;
        for (UOp store : stores) {
            const UOp memory = memory_of(store);
            if (UOp& steps = held[memory]; !steps)
                steps = uop::placeholder(all * steps_apart(memory), memory.dtype(), Space::local,
                                         memory.as<ParamArg>().slot);
        }
        // In order of steps: a step's copies are waited for before those after them.
        for (int64_t step = 0; step < ahead; ++step) {
            const std::vector<UOp> earlier = before;
            for (UOp store : stores) {
                const UOp memory = memory_of(store), first = store.src(0).src(1);
                const UOp place = step ? first + step * steps_apart(memory) : first;
                const UOp to = uop::after(held[memory], std::span(earlier).subspan(1));
                before.push_back(uop::store(uop::at(to, place),
                                            at_step(store.src(1), range, at_most_last(index_const(step), range))));
            }
        }
        const UOp filled = uop::barrier(before);
        for (UOp store : stores) {
            const UOp memory = memory_of(store), place = moved(store.src(0).src(1), turn(memory, range + ahead));
            meanwhile.push_back(uop::store(uop::at(uop::after(held[memory], {filled}), place),
                                           at_step(store.src(1), range, last_or_next(range, ahead))));
        }
        const UOp body = substitute(end.src(0), {{copies.stored, filled}});
        meanwhile.push_back(rebuild(body, [&](UOp u, std::span<const UOp> sources) {
            const bool is_staged = u.is(Op::index) && held.contains(memory_of(u));
            if (!is_staged) return u.with_src(sources);
            const UOp memory = memory_of(u);
            return uop::at(uop::after(held[memory], {filled}), moved(sources[1], turn(memory, range)));
        }));
        program_.copies_ahead = true, program_.async_products = read > 1;
        return uop::end(uop::group(meanwhile), {range});
    }

    const Scopes& scopes_;
    LinearProgram& program_;
    const Target& target_;
    int64_t lds_ = 0;
    int products_of_groups_ = 0;
    int next_slot_;
};

}  // namespace

Result<UOp> prefetch(UOp sink, Context& context) { return Fetching(sink, context).run(); }

}  // namespace strata::codegen
