// matrix: products of a reduction are computed by matrix instructions, a tile of results by each wave.
//
// Before  reduce(a(m, k) * b(k, n), k), m and n output ranges
// After   m = outer m * M + row(part, lanes), n = outer n * N + lane, and
//         element(reduce(wmma(contract(a(outer m * M + lane, k), elements), contract(b(k, outer n * N + lane), elements), 0),
//                        outer k), part) with k = outer k * K + step(elements, lanes)
// Rows and steps are those of the layouts in codegen/target/matrix_shapes.def. The zero becomes the accumulator (lower_reduces).
#include <algorithm>
#include <optional>

#include "strata/codegen/kernel/widen.h"
#include "strata/codegen/optimize/actions_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

/// A number made of digits, the last one fastest: what part of it each stands for.
struct Digits {
    std::vector<UOp> ranges;
    std::vector<int64_t> weights;

    UOp number() const {
        UOp sum;
        for (size_t i = 0; i < ranges.size(); ++i) {
            const UOp term = weights[i] == 1 ? ranges[i] : ranges[i] * weights[i];
            sum = sum ? sum + term : term;
        }
        return sum;
    }
};

/// How the elements of an operand and of the accumulator lie in a lane: the second digit is the lane's row of lanes.
struct Layout {
    int64_t outer, inner;  ///< digits of an element's number
    int64_t outer_weight, row_weight, inner_weight;
};

Layout operand_layout(const MatrixShape& shape) {
    const int64_t elements = shape.operand_elements();
    if (shape.family == isa::Family::rdna3 && shape.operand.bits() == 16) return {2, 8, 8, 0, 1};
    if (shape.family == isa::Family::rdna3) return {1, elements, 0, 0, 1};
    if (shape.family == isa::Family::rdna4 && shape.operand.bits() == 16) return {2, 4, 8, 4, 1};
    return {1, elements, 0, elements, 1};
}

Layout accumulator_layout(const MatrixShape& shape) {
    const int64_t elements = shape.accumulator_elements();
    if (shape.family == isa::Family::rdna3) return {1, elements, 0, 1, 2};
    if (shape.accumulator == dtypes::float64) return {1, elements, 0, 1, 4};
    if (shape.m == 32) return {4, 4, 8, 4, 1};
    return {1, elements, 0, elements, 1};
}

/// The products of a reduction: sums of left * right.
struct Product {
    UOp reduce, left, right;
    UOp m, n;  ///< output ranges: of left alone, of right alone
};

/// A cast that a matrix instruction may leave out.
bool is_widening(UOp u) { return u.is(Op::cast) && keeps_values(u.src(0).dtype(), u.dtype()); }

UOp below_casts(UOp value, DType type) {
    while (value.dtype() != type && is_widening(value)) value = value.src(0);
    return value.dtype() == type ? value : UOp();
}

/// Whether products of operands of this type are exact in `product`, or rounded there as matrix instructions round them.
bool holds_products(DType product, DType operand) {
    return product.bits() >= (operand.is_integer() ? 2 * operand.bits() : 32);
}

bool adds_up_in(DType accumulator, DType sum) {
    if (sum.is_integer()) return accumulator == dtypes::int32 && sum.bits() <= 32;
    return sum.bits() < 32 ? accumulator == dtypes::float32 : accumulator == sum;
}

class Matching {
  public:
    Matching(UOp sink, UOp k, const MatrixShape& shape) : sink_(sink), k_(k), shape_(shape) {
        for (UOp u : toposort(sink))
            if (u.is(Op::store)) stores_.push_back(u.src(0).src(1));
    }

    std::optional<Product> product() const {
        Product p;
        for (UOp u : toposort(sink_)) {
            if (!closes(u, k_)) continue;
            if (p.reduce || !u.is(Op::reduce)) return {};
            p.reduce = u;
        }
        if (!p.reduce || p.reduce.dtype().lanes > 1 || p.reduce.as<ReduceArg>().op != Op::add) return {};
        if (range_arg(k_).size % shape_.k || !adds_up_in(shape_.accumulator, p.reduce.dtype())) return {};
        UOp body = p.reduce.src(0), inside;
        while (is_widening(body) || is_masked(body)) {
            if (is_masked(body)) inside = uop::both(inside, body.src(0));
            body = body.src(body.is(Op::cast) ? 0 : 1);
        }
        if (!body.is(Op::mul) || !holds_products(body.dtype(), shape_.operand)) return {};
        p.left = below_casts(body.src(0), shape_.operand), p.right = below_casts(body.src(1), shape_.operand);
        if (!p.left || !p.right) return {};
        if (inside) p.left = alu(Op::where, {inside, p.left, constant(shape_.operand, 0)});
        return with_outputs(p);
    }

  private:
    static bool is_masked(UOp u) { return u.is(Op::where) && u.src(2).is_const() && const_value(u.src(2)) == 0; }

    std::optional<Product> with_outputs(Product p) const {
        p.m = output_of(p.left, p.right, shape_.m), p.n = output_of(p.right, p.left, shape_.n);
        if (!p.m || !p.n) return {};
        // Neighbouring lanes have neighbours along n: that is where memory goes on.
        if (follows_memory(p.m) && !follows_memory(p.n) && shape_.m == shape_.n)
            std::swap(p.left, p.right), std::swap(p.m, p.n);
        return p;
    }

