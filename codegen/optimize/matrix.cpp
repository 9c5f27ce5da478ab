// matrix: products of a reduction are computed by matrix instructions, a tile of results by each wave.
//
// Before  reduce(a(m, k) * b(k, n), k), m and n output ranges
// After   m = outer m * M + row(part, lanes), n = outer n * N + column(part, lanes), and
//         element(reduce(wmma(contract(a(outer m * M + place, k), elements), contract(b(k, outer n * N + place),
//                        elements), 0), outer k), part) with place and k = outer k * K + step of elements and lanes
// Rows, columns, places and steps are those of the layouts in codegen/target/matrix_shapes.def. The zero becomes the
// accumulator (lower_reduces). Where four lanes hold two neighbours each of a row of memory, they exchange elements, so
// that each has eight.
#include <algorithm>
#include <array>
#include <optional>

#include "strata/codegen/kernel/widen.h"
#include "strata/codegen/optimize/actions_p.h"
#include "strata/codegen/optimize/attention_p.h"
#include "strata/codegen/target/matrix_layouts.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

/// A place along a side of a matrix, as a sum: what a digit of an element's number, and of the lane's, weighs in it.
struct Weights {
    std::vector<int64_t> element;  ///< a weight a digit
    int64_t row, lane;             ///< of the lane's row, and its place in the row
};

/// How the elements of a matrix lie in lanes.
struct Digits {
    std::vector<int64_t> sizes;  ///< of the digits of an element's number, the last one fastest
    Weights lines, along;        ///< of A and B the side of the result, then k; of the accumulator m, then n
};

enum class OperandName : uint8_t { a, b };

/// The digits of a layout (lane, element) -> place along the first side + size of it * place along the second.
Digits digits_of(const layout::Layout& tv, int64_t size) {
    Digits out;
    const layout::Layout lanes = tv.mode(0), elements = tv.mode(1);
    const auto weight = [](const layout::Layout& leaf) { return leaf.stride().known(); };
    std::vector<int64_t> weights;
    for (size_t i = elements.rank(); i-- > 0;) {
        const layout::Layout leaf = elements.shape().is_tuple() ? elements.mode(i) : elements;
        out.sizes.push_back(leaf.shape().known());
        weights.push_back(weight(leaf));
    }
    const int64_t lane = weight(lanes.mode(0)), row = weight(lanes.mode(1));
    out.lines = {{}, row % size, lane % size}, out.along = {{}, row / size, lane / size};
    for (const int64_t w : weights) {
        out.lines.element.push_back(w % size);
        out.along.element.push_back(w / size);
    }
    return out;
}

Digits operand_digits(const MatrixShape& shape, OperandName which) {
    const MatrixLayouts layouts = matrix_layouts(shape);
    return which == OperandName::a ? digits_of(layouts.a, shape.m) : digits_of(layouts.b, shape.n);
}

Digits accumulator_digits(const MatrixShape& shape) { return digits_of(matrix_layouts(shape).c, shape.m); }

/// Lanes of a row of an accumulator of warpgroups, and columns of the tiles that they exchange.
constexpr int kLanesOfRow = 4, kExchanged = 8 * kLanesOfRow;

/// That of an accumulator of warpgroups whose lanes have exchanged tiles: eight columns beside each other are a lane's.
Digits exchanged_digits(const MatrixShape& shape) {
    return {{shape.n / kExchanged, kLanesOfRow, 2, 2}, {{0, 0, 8, 0}, 1, 0}, {{kExchanged, 2, 0, 1}, 0, 8}};
}

/// The products of a reduction: sums of left * right.
struct Product {
    UOp reduce, left, right;
    UOp m, n;                         ///< output ranges: of left alone, of right alone
    bool rows_follow_memory = false;  ///< results go on in memory along n
};

