// Facts beside its steps that decide the text of a loop.
#include "strata/codegen/render/loops_p.h"

#include <algorithm>
#include <vector>

namespace strata::codegen {
namespace {

bool is_in(UOp access, Space space) { return memory_of(access).as<ParamArg>().space == space; }

}  // namespace

UOpMap<bool> last_fetches(std::span<const UOp> ops) {
    UOpMap<bool> found;
    std::vector<UOp> last(1);  // of each loop around
    for (UOp u : ops) {
        if (u.is(Op::range)) last.push_back({});
        if (u.is(Op::store) && u.src(1).is(Op::load) && is_in(u, Space::reg) && is_in(u.src(1), Space::global))
            last.back() = u;
        if (!u.is(Op::end)) continue;
        if (last.back()) found[last.back()] = true;
        last.pop_back();
    }
    return found;
}

UOpMap<bool> loops_of_short_steps(std::span<const UOp> ops) {
    UOpMap<bool> found;
    std::vector<UOp> open;
    bool reads = false;
    for (UOp u : ops) {
        if (u.is(Op::range) || u.is(Op::barrier) || u.is(Op::break_if)) reads = false, std::ranges::fill(open, UOp());
        if (u.is(Op::range)) open.push_back(u);
        reads |= u.is(Op::load) && is_in(u, Space::local);
        if (!u.is(Op::end)) continue;
        if (open.back() && reads) found[open.back()] = true;
        open.pop_back(), reads = false;
    }
    return found;
}

}  // namespace strata::codegen
