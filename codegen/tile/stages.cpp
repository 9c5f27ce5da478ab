// stages: double buffering of a traced loop.
//
// Before  end(store(local, load(a[f(r)])); barrier; value(load(local)); barrier, r)
// After   end(store(local[r % 2], load(a[f(r)])); barrier; value(load(local[r % 2])), r)
// or with n stages, s = n - 2 steps ahead
//         local[i] = a[f(i)], i below s;  end(store(local[(r + s) % n], load(a[f(min(r + s, last))])); barrier;
//         value(load(local[r % n])), r)
// One barrier a step is enough: who writes a part has passed the barrier after which all have read it. prefetch
// (codegen/linear) reads from memory a step before the store.
#include "strata/codegen/tile/stages.h"

#include <algorithm>

#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"
#include "strata/core/uop/scopes.h"

namespace strata::lang {
namespace {

constexpr int64_t kMostBytes = 128;  // of a thread's registers that wait for memory, as in prefetch
constexpr int64_t kWidest = 16;      // bytes of an access, by which parts are aligned
constexpr int64_t kMostStages = 8;

bool is_in(UOp access, Space space) { return memory_of(access).as<ParamArg>().space == space; }
bool is_access(UOp u) { return u.is(Op::load) || writes_memory(u); }
bool contains(std::span<const UOp> list, UOp u) { return std::ranges::find(list, u) != list.end(); }

class Staging {
  public:
    Staging(const TracedLoop& loop, int64_t stages, int& next_slot)
        : loop_(loop),
          stages_(stages),
          body_(loop.effects.size() == 1 ? loop.effects[0] : uop::group(loop.effects)),
          order_(toposort(body_)),
          of_step_(dependents(order_, loop.range)),
          inner_(inside_of_loops(order_)),
          next_slot_(next_slot) {}

    StagedLoop run() {
        if (stages_ > kMostStages) refuse("there are at most {} stages", kMostStages);
        find_copies();
        check_copies();
        find_barrier();
        find_needless_barriers();
        if (ahead() > 0) fill();
        return rewritten();
    }

  private:
    template <class... Args>
    [[noreturn]] void refuse(fmt::format_string<Args...> why, Args&&... args) const {
        user_error(ErrorKind::Usage, "[range] stages={}: {}", stages_, fmt::format(why, std::forward<Args>(args)...));
    }
    int64_t ahead() const { return stages_ - 2; }
    bool is_of_step(UOp u) const { return of_step_.contains(u); }

    void find_copies() {
        for (UOp u : order_) {
            const bool is_copy = u.is(Op::store) && is_of_step(u) && is_in(u, Space::local) && u.src(1).is(Op::load) &&
                                 is_in(u.src(1), Space::global) && is_of_step(u.src(1)) && !inner_.contains(u);
            if (!is_copy) continue;
            copies_.push_back(u);
            if (!contains(memories_, memory_of(u))) memories_.push_back(memory_of(u));
        }
        if (copies_.empty())
            refuse(
                "the loop copies nothing of a tensor to memory of the block that differs between steps: use "
                "lang.copy_tile");
    }

    void check_copies() const {
        int64_t bytes = 0;
        for (UOp u : copies_) {
            bytes += u.src(1).dtype().bytes();
            for (UOp place : u.src(0).src().subspan(1))
                if (is_of_step(place))
                    refuse("the place in memory of the block depends on the step: leave out its parts, or the stages");
            check_place(u.src(1));
        }
        if (bytes > kMostBytes)
            refuse(
                "a thread copies {} bytes a step, and its registers hold {} ahead: take smaller tiles, or more "
                "threads",
                bytes, kMostBytes);
        for (UOp u : order_) {
            if (!is_of_step(u)) continue;
            if (u.is(Op::break_if))
                refuse("threads leave the loop by themselves. Give all threads as many steps, without break or return");
            if (!is_access(u) || u.is(Op::load)) continue;
            if (contains(memories_, memory_of(u)) && !contains(copies_, u))
                refuse("memory of the block that it copies to is written by something else in the loop too");
            for (UOp copy : copies_)
                if (memory_of(u) == memory_of(copy.src(1)))
                    refuse("the loop writes the tensor that it copies from: what comes ahead would miss that");
        }
        if (!loop_.range.src().empty() && !proves_at_least(loop_.range.src(0), 1))
            refuse(
                "the loop may take no step, and then there is nothing to copy ahead: give it one at least, as by "
                "lang.maximum(steps, 1)");
    }

    /// A step's copies must be known a step before.
    void check_place(UOp load) const {
        for (UOp place : load.src(0).src().subspan(1))
            for (UOp u : toposort(place))
                if (u.is(Op::load) && is_of_step(u) && !is_in(u, Space::global))
                    refuse(
                        "where a step copies from depends on what the step before it computed: compute it from the "
                        "number of the step");
    }

    void find_barrier() {
        for (UOp u : loop_.effects) {
            if (!u.is(Op::barrier)) continue;
            const std::vector<UOp> before = toposort(u);
            if (!std::ranges::all_of(copies_, [&](UOp c) { return contains(before, c); })) continue;
            filled_ = u;
            break;
        }
        if (!filled_)
            refuse("no lang.barrier() of the loop comes after all its copies: what is copied ahead is read after one");
        const UOpMap<bool> after = dependents(order_, filled_);
        for (UOp u : order_)
            if (u.is(Op::load) && is_of_step(u) && contains(memories_, memory_of(u)) && !after.contains(u))
                refuse("memory of the block is read before the barrier that comes after its copies");
    }

