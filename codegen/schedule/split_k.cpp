// split_k: a product with a long inner dimension and few tiles of results -> parts of it, each a product, and their
// sum.
//
// Before  reduce(a * b, axis of n steps), a and b repeated to the shape of all products
// After   reduce(contiguous(reduce(a * b reshaped to (m, ..., k, ...)), k)), m), m * k = n: m times as many tiles
// A tile computes its steps one after the other, so that a few tiles leave the card idle for as long as their steps
// take. Parts are written and read again, and a launch more adds them up. The figures are those of the modelled 7900
// XTX, of products of 16 to 1024 rows and columns and 1024 to 65536 steps. Split by hand in m parts of 2 to 256, they
// are within a third of the model's time.
#include <algorithm>
#include <cmath>

#include "strata/codegen/schedule/plan_p.h"

namespace strata::codegen {
namespace {

// Share of the time of fewer parts, whose threads have longer sums to share, without matrix instructions.
constexpr double kMoreParts = 0.76;
constexpr double kWorthIt = 0.9;
constexpr int64_t kSide = 16;                                    // rows and columns from which on a product is meant,
constexpr int64_t kTile = 32, kTileOfLong = 16;                  // and has tiles without matrix instructions
constexpr int64_t kSplitFrom = 1 << 10, kSplitAllFrom = 1 << 8;  // steps below which a launch is not worth it,
constexpr int64_t kSharedFrom = 1 << 15;                         // and where threads share each sum
constexpr int64_t kLeastSteps = 64, kMostParts = 512, kMostShared = 32;
constexpr int kWideBytes = 4;  // of an element that matrix instructions of narrow types do not take

UOp below_casts(UOp u) {
    while (u.is(Op::cast)) u = u.src(0);
    return u;
}

/// Axes that follow each other, as one.
bool are_neighbours(const std::vector<int>& axes) {
    return std::ranges::adjacent_find(axes, [](int a, int b) { return b != a + 1; }) == axes.end() && !axes.empty();
}

/// One side of a product.
struct Factor {
    int64_t times, elements;  ///< how often each element is read, of how many
    int bytes;                ///< of one in memory
    // As instructions multiply them:
    int multiplied;   ///< bytes of one: it is rounded before it is widened
    int64_t repeats;  ///< how often each is multiplied, those of windows that overlap apart
};
Factor factor_of(UOp factor) {
    UOp source = factor;
    int multiplied = factor.dtype().bytes();
    for (; source.is(Op::expand) || source.is(Op::reshape) || source.is(Op::permute) || source.is(Op::cast);
         source = source.src(0))
        multiplied = std::min(multiplied, source.src(0).dtype().bytes());
    int64_t elements = source.numel();
    const int64_t repeats = factor.numel() / std::max<int64_t>(elements, 1);
    // Windows of narrow elements are read from what they slide over.
    if (source.dtype().bytes() < kWideBytes)
        for (; info(source.op()).is(kMovement) || source.is(Op::cast); source = source.src(0))
            elements = std::min(elements, source.src(0).numel());
    elements = std::max<int64_t>(elements, 1);
    return {factor.numel() / elements, elements, source.dtype().bytes(), multiplied, repeats};
}

class Product {
  public:
    explicit Product(UOp sum)
        : a_(factor_of(below_casts(sum.src(0)).src(0))),
          b_(factor_of(below_casts(sum.src(0)).src(1))),
          steps_(sum.src(0).numel() / std::max<int64_t>(sum.numel(), 1)),
          results_(sum.numel()),
          bytes_(sum.dtype().bytes()) {}

    int64_t side() const { return std::min(a_.times, b_.times); }
    bool is_narrow() const { return std::max(a_.bytes, b_.bytes) < kWideBytes; }
    /// True if tiles go through all its steps; threads share each sum otherwise.
    bool has_tiles(const CostModel& costs) const {
        return is_narrow() || costs.has_matrices(kWideBytes) || side() >= (steps_ < kSharedFrom ? kTile : kTileOfLong);
    }

