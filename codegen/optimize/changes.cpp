// What each schedule action makes of a kernel: it replaces one range, or two, by expressions over new ranges.
#include <algorithm>
#include <array>

#include "strata/codegen/optimize/actions_p.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

bool closes_ranges(UOp u) { return u.is(Op::end) || u.is(Op::reduce); }

int next_id(UOp sink) {
    int id = 0;
    for (UOp r : ranges(sink)) id = std::max(id, r.as<RangeArg>().id + 1);
    return id;
}

/// range = outer * amount + inner; inner alone when nothing is left of the outer part.
Result<Kernel> split(const Site& site, Axis inner_axis) {
    const Kernel& kernel = site.kernel;
    const UOp range = site.range();
    const int64_t amount = site.amount;
    const RangeArg& r = range.as<RangeArg>();
    if (amount < 2 || r.size % amount != 0)
        return make_error(ErrorKind::Usage, "cannot split a range of {} by {}", r.size, amount);
    UOp inner = new_range(next_id(kernel.sink), amount, inner_axis);
    if (r.size == amount)
        return Kernel{simplify(replace_range(kernel.sink, range, inner, std::array{inner})), kernel.name};
    UOp outer = new_range(r.id, r.size / amount, r.axis);
    UOp sink = replace_range(kernel.sink, range, outer * amount + inner, std::array{outer, inner});
    return Kernel{simplify(sink), kernel.name};
}

/// The place, touched only where `inside` holds too.
UOp gated(UOp place, UOp inside) {
    std::vector<UOp> sources(place.src().begin(), place.src().end());
    if (sources.size() == 3)
        sources[2] = alu(Op::bit_and, {sources[2], inside});
    else
        sources.push_back(inside);
    return make(Op::index, place.dtype(), sources);
}

UOp gated_load(UOp load, UOp inside) {
    UOp other = load.src().size() > 1 ? load.src(1) : constant(load.dtype(), 0);
    return make(Op::load, load.dtype(), {gated(load.src(0), inside), other});
}

bool depends_on(UOp u, UOp range) {
    for (UOp x : toposort(u))
        if (x == range) return true;
    return false;
}

}  // namespace

UOp replace_range(UOp sink, UOp old, UOp value, std::span<const UOp> parts) {
    UOpMap<UOp> rebuilt{{old, value}};
    std::vector<UOp> sources;
    for (UOp u : toposort(sink)) {
        if (u == old) continue;
        sources.clear();
        for (size_t i = 0; i < u.src().size(); ++i) {
            UOp s = u.src()[i];
            if (s == old && closes_ranges(u) && i > 0)
                sources.insert(sources.end(), parts.begin(), parts.end());
            else
                sources.push_back(rebuilt.at(s));
        }
        rebuilt[u] = u.with_src(sources);
    }
    return rebuilt.at(sink);
}

UOp new_range(int id, int64_t size, Axis axis) { return make(Op::range, dtypes::index, {}, RangeArg{id, size, axis}); }

namespace actions {

Result<Kernel> local(const Site& site) { return split(site, Axis::local); }
Result<Kernel> upcast(const Site& site) { return split(site, Axis::upcast); }
Result<Kernel> group(const Site& site) { return split(site, Axis::group); }
Result<Kernel> unroll(const Site& site) { return split(site, Axis::unroll); }

/// Rounds a range up: loads and stores beyond the old size are masked, reductions see their identity there.
Result<Kernel> pad(const Site& site) {
    const Kernel& kernel = site.kernel;
    const UOp range = site.range();
    const int64_t multiple = site.amount;
    const RangeArg& r = range.as<RangeArg>();
    bool fits = multiple > 1 && multiple <= r.size * 2;
    int64_t size = fits ? (r.size + multiple - 1) / multiple * multiple : 0;
    if (!fits || size == r.size || size > r.size * 2)
        return make_error(ErrorKind::Usage, "padding a range of {} to a multiple of {} is of no use", r.size, multiple);
    UOp wide = new_range(r.id, size, r.axis), inside = wide < r.size;
    UOp sink = replace_range(kernel.sink, range, wide, std::array{wide});
    UOpMap<UOp> rebuilt;
    std::vector<UOp> sources;
    for (UOp u : toposort(sink)) {
        sources.clear();
        for (UOp s : u.src()) sources.push_back(rebuilt.at(s));
        UOp next = u.with_src(sources);
        if (u.is(Op::load) && depends_on(u.src(0), wide)) {
            next = gated_load(next, inside);
        } else if (u.is(Op::reduce) && std::find(u.src().begin() + 1, u.src().end(), wide) != u.src().end()) {
            sources[0] = alu(Op::where, {inside, sources[0], identity(u.as<ReduceArg>().op, u.dtype())});
            next = u.with_src(sources);
        } else if (u.is(Op::store) && depends_on(u.src(0), wide)) {
            sources[0] = gated(sources[0], inside);
            next = u.with_src(sources);
        }
        rebuilt[u] = next;
    }
    return Kernel{simplify(rebuilt.at(sink)), kernel.name};
}

Result<Kernel> swap(const Site& site) {
    const Kernel& kernel = site.kernel;
    const std::span<const UOp> axes = site.axes;
    const size_t at = site.at;
    if (at + 1 >= axes.size()) return make_error(ErrorKind::Usage, "swap({}): no output range after it", at);
    const RangeArg &a = axes[at].as<RangeArg>(), &b = axes[at + 1].as<RangeArg>();
    UOp first = new_range(b.id, a.size, a.axis), second = new_range(a.id, b.size, b.axis);
    UOp aside = new_range(next_id(kernel.sink), a.size, a.axis);  // first is the other range itself when sizes agree
    UOp sink = replace_range(kernel.sink, axes[at], aside, std::array{aside});
    sink = replace_range(sink, axes[at + 1], second, std::array{second});
    return Kernel{replace_range(sink, aside, first, std::array{first}), kernel.name};
}

}  // namespace actions
}  // namespace strata::codegen
