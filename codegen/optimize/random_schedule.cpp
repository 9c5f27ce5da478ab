// random_schedule: actions drawn from all that may be applied, of which none may change what a kernel computes.
#include <algorithm>

#include "strata/codegen/optimize/actions_p.h"
#include "strata/core/support/hash.h"

namespace strata::codegen {
namespace {

constexpr int kDrawn = 24;                   // many of them do not fit
constexpr size_t kMostDrawnNodes = 1 << 13;  // of all copies, so that compilers do not take seconds for a kernel
constexpr int64_t kAmounts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 64, 128, 256};

class Draws {
  public:
    explicit Draws(uint64_t seed) : state_(seed) {}
    size_t below(size_t n) { return static_cast<size_t>((state_ = hash_mix(state_, n)) % n); }

  private:
    uint64_t state_;
};

size_t unrolled_nodes(const Kernel& kernel) {
    size_t copies = 1;
    for (UOp r : ranges(kernel.sink))
        if (range_arg(r).axis == Axis::upcast || range_arg(r).axis == Axis::unroll)
            copies *= static_cast<size_t>(range_arg(r).size);
    return copies * toposort(kernel.sink).size();
}

}  // namespace

Scheduled random_schedule(const Kernel& kernel, const Target& target, uint64_t seed) {
    const std::string content = content_hash(tree(kernel.sink));
    for (const char digit : content) seed = hash_mix(seed, static_cast<uint64_t>(digit));
    Draws draws(seed);
    Scheduled made{kernel, {}};
    const size_t most = draws.below(kDrawn + 1);
    for (size_t i = 0; i < most; ++i) {
        const auto kind = static_cast<ActionKind>(draws.below(action_rows().size()));
        const size_t axes = axes_of(made.kernel, kind).size(), at = draws.below(std::max<size_t>(axes, 1));
        const Action action{kind, static_cast<int>(at), kAmounts[draws.below(std::size(kAmounts))]};
        Result<Kernel> next = apply(made.kernel, action, target);
        if (!next || unrolled_nodes(*next) > std::max(kMostDrawnNodes, unrolled_nodes(made.kernel))) continue;
        made.kernel = *std::move(next);
        made.actions.push_back(action);
    }
    return made;
}

}  // namespace strata::codegen
