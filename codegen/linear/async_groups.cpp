#include "strata/codegen/linear/async_groups.h"

#include <algorithm>
#include <climits>
#include <cstdint>

namespace strata::codegen {

int copies_left_by(std::span<const UOp> ops, UOp wait) {
    int least = INT_MAX, count = 0;
    for (UOp u : ops) {
        if (u.is(Op::break_if)) return 0;  // threads that left copy nothing
        if (u.is(Op::range) || u.is(Op::end)) count = 0;
        count += u.is(Op::async_copy) && u.src(0).src().size() == 2;
        if (!u.is(Op::async_commit)) continue;
        least = std::min(least, count);
        count = 0;
    }
    if (least == INT_MAX) return 0;
    constexpr int64_t kMost = INT_MAX;
    return static_cast<int>(std::min(int64_t{least} * wait.as<IndexArg>().index, kMost));
}

}  // namespace strata::codegen