    /// Parts that take the least time; 1 where none pays.
    int64_t best_parts(const CostModel& costs, int64_t fewest_steps, double worth_it) const {
        if (steps_ < (has_tiles(costs) ? fewest_steps : kSharedFrom)) return 1;
        const int64_t most = std::min(has_tiles(costs) ? kMostParts : kMostShared, steps_ / kLeastSteps);
        int64_t best = 1;
        double least = worth_it * us(costs, 1);
        for (int64_t m = 2; m <= most; ++m)
            if (const double time = steps_ % m == 0 ? us(costs, m) : least; time < least) best = m, least = time;
        if (best == 1 || costs.has_matrices(std::max(a_.bytes, b_.bytes))) return best;
        for (int64_t m = 2; m < best; ++m)
            if (steps_ % m == 0 && kMoreParts * us(costs, m) <= least) return m;
        return best;
    }

  private:
    double us(const CostModel& costs, int64_t parts) const {
        const auto shape = [&](int64_t rows, int64_t columns, int bytes) {
            rows = std::max<int64_t>(rows, 1), columns = std::max<int64_t>(columns, 1);
            return ProductShape{.rows = rows,
                                .columns = columns,
                                .depth = steps_,
                                .batch = std::max<int64_t>(results_ / rows / columns, 1),
                                .bytes = bytes,
                                .by_matrix = true};
        };
        const double together =
            costs.by_warpgroups(shape(b_.repeats, a_.repeats, std::max(a_.multiplied, b_.multiplied)), parts);
        const double products = std::isfinite(together)
                                    ? together
                                    : costs.product(shape(b_.times, a_.times, std::max(a_.bytes, b_.bytes)), parts);
        return parts == 1 ? products : products + costs.stored(static_cast<double>(results_ * parts * bytes_));
    }

    Factor a_, b_;
    int64_t steps_, results_;
    int bytes_;
};

}  // namespace

bool is_tiled_product(UOp u) {
    if (!u.is(Op::reduce) || u.as<ReduceArg>().op != Op::add || !are_neighbours(u.as<ReduceArg>().axes)) return false;
    return below_casts(u.src(0)).is(Op::mul) && u.numel() > 0 && Product(u).side() >= kSide;
}

UOp split_k(UOp u, const Policy& policy) {
    if (policy.fusion == Fusion::more) return u;
    const bool all = policy.fusion == Fusion::less;
    const int64_t parts = Product(u).best_parts(policy.costs, all ? kSplitAllFrom : kSplitFrom, all ? 1 : kWorthIt);
    if (parts == 1) return u;
    const std::vector<int>& axes = u.as<ReduceArg>().axes;
    const size_t axis = static_cast<size_t>(axes[0]);
    const UOp x = u.src(0);
    Shape divided = x.shape();
    divided.erase(divided.begin() + axes[0] + 1, divided.begin() + axes.back() + 1);
    divided[axis] = x.numel() / std::max<int64_t>(u.numel(), 1) / parts;
    divided.insert(divided.begin() + static_cast<ptrdiff_t>(axis), parts);
    std::vector<int> order(divided.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::rotate(order.begin(), order.begin() + static_cast<ptrdiff_t>(axis),
                order.begin() + static_cast<ptrdiff_t>(axis) + 1);
    const UOp terms =
        make(Op::permute, x.dtype(), {make(Op::reshape, x.dtype(), {x}, ShapeArg{divided})}, AxesArg{order});
    const UOp partial = make(Op::reduce, u.dtype(), {terms}, ReduceArg{Op::add, {static_cast<int>(axis) + 1}});
    const UOp total =
        make(Op::reduce, u.dtype(), {make(Op::contiguous, u.dtype(), {partial})}, ReduceArg{Op::add, {0}});
    return make(Op::reshape, u.dtype(), {total}, ShapeArg{u.shape()});
}

}  // namespace strata::codegen
