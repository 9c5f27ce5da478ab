// build_kernel: a tensor-level body over buffers -> loops over ranges.
//
// Before  body: elementwise, movement, reduce, take, iota, constant over buffers
// After   sink(end(store(index(param 0, offset), value), output ranges)); see kernel.h; of several bodies a group of
//         stores
// There is one range an axis of the output and one an axis of each reduction. A row that is reduced and walked again
// has the same range. A value is built at coordinates, and movement ops change the coordinates on the way down.
#include "strata/codegen/kernel/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "strata/codegen/kernel/attention_p.h"
#include "strata/codegen/kernel/coordinates.h"
#include "strata/codegen/kernel/last_block.h"
#include "strata/codegen/schedule/attention.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"
#include "strata/core/uop/verify.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

/// The axes along which the body is as long as what it reduces or scans: each of its rows is reduced, and walked again.
std::vector<int> row_axes(const std::vector<UOp>& order, const Shape& body) {
    for (UOp u : order) {
        const bool reduces = u.is(Op::reduce) && u.numel() > 0 && u.numel() < u.src(0).numel();
        if ((reduces || u.is(Op::scan)) && u.src(0).shape() == body) return u.as<ReduceArg>().axes;
    }
    return {};
}

/// True if other axes stand between those that are reduced.
bool is_apart(UOp reduction) {
    const std::vector<int>& axes = reduction.as<ReduceArg>().axes;
    const Shape& shape = reduction.src(0).shape();
    int last = -1, groups = 0;
    for (int i = 0, seen = 0; i < static_cast<int>(shape.size()); ++i) {
        if (shape[static_cast<size_t>(i)] == 1) continue;
        ++seen;
        if (std::ranges::find(axes, i) == axes.end()) continue;
        groups += seen != last + 1;
        last = seen;
    }
    return groups > 1;
}

/// A reduction along axes that are no neighbours, whose results are repeated along them: its rows are walked as if they
/// were one axis.
UOp row_in_parts(const std::vector<UOp>& order) {
    for (UOp u : order)
        if (u.is(Op::reduce) && u.numel() > 0 && u.numel() < u.src(0).numel() && is_apart(u))
            for (UOp e : order)
                if (e.is(Op::expand) && e.shape() == u.src(0).shape() && e.src(0).shape() == u.shape()) return u;
    return UOp();
}

class Builder {
  public:
    BoundKernel run(const ScheduleItem& item) {
        const std::vector<UOp> outputs = item.outputs(), bodies = item.bodies();
        for (UOp output : outputs) bind(output);
        const Shape& shape = item.body.shape();
        Coordinates at;
        std::vector<UOp> ranges, stores;
        const std::vector<UOp> order = bodies.size() == 1 ? toposort(item.body) : in_order(bodies);
        const std::vector<Attention> attention = find_attention(item);
        if (!attention.empty()) attention_ = attention[0];
        const std::vector<int> row = attention.empty() ? row_axes(order, shape) : std::vector<int>();
        if (attention.empty()) join_parts(row_in_parts(order), static_cast<int>(shape.size()));
        for (size_t i = 0; i < shape.size(); ++i) {
            const int64_t n = shape[i];
            const bool in_row = std::ranges::find(row, static_cast<int>(i)) != row.end();
            if (in_row && parts_) {
                at.push_back(place_in_row_[i]);
                continue;
            }
            UOp r = n == 1 ? index_const(0) : new_range(n, in_row ? Axis::reduce : Axis::loop);
            if (n != 1) ranges.push_back(r);
            if (n != 1 && in_row) reduce_ranges_.push_back({reduce_ranges_.size(), r});
            at.push_back(r);
        }
        next_range_ += parts_ ? 1 + static_cast<int>(shape.size()) : 0;
        if (parts_ && !row.empty()) ranges.push_back(reduce_ranges_[0].range);
        const UOp offset = simplify(flatten(at, shape));
        for (size_t i = 0; i < bodies.size(); ++i)
            stores.push_back(i > 0 && !attention.empty()
                                 ? store_of_row(bound_.params[i], bodies[i])
                                 : uop::store(uop::at(bound_.params[i], offset), value_at(bodies[i], at, UOp())));
        UOp sink = uop::sink(uop::end(uop::group(stores), ranges));
        if (column_) sink = share_columns(sink, simplify(column_), depth_);
        sink = merge_ranges(sink);
        verify_kernel(sink).value();
        return {Kernel{sink, kernel_name(sink)}, std::move(bound_.buffers)};
    }