    /// Barriers that keep the next step's copies back, which go to another part.
    void find_needless_barriers() {
        if (loop_.is_nested) return;  // its next first step may write the part of its last one
        for (UOp u : order_) {
            if (!is_of_step(u) || !is_access(u) || is_in(u, Space::reg)) continue;
            const bool others_see_it = is_in(u, Space::local) ? !contains(memories_, memory_of(u)) : !u.is(Op::load);
            if (others_see_it) return;
        }
        for (UOp u : loop_.effects) {
            if (!u.is(Op::barrier) || u == filled_) continue;
            const bool is_last =
                std::ranges::none_of(order_, [&](UOp user) { return user != body_ && contains(user.src(), u); });
            if (is_last) needless_.push_back(u);
        }
    }

    int64_t part_of(UOp memory) const {
        const int64_t wide = std::max<int64_t>(kWidest / memory.dtype().bytes(), 1);
        return (memory.as<ParamArg>().size + wide - 1) / wide * wide;
    }
    UOp all_parts_of(UOp memory) {
        UOp& made = parts_[memory];
        if (!made) made = uop::placeholder(stages_ * part_of(memory), memory.dtype(), Space::local, next_slot_++);
        return made;
    }
    UOp turn(UOp memory, int64_t by) const { return simplify((loop_.range + by) % stages_) * part_of(memory); }
    /// An offset and more, its constant last: vectorize finds neighbours by it.
    static UOp moved(UOp offset, UOp by) {
        if (offset.is(Op::add) && offset.src(1).is_const()) return simplify(offset.src(0) + by) + offset.src(1);
        return simplify(offset + by);
    }
    UOp last_step() const {
        const UOp range = loop_.range;
        return range.src().empty() ? index_const(range_arg(range).size - 1) : range.src(0) - 1;
    }

    /// The load for another step, before the loop: nothing writes its tensor in it.
    UOp load_before(UOp load, UOp step) const {
        return simplify(rebuild(load, [&](UOp u, std::vector<UOp>& sources) {
            if (u == loop_.range) return step;
            if (!u.is(Op::after)) return u.with_src(sources);
            std::vector<UOp> earlier;
            for (size_t i = 1; i < sources.size(); ++i)
                if (!is_of_step(u.src(i))) earlier.push_back(sources[i]);
            return uop::after(sources[0], earlier);
        }));
    }

    /// Copies of the first steps.
    void fill() {
        for (int64_t step = 0; step < ahead(); ++step)
            for (UOp copy : copies_) {
                const AtPlaceOf place(copy);
                const UOp memory = memory_of(copy), index = copy.src(0);
                const UOp at = alu(Op::min, {index_const(step), last_step()});
                const UOp to = uop::at(uop::after(all_parts_of(memory), loop_.outer),
                                       moved(index.src(1), index_const(step * part_of(memory))),
                                       index.src().size() > 2 ? index.src(2) : UOp());
                before_.push_back(uop::store(to, load_before(copy.src(1), simplify(at))));
            }
    }

    StagedLoop rewritten() {
        UOpMap<UOp> later;  // what a step copies for another one
        if (ahead() > 0)
            for (UOp copy : copies_) {
                const UOp at = simplify(alu(Op::min, {loop_.range + ahead(), last_step()}));
                later[copy.src(1)] = simplify(substitute(copy.src(1), {{loop_.range, at}}));
            }
        UOpMap<UOp> rebuilt;
        rebuild(order_, rebuilt, [&](UOp u, std::vector<UOp>& sources) {
            if (!is_of_step(u)) return u.with_src(sources);
            if (contains(copies_, u)) return copied(u, sources, later);
            if (u.is(Op::index) && contains(memories_, memory_of(u))) {
                const UOp memory = memory_of(u);
                sources[1] = moved(sources[1], turn(memory, 0));
            }
            if (u == filled_) sources.insert(sources.end(), before_.begin(), before_.end());
            if (u.is(Op::after) && contains(memories_, skip_after(u))) sources[0] = all_parts_of(skip_after(u));
            return u.with_src(sources);
        });
        StagedLoop out{before_, {}, memories_};
        for (UOp u : loop_.effects)
            if (!contains(needless_, u)) out.effects.push_back(rebuilt.at(u));
        return out;
    }

    UOp copied(UOp copy, std::span<const UOp> sources, const UOpMap<UOp>& later) {
        const UOp memory = memory_of(copy), index = copy.src(0);
        // The index of sources is that of what is read in this step.
        const UOp to = uop::at(sources[0].src(0), moved(index.src(1), turn(memory, ahead())),
                               index.src().size() > 2 ? sources[0].src(2) : UOp());
        const auto found = later.find(copy.src(1));
        return uop::store(to, found == later.end() ? sources[1] : found->second);
    }

    const TracedLoop& loop_;
    const int64_t stages_;
    const UOp body_;
    const std::vector<UOp> order_;
    const UOpMap<bool> of_step_, inner_;
    int& next_slot_;
    std::vector<UOp> copies_, memories_, needless_, before_;
    UOp filled_;
    UOpMap<UOp> parts_;
};

}  // namespace

StagedLoop staged(const TracedLoop& loop, int64_t stages, int& next_slot) {
    return Staging(loop, stages, next_slot).run();
}

}  // namespace strata::lang