UOp below_casts(UOp value, DType type) {
    while (value.dtype() != type && is_widening(value)) value = value.src(0);
    return value.dtype() == type ? value : UOp();
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
        if (range_arg(k_).size % shape_.k) return {};
        UOp body = p.reduce.src(0), inside;
        while (is_widening(body) || is_masked(body)) {
            if (is_masked(body)) inside = uop::both(inside, body.src(0));
            body = body.src(body.is(Op::cast) ? 0 : 1);
        }
        if (!body.is(Op::mul) || !shape_.computes(body.dtype(), p.reduce.dtype())) return {};
        p.left = below_casts(body.src(0), shape_.operand), p.right = below_casts(body.src(1), shape_.operand);
        if (!p.left || !p.right) return {};
        if (inside) p.left = alu(Op::where, {inside, p.left, constant(shape_.operand, 0)});
        return with_outputs(p);
    }

  private:
    static bool is_masked(UOp u) { return u.is(Op::where) && u.src(2).is_const() && const_value(u.src(2)) == 0; }

    std::optional<Product> with_outputs(Product p) const {
        // Neighbouring lanes have neighbours along n: that is where memory goes on.
        p.m = output_of(p.left, p.right, shape_.m), p.n = output_of(p.right, p.left, shape_.m);
        if (p.m && p.n && follows_memory(p.m) && !follows_memory(p.n)) std::swap(p.left, p.right);
        p.m = output_of(p.left, p.right, shape_.m), p.n = output_of(p.right, p.left, shape_.n);
        if (!p.m || !p.n) return {};
        p.rows_follow_memory = follows_memory(p.n);
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
          lanes_of_row_(matrix_layouts(shape).c.mode(0).mode(0).shape().known()),
          rows_of_lanes_(target.wave_size / lanes_of_row_),
          next_id_(next_range_id(sink)) {}

    UOp run(const Product& p) {
        const UOp outer_m = outer(p.m, shape_.m), outer_n = outer(p.n, shape_.n), outer_k = outer(k_, shape_.k);
        row_of_lanes_ = new_range(rows_of_lanes_, Axis::lane);
        lane_ = new_range(lanes_of_row_, Axis::lane);
        const UOp left = fragment(OperandName::a, p.left, p.m, outer_m, outer_k),
                  right = fragment(OperandName::b, p.right, p.n, outer_n, outer_k);
        const std::vector<UOp> zeros(static_cast<size_t>(shape_.accumulator_elements()),
                                     constant(shape_.accumulator, 0));
        std::vector<UOp> sources{uop::wmma(std::string(shape_.mnemonic), left, right, uop::vec(zeros))};
        for (UOp r : p.reduce.src().subspan(1))
            if (UOp stays = r == k_ ? outer_k : r) sources.push_back(stays);
        const UOp sums = make(Op::reduce, sources[0].dtype(), sources, p.reduce.as<ReduceArg>());

        const bool exchanges = p.rows_follow_memory && shape_.by_warpgroups && shape_.n % kExchanged == 0;
        const Digits layout = exchanges ? exchanged_digits(shape_) : accumulator_digits(shape_);
        const std::vector<UOp> part = digits(layout, Axis::upcast);
        const UOp held = exchanges ? exchanged(sums, part) : uop::element(sums, number(part, layout.sizes));
        const UOp result = cast(held, p.reduce.dtype());
        UOp sink = substitute(sink_, {{p.reduce, result}});
        sink = split(sink, p.n, outer_n, shape_.n, terms(part, layout.along));
        return simplify(split(sink, p.m, outer_m, shape_.m, terms(part, layout.lines)));
    }

  private:
    UOp new_range(int64_t size, Axis axis) { return uop::range(size, next_id_++, axis); }

    static UOp outer(UOp range, int64_t multiple) {
        const RangeArg& r = range_arg(range);
        return r.size == multiple ? UOp() : uop::range(r.size / multiple, r.id, r.axis);
    }
    static UOp place(UOp outer, int64_t multiple, UOp inner) { return outer ? outer * multiple + inner : inner; }

    std::vector<UOp> digits(const Digits& layout, Axis axis) {
        std::vector<UOp> out;
        for (int64_t size : layout.sizes) out.push_back(new_range(size, axis));
        return out;
    }
    static UOp number(std::span<const UOp> digits, std::span<const int64_t> sizes) {
        UOp sum = digits[0];
        for (size_t i = 1; i < digits.size(); ++i) sum = sum * sizes[i] + digits[i];
        return sum;
    }

    /// The ranges that a place is a sum of, and how often each is in it.
    using Terms = std::vector<std::pair<UOp, int64_t>>;
    Terms terms(std::span<const UOp> element, const Weights& weights) const {
        Terms out{{row_of_lanes_, weights.row}, {lane_, weights.lane}};
        for (size_t i = 0; i < element.size(); ++i) out.emplace_back(element[i], weights.element[i]);
        std::erase_if(out, [](const auto& term) { return term.second == 0; });
        return out;
    }
    static UOp sum_of(const Terms& terms) {
        UOp sum;
        for (const auto& [range, weight] : terms) {
            const UOp term = weight == 1 ? range : range * weight;
            sum = sum ? sum + term : term;
        }
        return sum;
    }

    static UOp split(UOp sink, UOp range, UOp outer, int64_t multiple, const Terms& terms) {
        std::vector<UOp> parts;
        if (outer) parts.push_back(outer);
        for (const auto& [part, _] : terms) parts.push_back(part);
        return replace_range(sink, range, place(outer, multiple, sum_of(terms)), parts);
    }

    /// A lane's part of an operand.
    UOp fragment(OperandName which, UOp value, UOp side, UOp outer_side, UOp outer_k) {
        const Digits layout = operand_digits(shape_, which);
        const std::vector<UOp> element = digits(layout, Axis::vector);
        const int64_t lines = which == OperandName::a ? shape_.m : shape_.n;
        const UOpMap<UOp> places{{side, place(outer_side, lines, sum_of(terms(element, layout.lines)))},
                                 {k_, place(outer_k, shape_.k, sum_of(terms(element, layout.along)))}};
        return uop::contract(substitute(value, places), element);
    }

    /// The element of exchanged_digits: of four tiles of eight columns a lane gives each other lane of its row the tile
    /// that is that one's. A 4 x 4 transpose, by a bit of the lane's number at a time.
    UOp exchanged(UOp sums, std::span<const UOp> part) const {
        const Digits own = accumulator_digits(shape_);
        std::array<UOp, kLanesOfRow> held;
        for (int i = 0; i < kLanesOfRow; ++i)
            held[static_cast<size_t>(i)] =
                uop::element(sums, number(std::array{part[0] * kLanesOfRow + i, part[2], part[3]}, own.sizes));
        for (const int bit : {1, 2}) {
            const UOp is_high = index_const(0) < lane_ / bit % 2;
            for (int i = 0; i < kLanesOfRow; ++i) {
                if (i & bit) continue;
                UOp &low = held[static_cast<size_t>(i)], &high = held[static_cast<size_t>(i | bit)];
                const UOp other = uop::shuffle_xor(alu(Op::where, {is_high, low, high}), bit);
                low = alu(Op::where, {is_high, other, low}), high = alu(Op::where, {is_high, high, other});
            }
        }
        return uop::element(uop::vec(held), part[1]);
    }

    UOp sink_, k_;
    const MatrixShape& shape_;
    int64_t lanes_of_row_, rows_of_lanes_;
    UOp row_of_lanes_, lane_;
    int next_id_;
};

}  // namespace

namespace actions {

Result<Kernel> matrix(const Site& site) {
    const UOp sink = site.kernel.sink, k = site.range();
    if (std::optional<Kernel> attention = attention_by_matrices(site.kernel, k, site.amount, site.target))
        return *attention;
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