  private:
    struct Bound {
        std::vector<UOp> buffers, params;
    };
    using Key = std::pair<UOp, std::vector<UOp>>;  // node; coordinates and, last, the predicate
    struct KeyHash {
        size_t operator()(const Key& k) const {
            size_t h = UOpHash{}(k.first);
            for (UOp u : k.second) h = h * 0x100000001b3ull ^ UOpHash {}(u);
            return h;
        }
    };

    UOp bind(UOp buffer) {
        auto found = std::find(bound_.buffers.begin(), bound_.buffers.end(), buffer);
        if (found != bound_.buffers.end()) return bound_.params[static_cast<size_t>(found - bound_.buffers.begin())];
        int slot = static_cast<int>(bound_.buffers.size());
        bound_.buffers.push_back(buffer);
        bound_.params.push_back(uop::buffer(slot, buffer.dtype(), buffer.as<BufferArg>().size));
        return bound_.params.back();
    }

    /// One range for the axes of a row that are no neighbours, and where it is along each.
    void join_parts(UOp reduction, int id) {
        parts_ = reduction;
        if (!reduction) return;
        const Shape& shape = reduction.src(0).shape();
        place_in_row_.assign(shape.size(), index_const(0));
        int64_t size = 1;
        for (int axis : reduction.as<ReduceArg>().axes) size *= shape[static_cast<size_t>(axis)];
        const UOp range = uop::range(size, id, Axis::reduce);
        reduce_ranges_.push_back({0, range});
        int64_t stride = size;
        for (size_t i = 0; i < shape.size(); ++i) {
            const std::vector<int>& axes = reduction.as<ReduceArg>().axes;
            if (shape[i] == 1 || std::ranges::find(axes, static_cast<int>(i)) == axes.end()) continue;
            const UOp rest = stride == size ? range : range % stride;
            stride /= shape[i];
            place_in_row_[i] = stride == 1 ? rest : rest / stride;
        }
    }

    UOp new_range(int64_t size, Axis axis) { return uop::range(size, next_range_++, axis); }

    /// The value of `u` at coordinates `at`; memory is touched only where `predicate` (none = always) holds.
    UOp value_at(UOp u, const Coordinates& at, UOp predicate) {
        Key key{u, at};
        key.second.push_back(predicate);
        if (auto found = memo_.find(key); found != memo_.end()) return found->second;
        UOp value = compute(u, at, predicate);
        memo_.emplace(std::move(key), value);
        return value;
    }

    UOp compute(UOp u, const Coordinates& at, UOp predicate) {
        if (info(u.op()).elementwise()) {
            std::vector<UOp> sources;
            for (UOp s : u.src()) sources.push_back(value_at(s, s.shape().empty() ? Coordinates{} : at, predicate));
            if (u.is(Op::bounded) && predicate)  // not an index where nothing is read
                sources[0] = alu(Op::where, {predicate, sources[0], constant(u.dtype(), 0)});
            return u.with_src(sources);
        }
        switch (u.op()) {
            case Op::constant: return u;
            case Op::buffer: return load(u, at.empty() ? index_const(0) : at[0], predicate);
            case Op::contiguous: return value_at(u.src(0), at, predicate);
            case Op::iota: return cast(at[0], u.dtype());
            case Op::pad: return padded(u, at, predicate);
            case Op::reduce: return reduction(u, at, predicate);
            case Op::scan: return scanned(u, at, predicate);
            case Op::take: return taken(u, at, predicate);
            case Op::pick: return value_at(u.src(0).src(static_cast<size_t>(u.as<IndexArg>().index)), at, predicate);
            default: break;
        }
        STRATA_CHECK(info(u.op()).is(kMovement), "a kernel body cannot hold {}", to_string(u));
        return value_at(u.src(0), source_coordinates(u, at), predicate);
    }

