// Applies one schedule action to a kernel: it replaces one range, or two, by expressions over new ranges. A persistent
// kernel and rasterisation are such actions.
#include <algorithm>
#include <array>

#include "strata/codegen/kernel/widen.h"
#include "strata/codegen/optimize/actions_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"
#include "strata/core/uop/uop_set.h"

namespace strata::codegen {
namespace {

enum class Part { fast, slow };

/// The fast part of a range, or the slow one, becomes a range of the other axis: range = slow * size of fast + fast.
/// Nothing is left of the range where the part is all of it.
Result<Kernel> split(const Site& site, Axis axis, Part part = Part::fast) {
    const Kernel& kernel = site.kernel;
    const UOp range = site.range();
    const int64_t amount = site.amount;
    const RangeArg& r = range_arg(range);
    if (amount < 2 || r.size % amount != 0)
        return make_error(ErrorKind::Usage, "cannot split a range of {} by {}", r.size, amount);
    UOp taken = uop::range(amount, next_range_id(kernel.sink), axis);
    if (r.size == amount)
        return Kernel{simplify(replace_range(kernel.sink, range, taken, std::array{taken})), kernel.name};
    UOp left = uop::range(r.size / amount, r.id, r.axis);
    const auto [slow, fast] = part == Part::slow ? std::pair(taken, left) : std::pair(left, taken);
    UOp sink = replace_range(kernel.sink, range, slow * range_arg(fast).size + fast, std::array{slow, fast});
    return Kernel{simplify(sink), kernel.name};
}

/// The kernel whose loops over rows, which its end walks again, are inside all others. A row is reduced once, before an
/// element of it is stored.
Kernel rows_inside(Kernel kernel) {
    UOpSet ended;
    for (UOp u : toposort(kernel.sink))
        if (u.is(Op::end)) ended.insert(u.src().begin() + 1, u.src().end());
    for (UOp r : ranges(kernel.sink)) {
        if (range_arg(r).axis != Axis::reduce || !ended.contains(r)) continue;
        const UOp inside = uop::range(range_arg(r).size, next_range_id(kernel.sink), Axis::reduce);
        kernel.sink = replace_range(kernel.sink, r, inside, std::array{inside});
    }
    return kernel;
}

}  // namespace

namespace actions {

Result<Kernel> local(const Site& site) { return split(site, Axis::local); }
Result<Kernel> lane(const Site& site) {
    if (std::ranges::any_of(ranges(site.kernel.sink), [](UOp r) { return range_arg(r).axis == Axis::lane; }))
        return make_error(ErrorKind::Usage, "the kernel has lanes already");
    return split(site, Axis::lane);
}
Result<Kernel> upcast(const Site& site) { return split(site, Axis::upcast); }
Result<Kernel> group(const Site& site) { return split(site, Axis::group); }
Result<Kernel> group_runs(const Site& site) {
    // The loop of a scan goes around its threads: a step of all before the next.
    for (UOp u : toposort(site.kernel.sink))
        if (u.is(Op::scan) && std::ranges::find(u.src(), site.range()) != u.src().end())
            return make_error(ErrorKind::Usage, "a scan takes a step of all threads after the other");
    return split(site, Axis::group, Part::slow);
}
Result<Kernel> raster(const Site& site) { return split(site, Axis::global); }
Result<Kernel> persist(const Site& site) {
    // The loop would stand inside that of a scan, whose registers hold one row.
    if (std::ranges::any_of(toposort(site.kernel.sink), [](UOp u) { return u.is(Op::scan); }))
        return make_error(ErrorKind::Usage, "blocks that go on to other rows cannot hold a scan");
    STRATA_TRY(Kernel kernel, split(site, Axis::loop, Part::slow));
    return rows_inside(std::move(kernel));
}
Result<Kernel> unroll(const Site& site) { return split(site, Axis::unroll); }

Result<Kernel> pad(const Site& site) {
    const Kernel& kernel = site.kernel;
    const UOp range = site.range();
    const int64_t multiple = site.amount;
    const RangeArg& r = range_arg(range);
    bool fits = multiple > 1 && multiple <= r.size * 2;
    int64_t size = fits ? (r.size + multiple - 1) / multiple * multiple : 0;
    if (!fits || size == r.size || size > r.size * 2)
        return make_error(ErrorKind::Usage, "padding a range of {} to a multiple of {} is of no use", r.size, multiple);
    return Kernel{simplify(widen_range(kernel.sink, range, uop::range(size, r.id, r.axis))), kernel.name};
}

Result<Kernel> join(const Site& site) {
    const int64_t fast_at = static_cast<int64_t>(site.at) + site.amount;
    if (site.amount < 1 || fast_at >= static_cast<int64_t>(site.axes.size()))
        return make_error(ErrorKind::Usage, "join({}, {}): no output range there", site.at, site.amount);
    const UOp slow = site.range(), fast = site.axes[static_cast<size_t>(fast_at)];
    const auto lists = [](UOp u, UOp range) {
        return std::find(u.src().begin() + 1, u.src().end(), range) != u.src().end();
    };
    for (UOp u : toposort(site.kernel.sink))
        if (closes_ranges(u) && lists(u, slow) != lists(u, fast))
            return make_error(ErrorKind::Usage, "join({}, {}): one of both ends before the other", site.at,
                              site.amount);
    const int64_t size = range_arg(fast).size;
    const UOp joined = uop::range(range_arg(slow).size * size, range_arg(slow).id, range_arg(slow).axis);
    const UOp sink = replace_range(site.kernel.sink, slow, joined / size, std::array{joined});
    return Kernel{simplify(replace_range(sink, fast, joined % size, {})), site.kernel.name};
}

Result<Kernel> swap(const Site& site) {
    const Kernel& kernel = site.kernel;
    const std::span<const UOp> axes = site.axes;
    const size_t at = site.at;
    if (at + 1 >= axes.size()) return make_error(ErrorKind::Usage, "swap({}): no output range after it", at);
    const RangeArg &a = range_arg(axes[at]), &b = range_arg(axes[at + 1]);
    UOp first = uop::range(a.size, b.id, a.axis), second = uop::range(b.size, a.id, b.axis);
    UOp aside =
        uop::range(a.size, next_range_id(kernel.sink), a.axis);  // first is the other range itself when sizes agree
    UOp sink = replace_range(kernel.sink, axes[at], aside, std::array{aside});
    sink = replace_range(sink, axes[at + 1], second, std::array{second});
    return Kernel{replace_range(sink, aside, first, std::array{first}), kernel.name};
}

}  // namespace actions
}  // namespace strata::codegen
