#include "strata/codegen/select/memory/known_predicates.h"

#include <algorithm>

namespace strata::codegen {
namespace {

constexpr double kOften = 0.25;

double count(Bounds of) { return std::max(static_cast<double>(of.high) - static_cast<double>(of.low) + 1, 0.0); }

}  // namespace

bool KnownPredicates::hold_often(UOp predicate) {
    Values values;
    narrow(predicate, values);
    double all = 1;
    for (const auto& [value, held] : values) all *= count(held) / count(bounds(value));
    return all >= kOften;
}

/// True if lanes may differ in it.
bool KnownPredicates::varies(UOp u) {
    if (const auto found = varies_.find(u); found != varies_.end()) return found->second;
    const bool of_lane = u.is(Op::load) || (u.is(Op::special) && u.as<SpecialArg>().thread);
    const bool differs = of_lane || std::ranges::any_of(u.src(), [&](UOp s) { return varies(s); });
    return varies_[u] = differs;
}

/// Narrows the values for which a predicate holds of what lanes share, as far as comparisons with constants tell.
void KnownPredicates::narrow(UOp predicate, Values& values) {
    predicate = skip_after(predicate);
    if (predicate.is(Op::bit_and))
        for (UOp part : predicate.src()) narrow(part, values);
    if (!predicate.is(Op::cmplt) || varies(predicate)) return;
    const UOp a = predicate.src(0), b = predicate.src(1);
    auto held = [&](UOp value) -> Bounds& {
        const auto found = std::ranges::find(values, value, [](const auto& one) { return one.first; });
        return found != values.end() ? found->second : values.emplace_back(value, bounds(value)).second;
    };
    if (b.is_const()) {
        Bounds& all = held(a);
        all.high = std::min(all.high, const_int(b) - 1);
    } else if (a.is_const()) {
        Bounds& all = held(b);
        all.low = std::max(all.low, const_int(a) + 1);
    }
}

}  // namespace strata::codegen