    UOp output_of(UOp value, UOp other, int64_t multiple) const {
        UOp found;
        for (UOp r : ranges(sink_))
            if (range_arg(r).axis == Axis::global && range_arg(r).size % multiple == 0 && depends_on(value, r) &&
                !depends_on(other, r))
                found = r;
        return found;
    }

    bool follows_memory(UOp range) const {
        return std::ranges::any_of(stores_, [&](UOp offset) { return step_of(offset, range) == 1; });
    }

    UOp sink_, k_;
    const MatrixShape& shape_;
    std::vector<UOp> stores_;
};

class Rewriting {
  public:
    Rewriting(UOp sink, UOp k, const MatrixShape& shape, const Target& target)
        : sink_(sink),
          k_(k),
          shape_(shape),
          rows_of_lanes_(target.wave_size / shape.m),
          next_id_(next_range_id(sink)) {}

    UOp run(const Product& p) {
        const UOp outer_m = outer(p.m, shape_.m), outer_n = outer(p.n, shape_.n), outer_k = outer(k_, shape_.k);
        row_of_lanes_ = new_range(rows_of_lanes_, Axis::lane);
        lane_ = new_range(shape_.n, Axis::lane);
        const UOp left = fragment(p.left, {{p.m, place(outer_m, shape_.m, lane_)}}, outer_k);
        const UOp right = fragment(p.right, {{p.n, place(outer_n, shape_.n, lane_)}}, outer_k);
        const std::vector<UOp> zeros(static_cast<size_t>(shape_.accumulator_elements()),
                                     constant(shape_.accumulator, 0));
        std::vector<UOp> sources{uop::wmma(std::string(shape_.mnemonic), left, right, uop::vec(zeros))};
        for (UOp r : p.reduce.src().subspan(1))
            if (UOp stays = r == k_ ? outer_k : r) sources.push_back(stays);
        const UOp sums = make(Op::reduce, sources[0].dtype(), sources, p.reduce.as<ReduceArg>());

        const Layout layout = accumulator_layout(shape_);
        const Digits part = digits(layout, Axis::upcast);
        const UOp result = cast(uop::element(sums, part.number()), p.reduce.dtype());
        const UOp row = in_layout(part, layout).number();
        UOp sink = substitute(sink_, {{p.reduce, result}});
        sink = split(sink, p.n, place(outer_n, shape_.n, lane_), {outer_n, lane_});
        std::vector<UOp> parts = part.ranges;
        parts.insert(parts.begin(), {outer_m, row_of_lanes_});
        return simplify(split(sink, p.m, place(outer_m, shape_.m, row), parts));
    }

  private:
    UOp new_range(int64_t size, Axis axis) { return uop::range(size, next_id_++, axis); }

    static UOp outer(UOp range, int64_t multiple) {
        const RangeArg& r = range_arg(range);
        return r.size == multiple ? UOp() : uop::range(r.size / multiple, r.id, r.axis);
    }
    static UOp place(UOp outer, int64_t multiple, UOp inner) { return outer ? outer * multiple + inner : inner; }

    static UOp split(UOp sink, UOp range, UOp value, std::vector<UOp> parts) {
        std::erase_if(parts, [](UOp part) { return !part; });
        return replace_range(sink, range, value, parts);
    }

    Digits digits(const Layout& layout, Axis axis) {
        Digits out;
        if (layout.outer > 1) out.ranges.push_back(new_range(layout.outer, axis)), out.weights.push_back(layout.inner);
        out.ranges.push_back(new_range(layout.inner, axis)), out.weights.push_back(1);
        return out;
    }

    /// The place along the matrix of an element with these digits.
    Digits in_layout(const Digits& element, const Layout& layout) const {
        Digits out = element;
        out.weights.back() = layout.inner_weight;
        if (layout.outer > 1) out.weights.front() = layout.outer_weight;
        if (layout.row_weight) out.ranges.push_back(row_of_lanes_), out.weights.push_back(layout.row_weight);
        return out;
    }

    /// What a lane holds of an operand.
    UOp fragment(UOp value, UOpMap<UOp> places, UOp outer_k) {
        const Layout layout = operand_layout(shape_);
        const Digits element = digits(layout, Axis::vector);
        places[k_] = place(outer_k, shape_.k, in_layout(element, layout).number());
        return uop::contract(substitute(value, places), element.ranges);
    }

    UOp sink_, k_;
    const MatrixShape& shape_;
    int64_t rows_of_lanes_;
    UOp row_of_lanes_, lane_;
    int next_id_;
};

}  // namespace

namespace actions {

Result<Kernel> matrix(const Site& site) {
    const UOp sink = site.kernel.sink, k = site.range();
    int64_t left = site.amount;
    for (const MatrixShape& shape : site.target.matrix) {
        const std::optional<Product> product = Matching(sink, k, shape).product();
        if (!product || left-- > 0) continue;
        return Kernel{Rewriting(sink, k, shape, site.target).run(*product), site.kernel.name};
    }
    return make_error(ErrorKind::Usage, "{} matrix instructions of {} fit the products along a range of {}",
                      site.amount - left, site.target.arch.name(), range_arg(k).size);
}

}  // namespace actions
}  // namespace strata::codegen