    UOp load(UOp buffer, UOp offset, UOp predicate) {
        return uop::load(uop::at(bind(buffer), simplify(offset), predicate));
    }

    UOp padded(UOp u, const Coordinates& at, UOp predicate) {
        UOp x = u.src(0), inside;
        Coordinates below;
        for (size_t i = 0; i < at.size(); ++i) {
            auto [before, after] = u.as<BoundsArg>().bounds[i];
            below.push_back(before ? at[i] - before : at[i]);
            if (before) inside = uop::both(inside, alu(Op::logical_not, {at[i] < before}));
            if (after) inside = uop::both(inside, at[i] < x.shape()[i] + before);
        }
        UOp zero = constant(u.dtype(), 0);
        if (x.numel() == 0) return zero;
        if (!inside) return value_at(x, below, predicate);
        inside = simplify(inside);
        if (inside.is_const()) return const_int(inside) ? value_at(x, below, predicate) : zero;
        UOp value = value_at(x, below, simplify(uop::both(predicate, inside)));
        bool predicated_load_gives_zero =
            value.is(Op::load) && value.src(0).src().size() == 3 && value.src(0).src(2) == inside;
        return predicated_load_gives_zero ? value : alu(Op::where, {inside, value, zero});
    }

    UOp reduction(UOp u, const Coordinates& at, UOp predicate) {
        const ReduceArg& arg = u.as<ReduceArg>();
        UOp x = u.src(0);
        Coordinates inner = at;
        std::vector<UOp> sources{UOp()};
        size_t nth = 0;
        if (parts_ && is_row_in_parts(u) && !is_used(reduce_ranges_[0].range, at, predicate)) {
            for (int axis : arg.axes) inner[static_cast<size_t>(axis)] = place_in_row_[static_cast<size_t>(axis)];
            return make(Op::reduce, u.dtype(), {value_at(x, inner, predicate), reduce_ranges_[0].range},
                        ReduceArg{arg.op, {}});
        }
        for (int axis : arg.axes) {
            int64_t n = x.shape()[static_cast<size_t>(axis)];
            if (n == 0) return identity(arg.op, u.dtype());
            UOp r = n == 1 ? index_const(0) : reduce_range(nth++, n, at, predicate);
            inner[static_cast<size_t>(axis)] = r;
            if (n != 1) sources.push_back(r);
        }
        if (u == attention_.product) depth_ = sources.back();
        if (u == attention_.sum) column_ = last_moving(at);
        sources[0] = value_at(x, inner, predicate);
        if (sources.size() == 1) return sources[0];
        const Factors factors = u == attention_.sum ? factors_of(sources[0], sources[1]) : Factors{sources[0], {}};
        sources[0] = factors.inside;
        return factors.around(make(Op::reduce, u.dtype(), sources, ReduceArg{arg.op, {}}));
    }

    /// A number of a row of attention, in the shape of its tops: where the row's first column is.
    UOp store_of_row(UOp param, UOp body) {
        const auto top = std::ranges::find_if(memo_, [&](const auto& x) { return x.first.first == attention_.top; });
        STRATA_CHECK(top != memo_.end() && column_, "a kernel without attention has no rows: {}", to_string(body));
        const Coordinates at(top->first.second.begin(), top->first.second.end() - 1);
        const UOp place = simplify(flatten(at, body.shape())), is_first = simplify(column_) < 1;
        return uop::store(uop::at(param, place, is_first), value_at(body, at, UOp()));
    }

    UOp scanned(UOp u, const Coordinates& at, UOp predicate) {
        const ReduceArg& arg = u.as<ReduceArg>();
        const UOp value = value_at(u.src(0), at, predicate), along = at[static_cast<size_t>(arg.axes[0])];
        if (u.shape()[static_cast<size_t>(arg.axes[0])] == 1) return value;
        STRATA_CHECK(along.is(Op::range) && !predicate, "a scan in parts: {}", to_string(u));
        return make(Op::scan, u.dtype(), {value, along}, ReduceArg{arg.op, {}});
    }

    bool is_row_in_parts(UOp reduction) const {
        return reduction.src(0).shape() == parts_.src(0).shape() &&
               reduction.as<ReduceArg>().axes == parts_.as<ReduceArg>().axes;
    }

