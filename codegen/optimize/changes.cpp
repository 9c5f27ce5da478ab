// What each schedule action makes of a kernel: it replaces one range, or two, by expressions over new ranges.
#include <algorithm>
#include <array>

#include "strata/codegen/optimize/actions_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

int next_id(UOp sink) {
    int id = 0;
    for (UOp r : ranges(sink)) id = std::max(id, range_arg(r).id + 1);
    return id;
}

/// range = outer * amount + inner; inner alone when nothing is left of the outer part.
Result<Kernel> split(const Site& site, Axis inner_axis) {
    const Kernel& kernel = site.kernel;
    const UOp range = site.range();
    const int64_t amount = site.amount;
    const RangeArg& r = range_arg(range);
    if (amount < 2 || r.size % amount != 0)
        return make_error(ErrorKind::Usage, "cannot split a range of {} by {}", r.size, amount);
    UOp inner = uop::range(amount, next_id(kernel.sink), inner_axis);
    if (r.size == amount)
        return Kernel{simplify(replace_range(kernel.sink, range, inner, std::array{inner})), kernel.name};
    UOp outer = uop::range(r.size / amount, r.id, r.axis);
    UOp sink = replace_range(kernel.sink, range, outer * amount + inner, std::array{outer, inner});
    return Kernel{simplify(sink), kernel.name};
}

/// The place, touched only where `inside` holds too.
UOp gated(UOp place, UOp inside) {
    UOp gate = place.src().size() == 3 ? place.src(2) : UOp();
    return uop::at(place.src(0), place.src(1), uop::both(gate, inside));
}

bool holds_in(UOp condition, UOp gate) {
    return gate == condition ||
           (gate.is(Op::bit_and) && (holds_in(condition, gate.src(0)) || holds_in(condition, gate.src(1))));
}

/// Whether a value made of loads is zero wherever a condition of theirs does not hold.
bool is_zero_outside(UOp value, UOp inside) {
    if (value.is(Op::load)) {
        const UOp place = value.src(0);
        return place.src().size() == 3 && value.src(1).is_const() && const_value(value.src(1)) == 0 &&
               holds_in(inside, place.src(2));
    }
    if (value.is(Op::cast)) return is_zero_outside(value.src(0), inside);
    return value.is(Op::mul) && is_zero_outside(value.src(0), inside) && is_zero_outside(value.src(1), inside);
}

}  // namespace

UOp replace_range(UOp sink, UOp old, UOp value, std::span<const UOp> parts) {
    return rebuild(sink, [&](UOp u, std::vector<UOp>& sources) {
        if (u == old) return value;
        if (auto closed = closes_ranges(u) ? std::find(u.src().begin() + 1, u.src().end(), old) : u.src().end();
            closed != u.src().end()) {
            auto at = sources.erase(sources.begin() + (closed - u.src().begin()));
            sources.insert(at, parts.begin(), parts.end());
        }
        return u.with_src(sources);
    });
}

namespace actions {

Result<Kernel> local(const Site& site) { return split(site, Axis::local); }
Result<Kernel> upcast(const Site& site) { return split(site, Axis::upcast); }
Result<Kernel> group(const Site& site) { return split(site, Axis::group); }
Result<Kernel> unroll(const Site& site) { return split(site, Axis::unroll); }

/// Rounds a range up: loads, stores and checks of indices beyond the old size are masked, reductions see their identity
/// there.
Result<Kernel> pad(const Site& site) {
    const Kernel& kernel = site.kernel;
    const UOp range = site.range();
    const int64_t multiple = site.amount;
    const RangeArg& r = range_arg(range);
    bool fits = multiple > 1 && multiple <= r.size * 2;
    int64_t size = fits ? (r.size + multiple - 1) / multiple * multiple : 0;
    if (!fits || size == r.size || size > r.size * 2)
        return make_error(ErrorKind::Usage, "padding a range of {} to a multiple of {} is of no use", r.size, multiple);
    UOp wide = uop::range(size, r.id, r.axis), inside = wide < r.size;
    UOp sink = replace_range(kernel.sink, range, wide, std::array{wide});
    UOp masked = rebuild(sink, [&](UOp u, std::vector<UOp>& sources) {
        bool touches = (u.is(Op::load) || u.is(Op::store)) && depends_on(u.src(0), wide);
        if (touches) sources[0] = gated(sources[0], inside);
        if (u.is(Op::bounded) && depends_on(u.src(0), wide))
            sources[0] = alu(Op::where, {inside, sources[0], constant(u.dtype(), 0)});
        if (touches && u.is(Op::load)) return uop::load(sources[0], sources.size() > 1 ? sources[1] : UOp());
        const bool reduces = u.is(Op::reduce) && std::find(u.src().begin() + 1, u.src().end(), wide) != u.src().end();
        if (reduces && !(u.as<ReduceArg>().op == Op::add && is_zero_outside(sources[0], inside)))
            sources[0] = alu(Op::where, {inside, sources[0], identity(u.as<ReduceArg>().op, u.dtype())});
        return u.with_src(sources);
    });
    return Kernel{simplify(masked), kernel.name};
}

Result<Kernel> swap(const Site& site) {
    const Kernel& kernel = site.kernel;
    const std::span<const UOp> axes = site.axes;
    const size_t at = site.at;
    if (at + 1 >= axes.size()) return make_error(ErrorKind::Usage, "swap({}): no output range after it", at);
    const RangeArg &a = range_arg(axes[at]), &b = range_arg(axes[at + 1]);
    UOp first = uop::range(a.size, b.id, a.axis), second = uop::range(b.size, a.id, b.axis);
    UOp aside = uop::range(a.size, next_id(kernel.sink), a.axis);  // first is the other range itself when sizes agree
    UOp sink = replace_range(kernel.sink, axes[at], aside, std::array{aside});
    sink = replace_range(sink, axes[at + 1], second, std::array{second});
    return Kernel{replace_range(sink, aside, first, std::array{first}), kernel.name};
}

}  // namespace actions
}  // namespace strata::codegen
