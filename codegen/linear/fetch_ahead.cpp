// fetch_ahead: what a loop brings from memory to local memory is read one step before.
//
// Before  end(... barrier(load(a[f(r)])) ... store(local, load(a[f(r)])) ... barrier ..., r)
// After   next = load(a[f(0)]);  end(... barrier(next) ... store(local, next) ... barrier; next = load(a[f(min(r + 1, last))]) ..., r)
// so that the step computes while memory answers. Loops have an end each (map_grid), and a register is as wide as what one
// access reads (vectorize).
#include <algorithm>

#include "strata/codegen/linear/passes_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kMostBytes = 128;  // of a thread's registers that wait for memory

bool reads_memory(UOp u) { return u.is(Op::load) && skip_after(u.src(0).src(0)).as<ParamArg>().space == Space::global; }

/// What a step of a loop copies: a barrier that has loads of it, and the one behind the stores to local memory.
struct Copies {
    UOp read, stored;
};

/// Nothing where a load is the same in all steps, or where they take too many registers.
std::optional<Copies> copies_of(UOp end) {
    const auto is_of_the_step = [&](UOp u) { return reads_memory(u) && depends_on(u, end.src(1)); };
    Copies found;
    for (UOp u : toposort(end.src(0))) {
        if (!u.is(Op::barrier)) continue;
        if (found.read && depends_on(u, found.read)) return Copies{found.read, u};
        int64_t bytes = 0;
        for (UOp s : u.src()) bytes += s.dtype().bytes();
        if (bytes > 0 && bytes <= kMostBytes && std::ranges::all_of(u.src(), is_of_the_step)) found.read = u;
    }
    return {};
}

class Fetching {
  public:
    explicit Fetching(UOp sink) : scopes_(sink), next_slot_(next_free_slot(scopes_)) {}

    UOp run() {
        UOpMap<UOp> rebuilt;
        return rebuild(scopes_.order(), rebuilt, [&](UOp u, std::span<const UOp> sources) {
            const UOp same = u.with_src(sources);
            if (!u.is(Op::end) || range_arg(u.src(1)).size < 2) return same;
            const std::optional<Copies> copies = copies_of(same);
            return copies ? fetched_ahead(same, *copies, scopes_.list(scopes_.free(u))) : same;
        });
    }

  private:
    UOp fetched_ahead(UOp end, const Copies& copies, const std::vector<UOp>& around) {
        const UOp range = end.src(1);
        const UOp next = alu(Op::min, {range + 1, index_const(range_arg(range).size - 1)});
        UOpMap<UOp> current;
        std::vector<UOp> fetched;
        for (UOp load : copies.read.src()) {
            const UOp held = uop::placeholder(1, load.dtype(), Space::reg, next_slot_++);
            const auto at = [&](std::span<const UOp> behind) { return uop::at(uop::after(held, behind), 0); };
            const auto of = [&](UOp step) { return simplify(substitute(load, {{range, step}})); };
            const UOp first = uop::store(at(around), of(index_const(0)));
            current[load] = uop::load(at(std::array{first, range}));
            fetched.push_back(uop::store(at(std::array{copies.stored}), of(next)));
        }
        fetched.push_back(end.src(0));
        return uop::end(substitute(uop::group(fetched), current), {range});
    }

    Scopes scopes_;
    int next_slot_;
};

}  // namespace

Result<UOp> fetch_ahead(UOp sink, Context& context) {
    return context.target.fetches_ahead ? Fetching(sink).run() : sink;
}

}  // namespace strata::codegen