    static bool is_used(UOp range, const Coordinates& at, UOp predicate) {
        const auto holds = [&](UOp u) { return u && depends_on(u, range); };
        return holds(predicate) || std::ranges::any_of(at, holds);
    }

    /// The coordinate of the last axis of more than one element.
    static UOp last_moving(const Coordinates& at) {
        for (size_t i = at.size(); i-- > 0;)
            if (!at[i].is_const()) return at[i];
        return UOp();
    }

    /// Reductions over equal sizes share their ranges, so that side by side they become one loop. A reduction
    /// inside of another one has a range of its own where it uses the other's.
    UOp reduce_range(size_t nth, int64_t size, const Coordinates& at, UOp predicate) {
        for (const auto& r : reduce_ranges_)
            if (r.nth == nth && range_arg(r.range).size == size && !is_used(r.range, at, predicate)) return r.range;
        reduce_ranges_.push_back({nth, new_range(size, Axis::reduce)});
        return reduce_ranges_.back().range;
    }

    UOp taken(UOp u, const Coordinates& at, UOp predicate) {
        size_t axis = static_cast<size_t>(u.as<TakeArg>().axis), width = u.src(1).shape().size();
        auto split = at.begin() + static_cast<std::ptrdiff_t>(axis), rest = split + static_cast<std::ptrdiff_t>(width);
        UOp which = cast(value_at(u.src(1), Coordinates(split, rest), predicate), dtypes::index);
        Coordinates below(at.begin(), split);
        below.push_back(which);
        below.insert(below.end(), rest, at.end());
        return looked_at(which, value_at(u.src(0), below, predicate));
    }

    static std::vector<UOp> checks(UOp u, bool (*stop)(UOp) = nullptr) {
        std::vector<UOp> all = toposort(u, stop);
        std::erase_if(all, [](UOp node) { return !node.is(Op::bounded); });
        return all;
    }

    /// The value. Where it is the same at each index it keeps the check of an index that may be wrong. The check stands
    /// under a condition that never holds, of a frozen number. Of what is divided rules may leave the index out.
    static UOp looked_at(UOp which, UOp value) {
        if (checks(which).empty()) return value;
        which = simplify(which), value = simplify(value);
        const std::vector<UOp> kept = checks(value, [](UOp u) { return u.is(Op::idiv) || u.is(Op::mod); });
        const auto is_kept = [&](UOp check) { return std::ranges::count(kept, check) != 0; };
        if (std::ranges::all_of(checks(which), is_kept)) return value;
        UOp at = alu(Op::freeze, {cast(which, dtypes::float32)});
        UOp never = alu(Op::cmplt, {at, constant(dtypes::float32, 0)});
        const bool zero = value.is_const() && value == constant(value.dtype(), 0);
        return alu(Op::where, {never, constant(value.dtype(), zero ? 1 : 0), value});
    }

    struct ReduceRange {
        size_t nth;
        UOp range;
    };
    Bound bound_;
    Attention attention_;
    UOp column_, depth_;  ///< of the attention: where its result is along its columns; the range of its products
    UOp parts_;  ///< a reduction of rows whose axes are no neighbours; its range is the first of reduce_ranges_
    Coordinates place_in_row_;  ///< by axis
    int next_range_ = 0;
    std::vector<ReduceRange> reduce_ranges_;
    std::unordered_map<Key, UOp, KeyHash> memo_;
};

}  // namespace

BoundKernel build_kernel(const ScheduleItem& item) {
    if (item.finish.empty()) return Builder().run(item);
    return finished(Builder().run(item.without_finish()), Builder().run(item.finish[0]));
}

std::string kernel_name(UOp sink) {
    std::vector<UOp> nodes = toposort(sink);
    bool reduces = std::ranges::any_of(nodes, [](UOp u) { return u.is(Op::reduce) || u.is(Op::scan); });
    std::string name = reduces ? "r" : "e";
    for (UOp r : ranges(without_finish(sink))) name += fmt::format("_{}", range_arg(r).size);
    return name.size() == 1 ? name + "_1" : name;
}

}  // namespace strata::codegen
