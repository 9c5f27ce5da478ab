// reassociate: reassociation. The terms of an offset in the order of the loops they change in, a constant last.
//
// Before  ((r1 * 256 + blockIdx.x * 4096) + threadIdx.x) + 64
// After   ((blockIdx.x * 4096 + threadIdx.x) + r1 * 256) + 64
// Then the part that does not change in a loop is one node, which `order` puts before the loop.
#include <algorithm>

#include "strata/codegen/linear/passes_p.h"

namespace strata::codegen {
namespace {

bool is_sum(UOp u) { return u.is(Op::add) && u.dtype().scalar == Scalar::index; }

void collect_terms(UOp u, std::vector<UOp>& terms) {
    if (!is_sum(u)) return terms.push_back(u);
    for (UOp s : u.src()) collect_terms(s, terms);
}

/// 0 outside of all loops, more for loops further in, most for constants.
int rank(const Scopes& scopes, UOp original) {
    if (original.is_const()) return static_cast<int>(kMaxRanges) + 1;
    return static_cast<int>(std::bit_width(scopes.free(original)));
}

}  // namespace

Result<UOp> reassociate(UOp sink, Context& context) {
    const Scopes& scopes = context.scopes(sink);
    UOpMap<UOp> arranged;
    std::vector<UOp> terms;
    return rebuild(scopes.order(), arranged, [&](UOp u, std::span<const UOp> sources) {
        if (!is_sum(u)) return u.with_src(sources);
        terms.clear();
        collect_terms(u, terms);
        std::vector<std::pair<int, size_t>> places;
        for (size_t i = 0; i < terms.size(); ++i) places.emplace_back(rank(scopes, terms[i]), i);
        std::sort(places.begin(), places.end());
        UOp sum;
        for (auto [_, i] : places) sum = sum ? sum + arranged.at(terms[i]) : arranged.at(terms[i]);
        return sum;
    });
}

}  // namespace strata::codegen
